// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the REST storage of updatekeys.kubi.zone. It turns RFC 2136 messages signed by their keys,
// received by the DNS server (package primary), into change sets of Records.
//
// Guarantees: (1) the author of a spec needs the right to write and delete Records in the namespace (S13.2); (2) a
// message changes only names covered by both spec.records and the zone's rules for the namespace (S13.1); (3) a message
// is a single change set: after a conflict the Records are read again, and a repeated message is recognized by the
// Records of its first copy; (4) the writing user's name gives no right to requests from outside (User).
//
// Out of scope: wire format and signatures (package primary).
//
// Read update.go first, then plan.go.
package updatekey
