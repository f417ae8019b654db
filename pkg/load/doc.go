// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load brings files into a server: manifests, and zone files as one Zone with one Record for each RRset. Load
// takes what a server is started with, Import what a user brings into a Zone that is there.
//
// It promises:
//
//	L1. It is a client like any other: what the API would refuse a user, it refuses a file.
//	L2. A refusal is one line that names the file, the line in it, what stands there, why it is refused and what would
//	    be right; everything else of the file is loaded.
//	L3. Loading again what is loaded writes nothing. A zone file that went in without a refusal is known by its digest
//	    and not even compared; an interrupted one is finished.
//	L4. What somebody else has changed since stays as they left it, and is said.
//	L5. Objects of a zone file are named from owner and type alone, so that a second load of a changed file finds
//	    what the first one made. A Record that somebody else made of the same data is found, too, and none is put
//	    beside it.
//	L6. Custom resources of kubizone v0 become objects of this API without what belonged to their controller, and what
//	    each zone lost or gained by that is said entry by entry.
//	L7. What is read may be a pipe: one that is slow to end is said, and ctx ends the wait.
//	L8. Nothing is removed but with Prune, and then only Records of which every field of the spec is this field
//	    manager's, by the operation that this kind of source writes with, and only where all sources of the run were
//	    read whole.
//
// It knows nothing of storage, serials or delegation: the server answers for those. It does not convert what other
// systems than kubizone have beside zone files.
//
// Read load.go first, then plan.go: what becomes of a zone file is decided there, without a server. import.go is what a
// Zone that is there changes in that, crd.go what custom resources do, prune.go what is left over.
package load
