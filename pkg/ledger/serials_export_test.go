// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

// KeepsFor and Keep are keepsFor and keep.
const KeepsFor = keepsFor

var Keep = keep
