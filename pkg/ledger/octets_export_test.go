// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

// TooLarge: nothing was done, since the request had too many octets.
func TooLarge(err error) bool { return tooLarge(err) }
