// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namereview serves NameReviews: a user asks, before a write, whether a namespace may have a DNS name, or for
// the rules of the namespace. The answer is in the status, and no object is stored.
//
// Guarantees:
//
//  1. The user needs the right to create Records in the namespace (S14.1).
//  2. A name is decided by the code of a create's dry run (S14.1), with the same answer if no zone or no rule exists,
//     so no answer reveals a zone (S14.2).
//  3. Listed rules name no other namespace or object (S14.3).
//  4. Listing takes at most a fifth of a processor.
//
// Read storage.go, then rules.go.
package namereview
