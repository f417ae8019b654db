// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding explains to users why the API server cannot decode their request (S5.13). For example, a quoted TTL
// gets the error `spec.ttl: got string "60"; want a whole number of at most 2147483647, without quotes`, and a misspelt
// field gets `spec.valuse: unknown field; did you mean values?`
//
// Guarantees:
//  1. A body is read a second time only after the decoder has refused it.
package decoding
