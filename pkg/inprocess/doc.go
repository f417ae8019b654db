// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of this process without a connection.
//
// It promises: (1) the handler receives a request as from a connection, and nothing of the sender's context except
// the end; (2) the whole response is kept in memory, so watches and streams are unsupported; (3) a panic of the
// handler ends that request alone.
//
// It does not know users: the handler authenticates requests as those of other clients.
//
// Read inprocess.go.
package inprocess
