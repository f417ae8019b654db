// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package history has the commands of kubectl kubizone about the past of a zone: log, blame, diff and show print
// changes, and revert undoes them.
//
// Guarantees:
//
//	H1. log --follow prints each change once and in order, across several watches.
//	H2. revert prints a plan, asks for consent, and then writes.
//
// Read revert.go first.
package history
