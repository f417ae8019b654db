// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey is the REST storage of updatekeys.kubi.zone, and carries the messages out that are signed by their
// keys (RFC 2136).
//
// It promises: (1) the author of a spec has the rights to write and delete Records in the namespace (S13.2); (2) a
// message changes what the records of its UpdateKey allow and what the rules of the zone allow the namespace, never
// more (S13.1); (3) it is one change set, or nothing: after a conflict with another writer it reads the records
// again, and it recognizes a repeated message by the Records that the first copy wrote; (4) it writes as the user of
// the UpdateKey, whose name gives a request from outside no right (User).
//
// It does not know how a message looks on the wire, nor who signed it: package primary does.
//
// Read update.go first, then plan.go.
package updatekey
