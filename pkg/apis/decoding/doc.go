// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding explains why a decoder refuses fields of a request body.
//
// Guarantees: (1) an error names the field, its value and a right value, or the known field most like an unknown field
// (S5.13); (2) a body is read only after a refusal; (3) at most ten fields are named.
//
// Out of scope: requests, and the meaning of values.
//
// Read explain.go first.
package decoding
