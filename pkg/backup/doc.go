// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup copies a store from etcd to a file, and restores the file into a new data directory.
//
// Guarantees:
//
//	B1. A backup has every write answered before the backup began, at one revision. Servers keep running meanwhile.
//	B2. A backup is an etcd snapshot and a manifest. A truncated or foreign file is rejected before any write.
//	B3. A restored store is in the directory as a whole or not at all, and clean by fsck.
//	B4. Clients of the old store list again: revisions are ahead of all earlier revisions, and none before can be
//	    watched. Secondaries accept the restored zones: every serial is ahead of all earlier serials (S6.8, S6.11).
//
// Out of scope: the schedule and storage of backups. A zone made after the backup has to be recreated by its user, with
// spec.minimumSerial.
//
// Read take.go first, then restore.go, with fsck of a store; serials.go raises serials.
package backup
