// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history lets users see and undo changes of a zone, by commands such as `kubectl kubizone revert`. From the
// API it reads a zone's past steps (changes between two serials), rebuilds former content, reverts Records, and
// restores deleted Zones. A revert makes a Plan, which Run writes.
//
// Guarantees:
//
//  1. The steps since the asked moment are complete, or an error names the oldest possible moment.
//  2. A plan depends only on the past, the present Records and the options. Records that a controller or other tool
//     writes again are left, unless the user includes them.
//  3. If the plan has a refusal in the zone's namespace, or in the namespace named by the user, Run writes nothing.
//     Otherwise Run writes with the user's rights, in change sets (all Records of a set or none). A Record refused in
//     another namespace is left, so no tenant stops the owner.
//  4. A repeated revert changes nothing.
//
// Read revert.go first.
package history
