// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol defines the webhook's signatures, paths, and RRsets as JSON.
//
// Guarantees: (1) Decode returns the RRset given to Encode, except for string boundaries in a text. RRsets that the
// protocol cannot represent are an error. (2) Decode returns only valid DNS data. (3) testdata has test vectors for any
// language.
//
// Out of scope: HTTP, clocks, and the storage of secrets.
//
// Read sign.go, then record.go.
package protocol
