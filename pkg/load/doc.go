// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load writes files into a server: manifests, and zone files as one Zone with one Record for each RRset. Load
// reads the sources that a server is started with, Import a zone file that a user adds to an existing Zone.
//
// It promises:
//
//	L1. It is a client like any other: a file gets the refusals that a user would get from the API.
//	L2. A refusal is one line with the file, its line, the content, the reason and the next step. The rest of the file
//	    is loaded.
//	L3. To load the same sources again writes nothing. A zone file that was loaded without a refusal is known by its
//	    digest and not compared. An interrupted load is completed.
//	L4. Changes that other field managers made since stay, and are reported.
//	L5. Objects of a zone file are named by owner and type alone, so that a second load of a changed file finds
//	    those of the first. A Record of the same data that another client made is found, too, and gets no second one
//	    beside it.
//	L6. A source may be a pipe. A slow one is reported, and ctx ends the wait.
//	L7. Records are removed with Prune alone, and then only those of zone files of which every field of the spec
//	    belongs to this field manager, and only if all files of the run were read whole.
//	L8. A dry run asks the server about everything. What rests on another object of the same run is marked with that,
//	    and not guessed.
//	L9. A Warning that another write of the run resolves is not shown.
//
// It does not know storage, serials or delegation: the server decides about those. Of formats of other systems it reads
// zone files alone.
//
// Read first: run.go, import.go and manifest.go, the ways in; foresee.go and foreseerecords.go, the dry run of
// manifests; zonefile.go; prune.go, the removal of left-over Records; scope.go; records.go, which compares a zone file
// with the Records that there are; recordwrite.go, which writes the difference by package rrsets; applier.go,
// source.go, report.go, load.go, prior.go, change.go; plan.go, which decides without a server what becomes of a file.
package load
