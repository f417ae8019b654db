// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol has the messages of the webhook protocol (docs/webhook.md), for clients and servers in Go: RRsets as
// JSON, request paths such as /records/A/example.org/www, and HMAC signatures.
//
// Guarantees:
//  1. Decode returns the RRset given to Encode, except for string boundaries in a TXT value. RRsets that the protocol
//     cannot represent are an error.
//  2. Decode returns only valid DNS data.
//  3. testdata has test vectors for any language.
//
// Read sign.go, then record.go.
package protocol
