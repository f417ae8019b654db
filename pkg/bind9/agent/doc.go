// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent adds, changes and removes zones of a running BIND. It runs beside named, BIND's server process, and
// implements the zone API of bindcar 0.9 (docs/bind-agent.md).
//
// Guarantees:
//
//	A1. A repeated request changes nothing: the answer for an existing zone is 200, or 409 if its configuration
//	 differs. Files of existing zones are never written.
//	A2. Only an unknown zone is answered 404. If named does not answer, the response is 503 with Retry-After.
//	A3. /ready is 503 unless named answers on the control channel and by DNS, and the zone directory is writable.
//	 After each start of named, it is also 503 until all zones of the agent are loaded, and all members of catalog
//	 zones loaded once by all servers. After two minutes 99 % of the zones are enough.
//	A4. Names, types and values are parsed by their RFCs: zones may have every type, and no client input stays
//	 unchecked.
//	A5. Only /health and /ready need no authentication.
//	A6. Requests are bounded in size, number, rate and time. Too many requests give 429 with Retry-After.
//	A7. If named loses a zone listed in a catalog, the zone is recreated within a minute.
//
// Read routes.go, then zones.go.
package agent
