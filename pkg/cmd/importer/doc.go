// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package importer brings zone files, transfers of other servers and custom resources of other operators into Zones,
// from the command line.
//
// It promises:
//
//	M1. It has the permissions of the user of the kubeconfig: every record goes through the API.
//	M2. A refusal is one line with its place, its reason and the next step, and the exit code is 1. A source that
//	    fails does not stop the others, and the exit code is 2.
//	M3. The same import again writes nothing, so no serial changes.
//	M4. A plan is a dry run of the server, of an import or of manifests: nothing is stored.
//	M5. Results go to standard output, progress and refusals to standard error; the report of a plan has all but the
//	    progress, and its exit code is 2 where something would change.
//	M6. A plan lists, zone by zone and line by line, what would be added, changed and removed, by Records and by the
//	    Zones themselves. Only --prune removes.
//
// It does not know how lines become records, what a plan asks the server, how a Zone makes entries, nor how a transfer
// is read: see pkg/load, pkg/law/content and pkg/transfer.
//
// Read importer.go, then plan.go, report.go and entries.go.
package importer
