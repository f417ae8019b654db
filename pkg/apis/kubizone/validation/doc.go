// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation judges one Zone or Record by itself: what is wrong with it whatever else is in the store.
//
// It promises: (1) every error names the field, the rule broken and what would be right; all errors of an object are
// reported at once; (2) it never panics, whatever an object contains; (3) an update is never refused for what already
// stood in the object and the update leaves as it is, so that what a newer version of the rules refuses can still be
// labelled, finalized and repaired; (4) what is legal but most likely not meant is a warning, never an error.
//
// It does not know other objects: which zone takes a record, who may, and what else stands at the name is decided by
// package law at commit.
//
// Read record.go first.
package validation
