// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults lets a test end, stop or mislead a real server at an exact place: before a transaction of a
// certain kind is sent to etcd, or after etcd has carried it out and before the caller was told.
//
// It promises:
//
//  1. Without the build tag faultpoints nothing of it is in the binary, and apiserver.Faults is empty. Releases are
//     built without the tag.
//  2. With it, KUBIZONE_FAULT=POINT:N:ACTION (several: separated by commas) does ACTION at the Nth passing of POINT,
//     once. POINT is the kind of a transaction with "-before" or "-after", or a point that the ledger names itself.
//     ACTION is kill (SIGKILL), stop (SIGSTOP; the test sends SIGCONT), or, after a transaction, lose: its answer
//     never comes. If KUBIZONE_FAULT_WITH names a file, passings count only while the file exists.
//  3. KUBIZONE_CLOCK names a file with a duration ("-1h"), by which the server's clock is off from then on; it is
//     read anew each time.
//  4. A kind follows from the keys of the transaction alone, so a new kind of write has its points without a line of
//     code in the ledger.
//
// It does not know why a transaction is made.
//
// Read armed.go; kind.go says which kinds there are.
package faults
