// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash breaks the environment of real servers while clients write: processes are killed and stopped at exact
// places, etcd members die, disks fill, connections hang, clocks jump, stored bits flip.
//
// Guarantees:
//
//  1. Every fault has a number (F1 to F31), and numbers_test.go names its test.
//  2. After each fault, fsck is clean without pending work, no acknowledged write is lost, no serial was used twice,
//     and all servers and a primary show the same zones.
//  3. `make soak` runs for -soak with choices by -seed, which a failure prints. With -keep=DIR a failed test leaves the
//     etcd members and the clients' writes there; etcd-dump-logs of etcd prints the transactions of such a member.
//
// Read load_test.go for the clients, check_test.go for the invariants, then windows_test.go.
package crash
