// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namereview is the create-only REST storage of namereviews.kubi.zone: questions whether a namespace may have a
// name, or for its rules.
//
// Guarantees: (1) the user needs the right to create Records in the namespace (S14.1); (2) a name is decided as the dry
// run of a create, by the same code (S14.1), and a name without a rule for the namespace has the answer of a name
// without a zone, octet by octet (S14.2); (3) listed rules are those for the namespace, and name no other namespace or
// object (S14.3); (4) listing takes a fifth of a processor, for any number of users and zones.
//
// Out of scope: the decision about a name, and the cost of a question. The server provides both.
//
// Read storage.go, then rules.go.
package namereview
