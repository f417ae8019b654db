// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintenance compacts and defragments a server's etcd, handles its alarms, and finds the outcome of writes
// without an answer.
//
// Guarantees:
//
//	M1. Members are defragmented, one at a time, if the file exceeds half of the quota and is more than half free.
//	M2. If etcd rejects a write for lack of space, the client gets an error with the remedy, and reads go on. Then
//	    history is compacted, members are defragmented and the alarm is disarmed. If live data exceed the quota, the
//	    log says so.
//	M3. A store without transactions of several compares and operations is rejected at the start.
//	M4. No key is deleted: only history is compacted.
//	M5. A write without an answer from etcd is carried out at most once. Within five seconds the client gets the
//	    outcome or, if unknown, 504, never a wrong failure. A handover by the leader fails no transaction.
//	M6. A store restored with its old revisions and serials is rejected at the start.
//
// Read keeper.go first, then backup.go, explain.go, outcome.go and probe.go.
package maintenance
