// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is an HTTP server beside named that adds, changes and removes zones of a running BIND. It implements
// the zone API of bindcar 0.9 (docs/bind-agent.md).
//
// Guarantees:
//
//	A1. A repeated request changes nothing: an existing zone gives 200, with another configuration 409. Files of
//	    existing zones are never written: each new zone gets a file with a new name.
//	A2. Only an unknown zone is 404. If named does not answer, the response is 503 with Retry-After.
//	A3. /ready is 503 unless named answers on the control channel and by DNS, and the zone directory is writable.
//	    After each start of named, all zones of the agent have to be loaded, and all catalog members that all servers
//	    had once; after two minutes 99 of 100 are enough.
//	A4. Names, types and values are parsed and formatted by their RFCs: zones may have every type, and client input
//	    reaches no file, command or message unchecked.
//	A5. Only /health and /ready are answered without authentication.
//	A6. Requests are bounded in size, number, rate and time. Too many requests give 429 with Retry-After.
//	A7. A catalog member whose zone named has lost is recreated within a minute, even if the catalog does not change.
//
// Out of scope: Kubernetes, and the choice of zones: the client decides.
//
// Read routes.go, then zones.go.
package agent
