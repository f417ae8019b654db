// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey serves UpdateKeys (REST storage of updatekeys.kubi.zone). An UpdateKey lets the holder of a TSIG
// key change a tenant's names by DNS UPDATE messages (RFC 2136). Package controller/updatekey posts each message to the
// subresource update. This package turns the message into changed Records (package update), and writes them as a change
// set, all or none.
//
// Guarantees:
//
//  1. The author of a spec needs the right to write and delete Records (S13.2).
//  2. A message changes only names in spec.records, and only if the zone's rules give them to the namespace (S13.1).
//  3. A repeated message is recognized by the Records that the first copy wrote.
//  4. Writes have a user named after the key. The name gives no right to requests from outside (User).
//
// Read update.go first, then plan.go.
package updatekey
