// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migration moves a cluster from the custom resources of kubizone v0 to this API, by the letter of
// docs/migration-v0.md: what a user would paste is what runs.
//
// It promises:
//
//  1. Every block of shell in the document is run, in its order, against a real kube-apiserver with the CRDs of v0.
//  2. The document's YAML is the test's: what it shows as before is applied as custom resources, what it shows as after
//     is what the migration makes.
//  3. The same holds for docs/migration-bindy.md, with a BIND that answers what bindy made of them.
//  4. Going back brings the custom resources back as they were.
//
// It does not know how an import works, nor what a CRD's controller did but for the statuses it left.
//
// Read migration_test.go, then bindy_test.go, with the two pages beside them.
package migration
