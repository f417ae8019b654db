// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history reads the past of a zone from the API, rebuilds its content at a serial or time, and takes Records
// back to it.
//
// Guarantees:
//
//  1. A past is whole between now and the asked moment, or an error names the oldest possible moment.
//  2. A plan of a revert is a function of the past, the present Records and the options. Every changed Record is in the
//     past; Records renewed by another writer are left, unless the user includes them.
//  3. A revert with a refusal in its plan begins nothing. A revert writes by change sets of a namespace each, with the
//     user's rights, and only over the Records of the plan.
//  4. A repeated revert changes nothing.
//  5. A write of values present by another Record makes no step, so a revert does not undo that write.
//
// Out of scope: the store of the past, and printing.
//
// Read first: revert.go, deleted.go, judge.go, restore.go, foresee.go, plan.go, rebuild.go, author.go, lines.go,
// read.go, moment.go.
package history
