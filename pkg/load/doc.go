// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load writes files to a server: manifests, and zone files as a Zone with a Record for each RRset. Load reads
// the sources given to a server at its start, Import a zone file for an existing Zone.
//
// Guarantees:
//
//	L1. It is an ordinary client: a file gets the refusals of the API.
//	L2. A refusal is a line with file, line number, content, reason and next step. The rest of the file is loaded.
//	L3. Loading the same sources again writes nothing. A zone file loaded without a refusal is recognised by its
//	    digest and not compared. An interrupted load is completed.
//	L4. Later changes by other field managers stay, and are reported.
//	L5. Objects of a zone file are named only by owner and type, so a second load of a changed file finds them. A
//	    Record of another client with the same data gets no second Record beside it.
//	L6. A source may be a pipe. A slow pipe is reported, and ctx ends the wait.
//	L7. Records are removed only with Prune, only if every field of the spec belongs to this field manager, and only
//	    if all files of the run were read completely.
//	L8. A dry run asks the server about everything. Writes that depend on another object of the run are marked with
//	    that object, and not guessed.
//	L9. A Warning that another write of the run resolves is not shown.
//
// Out of scope: storage, serials and delegation, which the server decides. Zone files are the only foreign format.
//
// Read first: run.go, import.go and manifest.go, the entry points; dryrun.go and dryrunrecords.go, the dry run of
// manifests; zonefile.go; prune.go, the removal of left-over Records; scope.go; records.go, the comparison of a zone
// file with existing Records; recordwrite.go, the writes of the difference by package rrsets; applier.go, source.go,
// report.go, load.go, prior.go, change.go; plan.go, the plan of a file without a server.
package load
