// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of this process without a connection.
//
// Guarantees: (1) the handler receives a request as from a connection; the request's context ends with the sender's,
// without the sender's values; (2) the whole response is in memory, so watches and streams do not work; (3) a handler's
// panic ends that request alone.
//
// Out of scope: users. The handler authenticates the requests like all others.
//
// Read inprocess.go.
package inprocess
