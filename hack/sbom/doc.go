// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of Go programs, as an SPDX 2.3 document in JSON.
//
// Guarantees: (1) The document has every module linked into a program, with version and package URL, and the
// standard library. (2) It has nothing else. (3) The same programs, name, version and SOURCE_DATE_EPOCH give the same
// octets.
//
// Read main.go.
package main
