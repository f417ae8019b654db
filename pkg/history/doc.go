// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history reads a zone's past from the API, rebuilds former content, and reverts Records.
//
// Guarantees:
//
//  1. A past is whole since the asked moment, or an error names the oldest possible moment.
//  2. A plan is a function of the past, the present Records and the options. It changes only Records of the past, and
//     none renewed by another writer unless the user includes them.
//  3. A revert with a refusal in its plan writes nothing, otherwise only the plan's Records, with the user's rights, by
//     a change set for each namespace.
//  4. A repeated revert changes nothing.
//  5. Writes of values that another Record has make no step, so no revert undoes them.
//
// Out of scope: the store of the past, and printing.
//
// Read first: revert.go, deleted.go, judge.go, restore.go, plan.go, rebuild.go, read.go.
package history
