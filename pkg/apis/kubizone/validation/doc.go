// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates an object by itself, without other stored objects.
//
// Guarantees: (1) every error names field, rule and next step; all errors of an object are reported at once; (2) it
// never panics, for any content; (3) an update is never refused for unchanged values, so objects refused by newer
// rules can still be labelled, finalized and repaired; (4) valid values with a probable mistake give warnings, never
// errors.
//
// Out of scope: other objects: package law decides at commit about the zone of a record, the rights of the
// namespace, and conflicts at the name.
//
// Read record.go first.
package validation
