// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the REST storage of updatekeys.kubi.zone. It turns RFC 2136 messages signed by their keys,
// received by the DNS server (package primary), into change sets of Records.
//
// Guarantees: (1) the author of a spec may write and delete Records in the namespace (S13.2); (2) a message changes
// only names covered by both spec.records and the zone's rules for the namespace (S13.1); (3) a message is a single
// change set: after a conflict the Records are read again, and a repeated message is recognized by the first copy's
// Records; (4) writes have a user whose name gives requests from outside no right (User).
//
// Out of scope: wire format and signatures (package primary).
//
// Read update.go first, then plan.go.
package updatekey
