// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of Go programs, as an SPDX 2.3 document in JSON.
//
// It promises: (1) Every module that the linker says is in one of the programs is in the document, with its version and
// package URL, and so is the standard library. (2) Nothing else is. (3) The same programs, name, version and
// SOURCE_DATE_EPOCH give the same octets.
//
// It knows the programs alone: what go.mod asks for and no program has is not in the document. It does not know the
// licences of modules.
//
// Read main.go.
package main
