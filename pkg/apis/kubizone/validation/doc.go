// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation checks one object by itself, without regard to what else is stored.
//
// It promises: (1) every error names the field, the rule and the next step; all errors of an object are reported at
// once; (2) it never panics, whatever an object contains; (3) an update is never refused for values that it does not
// change, so that an object which newer rules refuse can still be labelled, finalized and repaired; (4) values that are
// legal but probably a mistake are warnings, never errors.
//
// It does not know other objects: which zone takes a record, which namespace may, and what else is at the name are
// decided by package law at commit.
//
// Read record.go first.
package validation
