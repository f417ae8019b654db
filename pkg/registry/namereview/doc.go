// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namereview is the create-only REST storage of namereviews.kubi.zone. A review asks whether a namespace may
// have a name, or for its rules.
//
// Guarantees: (1) the user needs the right to create Records in the namespace (S14.1); (2) a name is decided by the
// code of a create's dry run (S14.1), with the same answer for no zone as for no rule (S14.2); (3) listed rules name no
// other namespace or object (S14.3); (4) listing takes at most a fifth of a processor.
//
// Out of scope: the decision about a name.
//
// Read storage.go, then rules.go.
package namereview
