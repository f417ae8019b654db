// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance cares for the etcd that a server stores in, in etcd's own sense of the word: its size, its
// fragments and its alarm.
//
// It promises:
//
//	M1. Free space in a member's file is given back to the disk, one member at a time and only if it is more than
//	    half of the file.
//	M2. A client whose write etcd refuses for want of space is told so, with the next step. Reads go on. History is
//	    compacted, members are defragmented and the alarm is disarmed without a command; if the live data do not fit,
//	    the log says so instead.
//	M3. A store that cannot carry out transactions of several compares and operations is refused at the start.
//	M4. Live data are not touched: it compacts history and never deletes a key.
//	M5. A write that etcd leaves without an answer is carried out at most once, and ends within five seconds: with
//	    its outcome where that can be found out, else as one whose outcome is not known (504), never as one that
//	    failed. A leader that hands over to another member fails no transaction.
//	M6. A store that was put back from a snapshot without raising what was handed out is refused at the start.
//
// It does not know what is stored. Compaction day by day is upstream's compactor in the API server, which keeps five
// minutes for watches to resume; this package compacts only where etcd takes no write any more.
//
// Read keeper.go first, then explain.go, outcome.go and probe.go.
package maintenance
