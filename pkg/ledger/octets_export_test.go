// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

// JournalOctets is how many are left of a zone's journal, and written until it is trimmed again.
func JournalOctets(n int) func(*Config) { return func(c *Config) { c.journalOctets = n } }

// TooLarge: nothing was done, since the request had too many octets.
func TooLarge(err error) bool { return tooLarge(err) }
