// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package importer has the sub-commands that import zone files, zone transfers and custom resources of other operators
// into Zones, and that plan such changes.
//
// Guarantees:
//
//	M1. Every record goes through the API, with the user's permissions.
//	M2. A refusal is printed with place, reason and remedy, and gives exit code 1. A failed source stops no other,
//	    and gives exit code 2.
//	M3. A repeated import writes nothing, so no serial changes.
//	M4. A plan is a server-side dry run: nothing is stored.
//	M5. Results go to standard output, progress and refusals to standard error. A plan's report includes all but the
//	    progress, and its exit code is 2 if an apply would change something.
//	M6. A plan lists the added, changed and removed entries, by zone and line. Only --prune removes.
//
// Read importer.go, then plan.go, and report.go. Package client/plan has the plan.
package importer
