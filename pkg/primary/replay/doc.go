// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay keeps signed messages from being carried out twice.
//
// It promises: (1) equal messages have one answer; after an unknown outcome the next one is carried out; (2) a message
// that it accepts has not been carried out before: a Memory refuses messages that were signed before it was made, or no
// later than an answer that it has evicted; (3) the memory is bounded and shared out among tenants, and a tenant evicts
// its own answers alone.
//
// It does not know the contents of messages, nor signatures: the caller accepts no signature that is older than the
// Memory's validity.
//
// Read memory.go.
package replay
