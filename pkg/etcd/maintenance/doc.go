// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance maintains a server's etcd: size, fragmentation, alarms and lost answers.
//
// Guarantees:
//
//	M1. Members are defragmented, one at a time, if more than half of the file is free.
//	M2. A client gets an error with the next step if etcd rejects a write for lack of space. Reads go on. History is
//	    compacted, members are defragmented and the alarm is disarmed without a command, unless live data exceed the
//	    quota. Then the log says so.
//	M3. A store without transactions of several compares and operations is rejected at the start.
//	M4. Live data are not touched: history is compacted, and no key deleted.
//	M5. A write without an answer from etcd is carried out at most once. Within five seconds it returns the outcome if
//	    known, otherwise 504, never a failure. A handover by the leader fails no transaction.
//	M6. A store restored with its old revisions and serials is rejected at the start.
//
// Out of scope: the content of the store. The API server's compactor keeps five minutes of history for watches to
// resume; this package compacts only under pressure.
//
// Read keeper.go first, then explain.go, outcome.go and probe.go.
package maintenance
