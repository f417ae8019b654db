// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replacemember is the command kubizone replace-member. If a member of the embedded etcd has lost its disk, the
// command admits a new member without data in its place.
//
// Guarantees: (1) The cluster takes writes meanwhile. (2) After exit code 0 the new member has all data and a vote. (3)
// The command can be repeated.
//
// Out of scope: the protocol of members (pkg/etcd/embed).
//
// Read replacemember.go.
package replacemember
