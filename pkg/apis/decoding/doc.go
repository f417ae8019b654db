// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding explains which fields of a body a decoder refuses.
//
// It promises: (1) a fault names the field, its value and a right value, for an unknown field the most similar known
// field (S5.13); (2) it reads a body only after the decoder has refused it, so good writes pay nothing; (3) it
// names ten faults at most.
//
// It knows neither requests nor the meaning of values.
//
// Read explain.go first.
package decoding
