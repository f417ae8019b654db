// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replacemember is the command kubizone replace-member. Run beside a member of the embedded etcd, it admits a
// new member without data in place of a member that has lost its disk.
//
// Guarantees:
//
//  1. The other members take writes meanwhile.
//  2. After exit code 0 the new member has all data and a vote.
//  3. The command can be repeated.
package replacemember
