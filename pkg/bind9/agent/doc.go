// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agent is an HTTP server beside one named: it adds, changes and removes zones of a running BIND. It speaks the
// part of the API of bindcar 0.9 that is about zones (docs/bind-agent.md).
//
// It promises:
//
//	A1. A request that is repeated changes nothing: an existing zone with the same configuration is 200, one with
//	    another is 409. No file of a zone that named has is written: each new zone has a file of a new name.
//	A2. An unknown zone is 404, and only an unknown zone. 503 with Retry-After says that named did not answer.
//	A3. /ready is 503 unless named answers on its control channel and by DNS, and the directory of zones can be
//	    written. After a start of named it is 503 until every zone is loaded that named has from the agent, or from a
//	    catalog by which all servers had it once; after two minutes 99 of 100 are enough.
//	A4. Names, types and values are read and written by their RFCs: every type goes into a zone, and no text of a
//	    client reaches a file, a command or a message as it is.
//	A5. Nothing but /health and /ready is answered without authentication.
//	A6. Bodies, requests under way, their rate and their time are bounded; the next request is 429 with Retry-After.
//	A7. A member of a catalog that named has lost the zone of it makes again within a minute, though the catalog does
//	    not change.
//
// The agent knows nothing of Kubernetes and nothing of Kubizone: its client decides which zones there are.
//
// Read routes.go, then zones.go.
package agent
