// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the REST storage of updatekeys.kubi.zone. It turns DNS UPDATE messages (RFC 2136), posted by
// package controller/updatekey, into change sets (package registry/changeset), by package update.
//
// Guarantees: (1) the author of a spec needs the right to write and delete Records (S13.2); (2) a message changes only
// names in spec.records that the zone's rules give the namespace (S13.1); (3) a message is a single change set: after a
// conflict the Records are read again, and a repeated message is known by the Records of its first copy; (4) the user's
// name gives no right to requests from outside (User).
//
// Out of scope: wire format and signatures (package primary).
//
// Read update.go first, then plan.go.
package updatekey
