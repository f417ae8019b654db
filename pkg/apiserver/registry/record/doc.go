// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record serves Records (REST storage of records.kubi.zone), with the subresource status. A Record is an RRset
// of a zone, or some of its values.
//
// Guarantees, beside those of package kind: (1) Package validation reads no other object.
//
// Read storage.go.
package record
