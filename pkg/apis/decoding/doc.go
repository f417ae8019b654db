// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding explains the fields of a body that a decoder refuses.
//
// Guarantees: (1) a fault names the field, its value and a right value, for an unknown field the most similar
// known field (S5.13); (2) a body is read only after a refusal, so good writes pay nothing; (3) at most ten faults
// are named.
//
// Out of scope: requests, and the meaning of values.
//
// Read explain.go first.
package decoding
