// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package member runs an etcd for a benchmark in its own process, with the settings of Kubizone's embedded member.
//
// Guarantees: (1) The member waits for the disk at each commit.
package member
