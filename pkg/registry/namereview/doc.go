// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package namereview is the REST storage of namereviews.kubi.zone, which clients can only create.
//
// It promises: (1) the user that asks may create Records in the namespace (S14.1); (2) a name is decided as the dry run
// of a creation is, by the same code (S14.1), and where no rule gives it to the namespace the answer is that of a name
// without a zone, octet by octet (S14.2); (3) rules that are listed are those for the namespace, and name no other
// namespace and no object (S14.3); (4) to list them takes a fifth of a processor, however many ask and zones there are.
//
// It does not know how a name is decided, nor what a question costs: the server provides both.
//
// Read storage.go, then rules.go.
package namereview
