// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up is the command kubizone up, a whole Kubizone in a process: etcd in a data directory, the API server, and
// the hidden primary (the DNS server for secondaries). It can also load zones from files.
//
// Guarantees:
//
//	U1. All errors in the flags are reported at once, before any change.
//	U2. An obstacle, such as a taken port or a full disk, gives a single error that tells the user what to do.
//	U3. A line begins with "ready" when the API and DNS answer, every zone is checked against its hash, and all files
//	    are loaded. A file that cannot be loaded is reported, and the rest is served.
//	U4. Parts stop in the reverse order of their start: the API (once pending answers are sent), DNS, the ledger
//	    (storage of zones), etcd. If a part fails, all stop.
//
// Read up.go first, then options.go.
package up
