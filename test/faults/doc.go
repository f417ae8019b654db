// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults kills, stops or misleads a real server at an exact place: before a transaction of a kind, or after
// etcd's commit and before the answer.
//
// Guarantees:
//
//  1. Without the build tag faultpoints, as in releases, there is no fault code and apiserver.Faults is empty.
//  2. With the tag, KUBIZONE_FAULT=POINT:N:ACTION, or several separated by commas, runs ACTION once, at the Nth passing
//     of POINT. POINT is a transaction's kind with "-before" or "-after", or a point named by the ledger. ACTION is
//     kill (SIGKILL), stop (SIGSTOP; the test sends SIGCONT), or, after a transaction, lose (no answer). If
//     KUBIZONE_FAULT_WITH names a file, passings count only while it exists.
//  3. KUBIZONE_CLOCK names a file with a duration ("-1h"), read each time, that shifts the clock.
//  4. A transaction's keys determine its kind: a new kind of write needs no code in the ledger.
//
// Read armed.go; kind.go lists the kinds.
package faults
