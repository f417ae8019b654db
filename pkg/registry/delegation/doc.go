// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delegation is the REST storage of delegations.kubi.zone.
//
// It promises: (1) spec is stored as it was written, status and generation are the server's (S7.4); (2) every refusal
// of one object alone comes from package validation, before the commit is asked; (3) a dry run answers what the commit
// would (S7.3); (4) there is no subresource status: only the server writes the status.
//
// It does not know what a rule allows, nor how it is written: the store below it decides at commit, and the decision of
// a dry run is a function passed to it.
//
// Read storage.go.
package delegation
