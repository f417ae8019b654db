// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance maintains a server's etcd: its size, fragmentation and alarms.
//
// Guarantees:
//
//	M1. Free space in a member's file is returned to the disk, one member at a time, if more than half of the
//	    file.
//	M2. A client gets an error with the next step if etcd rejects a write for lack of space. Reads go on. History
//	    is compacted, members are defragmented and the alarm is disarmed without a command, unless live data
//	    exceed the quota: the log says so.
//	M3. A store without transactions of several compares and operations is rejected at the start.
//	M4. Live data are not touched: history is compacted, and no key deleted.
//	M5. A write without an answer from etcd is carried out at most once, and ends within five seconds: with the
//	    outcome if known, otherwise as unknown (504), never as failed. A leader that hands over fails no
//	    transaction.
//	M6. A store restored without raising revisions and serials is rejected at the start.
//
// Out of scope: the content of the store. The API server's compactor keeps five minutes for watches to resume;
// this package compacts only under pressure.
//
// Read keeper.go first, then explain.go, outcome.go and probe.go.
package maintenance
