// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of this process without a connection.
//
// Guarantees: (1) the handler receives a request as from a connection, and nothing of the sender's context except
// the end; (2) the whole response is in memory: no watches or streams; (3) a handler's panic ends that request alone.
//
// Out of scope: users: the handler authenticates requests as other clients'.
//
// Read inprocess.go.
package inprocess
