// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package up runs everything in one process: etcd in a data directory, the API server, the views, the hidden primary,
// and what --load names.
//
// It promises:
//
//	U1. All errors in the flags are reported at once, before anything is touched.
//	U2. An obstacle (a data directory in use or of a newer format, a taken port, a full disk) is one error that names
//	    it and the next step.
//	U3. One line beginning with "ready" says that the API serves, every view is proven, DNS is served, and loading
//	    is through. Nothing before it says so. A file that cannot be loaded is reported, and everything else is
//	    served.
//	U4. Parts stop in the reverse order of their start: the API first, answering what it has taken in, then DNS, then
//	    the ledger, then etcd; and one that fails stops all.
//
// It decides nothing of its own: it knows all parts and their order.
//
// Read up.go first, then options.go for the flags.
package up
