// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup takes a store out of etcd into a file and puts it back into a new data directory.
//
// It promises:
//
//	B1. A backup holds every write that was answered before it began, at one revision, and servers go on meanwhile.
//	B2. It is two files: what etcd's own tools call a snapshot, and a manifest that says what must be in it. A backup
//	    that was cut, or a file that is none, is refused before anything is written.
//	B3. A restored store is in its directory whole or not at all, and fsck found it clean.
//	B4. Clients that saw the old store start over: revisions are far ahead of what was handed out and nothing before
//	    them can be watched. Secondaries take what is restored: every serial is ahead of what was handed out (S6.8,
//	    S6.11).
//
// It does not know when backups are due and where they are kept. A zone made after the backup is not in it: a user who
// makes the zone again sets spec.minimumSerial.
//
// Read take.go first, then restore.go; which runs fsck on a store; serials.go raises what was handed out.
package backup
