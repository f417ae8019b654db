// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package replacemember lets a member of the embedded etcd in that has no data, from the command line.
//
// It promises: (1) Writes go on while it waits. (2) Exit code 0 says that the new member has everything and a vote.
// (3) Where it was cut off it can be run again.
//
// It does not know how members talk: that is pkg/etcd/embed's to say.
//
// Read replacemember.go.
package replacemember
