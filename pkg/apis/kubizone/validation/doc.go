// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates an API object by itself, without other stored objects.
//
// Guarantees: (1) every error names field, rule and next step; all errors of an object are reported at once; (2) no
// content causes a panic; (3) an update is never refused for unchanged values, so objects that newer rules refuse can
// still be labelled, finalized and repaired; (4) valid values with a probable mistake give warnings, never errors.
//
// Out of scope: the zone of a Record, the rights of its namespace, and conflicts at its name, on which package law
// decides at commit.
//
// Read record.go first.
package validation
