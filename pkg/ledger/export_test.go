// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

// DropGuards leaves out the compares of zones ("zone"), of single keys ("facts")
// or both ("all"): the controls of the race tests.
func DropGuards(kind string) func(*Config) { return func(c *Config) { c.dropGuards = kind } }
