// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal carries the parts of a refused request from server to client: the field, the rule of
// docs/semantics.md (such as S4.8), the reason, and the item of a ChangeSet. The server writes them as causes of the
// metav1.Status, and clients read them with Of. A Warning is only a line, so its text begins with the item and rule.
//
// Guarantees:
//
//  1. No client has to parse the sentence of an error.
//  2. kubectl prints the same text with and without a rule, because the cause with the rule repeats the field and
//     message of the other cause.
package refusal
