// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up runs everything in a process: etcd in a data directory, API server, zones in memory, hidden primary, and
// the load of files.
//
// Guarantees:
//
//	U1. All errors in the flags are reported at once, before any change.
//	U2. An obstacle (a data directory in use, a taken port, a full disk) gives a single error with the next step.
//	U3. A line begins with "ready" when the API and DNS serve, every zone is proven, and loading is complete. A file
//	    that cannot be loaded is reported, and the rest is served.
//	U4. Parts stop in the reverse order of their start: the API after pending answers, DNS, the ledger (storage of
//	    zones), etcd. A failed part stops all.
//
// Out of scope: decisions about requests.
//
// Read up.go first, then options.go.
package up
