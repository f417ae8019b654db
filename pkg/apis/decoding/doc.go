// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decoding explains which fields of a body a decoder refuses.
//
// It promises: (1) a fault names the field, its value and what the field takes, and an unknown field the known one that
// was meant (S5.13); (2) it reads a body only after the decoder has refused it, so good writes pay nothing; (3) it
// names ten faults at most.
//
// It does not know requests, nor what a value means.
//
// Read explain.go first.
package decoding
