// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package importer is the sub-commands that import zone files, zone transfers and custom resources of other
// operators into Zones, and plan such changes.
//
// Guarantees:
//
//	M1. The user's permissions apply: every record goes through the API.
//	M2. A refusal is one line with place, reason and next step, and exit code 1. A failed source does not stop the
//	    others, and gives exit code 2.
//	M3. A repeated import writes nothing, so no serial changes.
//	M4. A plan is a server-side dry run of an import or of manifests: nothing is stored.
//	M5. Results go to standard output, progress and refusals to standard error. The report of a plan includes all but
//	    the progress, and its exit code is 2 if something would change.
//	M6. A plan lists added, changed and removed entries by zone and line, of Records and of
//	    Zones. Only --prune removes.
//
// Out of scope: how to parse lines and plan writes (pkg/load), to compute the entries of a Zone
// (pkg/law/content) or to transfer a zone (pkg/transfer).
//
// Read importer.go, then plan.go, report.go and entries.go.
package importer
