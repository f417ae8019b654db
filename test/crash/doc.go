// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crash breaks what real servers stand on, while clients write: processes are killed and stopped at exact
// places, etcd members die, disks fill, connections hang, clocks jump, stored bytes flip.
//
// It promises:
//
//  1. Every fault has its number (F1 to F31); numbers_test.go says which test answers for each, here or in another
//     package.
//  2. After each fault: fsck is clean and nothing is owed, nothing acknowledged is lost, no serial was given twice,
//     and all servers and a primary show the same zones.
//  3. Faults happen at a place, not at a moment, where the place matters: the servers are built with the tag
//     faultpoints.
//  4. The ordinary run has one round of each; `make soak` goes on for -soak with choices from -seed, which a failure
//     prints.
//  5. Processes are ended by their own ids, and everything listens on loopback.
//
// It does not know how the server does what it does: it builds cmd/kubizone and speaks the API, DNS and etcd's
// protocol.
//
// Read load_test.go for what clients do and know, check_test.go for what must hold after, then windows_test.go.
package crash
