// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replay keeps signed messages from being carried out twice.
//
// It promises: (1) equal messages have one answer; after an unknown outcome the next one is carried out; (2) a message
// that is not remembered is new, since all that may be forgotten is too old to be accepted: a Memory accepts nothing
// that was signed before it was made, nor before an answer that a tenant has no room for any more; (3) the memory is
// bounded and shared out among tenants, and a tenant evicts its own answers alone.
//
// It does not know what a message says, nor the signatures: the caller accepts none that is older than the Memory's
// validity.
//
// Read memory.go.
package replay
