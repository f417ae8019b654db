// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package validation validates an API object by itself.
//
// Guarantees: (1) every error names field, rule and next step, and all are reported at once; (2) no content causes a
// panic; (3) an update is never refused for unchanged values, so that objects older than a rule can be repaired; (4)
// valid values with a probable mistake give warnings, never errors.
//
// Out of scope: the zone, rights and conflicts of a Record, on which package law decides at commit.
//
// Read record.go first.
package validation
