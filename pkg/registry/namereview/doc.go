// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namereview is the create-only REST storage of namereviews.kubi.zone. A review asks whether a namespace may
// have a name, or for the rules of the namespace.
//
// Guarantees: (1) the user needs the right to create Records in the namespace (S14.1); (2) a name is decided by the
// code of a create's dry run (S14.1), with the same answer if no zone encloses the name as if the zone has no rule for
// the namespace (S14.2); (3) listed rules name no other namespace or object (S14.3); (4) listing takes at most a fifth
// of a processor, for any number of users and zones.
//
// Out of scope: the decision about a name, and its cost to a budget.
//
// Read storage.go, then rules.go.
package namereview
