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
//	M4. A plan is a dry run of the server: the same report, and nothing is stored.
//	M5. Results go to standard output, progress and refusals to standard error.
//	M6. A plan lists, line by line, what the same import would add, change and remove. Only --prune removes.
//
// It does not know how lines become records, nor how a transfer is read: see pkg/load and pkg/transfer.
//
// Read importer.go.
package importer
