// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package importer brings zone files, transfers of other servers and manifests into Zones, from the command line.
//
// It promises:
//
//	M1. It does what the user of the kubeconfig may do, and nothing else: every record goes through the API.
//	M2. What is not taken is one line with its place, its reason and what would be right, and the exit code is 1. A
//	    source that fails keeps none of the others out, and the exit code is 2.
//	M3. The same import again writes nothing, so no serial changes.
//	M4. A dry run is the server's: the same report, and nothing is kept.
//	M5. Results go to standard output, everything on the way to standard error.
//	M6. A plan says line by line what the same import would add, change and remove, and only --prune removes.
//
// It does not know how lines become records, nor how a transfer is read: see pkg/load and pkg/transfer.
//
// Read importer.go.
package importer
