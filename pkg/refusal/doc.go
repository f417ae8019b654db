// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal has the parts of a refused request: the item of a ChangeSet, the field, the rule and the reason. The
// server writes them as causes of a metav1.Status, and clients read them there. A Warning has item and rule in its
// text.
//
// Guarantees: (1) no reader has to parse a sentence; (2) kubectl prints the same text with and without the cause of a
// rule, because that repeats field and message of its cause; (3) a rule has a single writer and reader: Cite and Of for
// fields, Warning and CutWarning for Warnings.
//
// Out of scope: the rules, nor the objects.
//
// Read refusal.go.
package refusal
