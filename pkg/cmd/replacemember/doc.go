// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replacemember is the sub-command to admit a member without data to the embedded etcd.
//
// Guarantees: (1) Writes continue meanwhile. (2) After exit code 0 the new member has all data and a vote. (3)
// After an interruption the command can be repeated.
//
// Out of scope: the protocol of members, which is in pkg/etcd/embed.
//
// Read replacemember.go.
package replacemember
