// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal writes the parts of a refusal (item of a ChangeSet, field, rule and reason) as causes of a
// metav1.Status in the server, and reads them in clients. A Warning has item and rule in the text.
//
// Guarantees: (1) no reader has to parse a sentence; (2) the cause of a rule repeats field and message, so kubectl
// prints the same text with and without rule; (3) a rule has a single writer and reader: Cite and Of for fields,
// Warning and CutWarning for Warnings.
//
// Out of scope: the rules and the objects.
//
// Read refusal.go.
package refusal
