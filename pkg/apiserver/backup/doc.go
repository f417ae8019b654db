// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup copies Kubizone's data from etcd to a file, and restores the file into a new data directory of etcd.
//
// Guarantees:
//
//	B1. A backup has every write that was answered before the backup began, all at one etcd revision. Servers keep
//	    running meanwhile.
//	B2. A backup is an etcd snapshot, with a manifest beside it. A truncated or foreign file is rejected before
//	    anything is written.
//	B3. Either the directory gets the whole restored store, or no data. The restored store has passed the consistency
//	    check (fsck).
//	B4. Revisions are ahead of all earlier revisions, and no earlier revision can be watched. So clients of the old
//	    store list again. Each zone's serial is ahead of all its earlier serials (S6.8, S6.11), so secondaries accept
//	    the restored zone.
//	B5. The next backup of the same name replaces a stopped backup. No other file is overwritten.
//
// A zone made after the backup is lost: its user has to create it again, with spec.minimumSerial.
//
// Read take.go first, then restore.go, clock.go and serials.go.
package backup
