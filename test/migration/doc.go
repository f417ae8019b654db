// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration tests the move of a cluster from the custom resources of kubizone v0 to this API, by
// docs/migration-v0.md.
//
// Guarantees:
//
//  1. Every shell block of the document runs, in order, against a real kube-apiserver with v0's CRDs.
//  2. The document's "before" objects are custom resources; the migration produces the "after" objects.
//  3. Rolling back restores the custom resources.
//
// Read migration_test.go, with the page beside it. test/fleet follows docs/migration-bindy.md.
package migration
