// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record is the REST storage of records.kubi.zone and the subresource status.
//
// Guarantees: (1) spec is stored as written, and the server sets status and generation (S7.4); (2) package validation
// refuses by the object alone; (3) a dry run has the commit's answer (S7.3); (4) columns and field selectors suit
// kubectl get and watches of a zone.
//
// Out of scope: the adopting zone, decided by the ledger.
//
// Read storage.go.
package record
