// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol defines the messages between webhook clients and servers: signatures, paths, and RRsets as JSON.
//
// Guarantees: (1) Decode returns the RRset given to Encode, except for the boundaries of strings in a text. RRsets that
// the protocol cannot represent are an error. (2) Decode returns only valid DNS data. (3) testdata has test vectors for
// implementations in any language.
//
// Out of scope: HTTP clients, servers, clocks, and the storage of secrets.
//
// Read sign.go, then record.go.
package protocol
