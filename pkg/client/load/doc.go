// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load writes files to a server: manifests, and zone files as a Zone with a Record for each RRset. Load reads
// the files given to a server at its start (sources), Import a zone file for an existing Zone.
//
// Guarantees:
//
//	L1. Files are subject to all refusals of the API.
//	L2. A refusal is reported with file, line number, content, reason and advice. The rest of the file is loaded.
//	L3. Loading the same sources again writes nothing. A zone file loaded without a refusal is recognised by its
//	    digest. An interrupted load is completed.
//	L4. Fields changed later by other field managers stay, and are reported.
//	L5. A Record's object name depends only on owner and type, so a second load of a changed file finds the Record.
//	    If another client's Record has the same data, no second Record is made.
//	L6. A source may be a pipe.
//	L7. Records are removed only with Prune, only if every field of the spec belongs to this field manager, and only
//	    if all files of the run were read completely.
//	L8. A dry run asks the server about each write. A write that depends on another object of the run names it.
//	L9. A Warning that another write of the run resolves is not shown.
//	L10. Confined follows no link out of the given or the working directory, and reads 256 MiB at most.
//
// Read run.go first, then zonefile.go.
package load
