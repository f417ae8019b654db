// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record serves Records (REST storage of records.kubi.zone), with the subresource status. A Record is an RRset
// of a zone, or some of its values.
//
// Guarantee, beside those of package kind: package validation reads no other object.
package record
