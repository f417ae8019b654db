// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

// DropGuards leaves out the compares of zones ("zone") or of single keys
// ("facts"): the controls of the race tests.
func DropGuards(kind string) func(*Config) { return func(c *Config) { c.dropGuards = kind } }
