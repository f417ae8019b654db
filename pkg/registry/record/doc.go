// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record is the REST storage of records.kubi.zone and the subresource status.
//
// Guarantees, beside those of package kind: (1) package validation refuses by the object alone; (2) columns and field
// selectors suit kubectl get and watches of a zone.
//
// Out of scope: the adopting zone, decided by the ledger.
//
// Read storage.go.
package record
