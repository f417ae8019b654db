// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of the same process without a connection. Transport is an
// http.RoundTripper for ordinary clients.
//
// Guarantees:
//
//  1. The handler gets a request as from a connection. The request's context ends with the sender's, but has none of
//     the sender's values.
//  2. The whole response is in memory, so watches and other streams do not work.
//  3. If the handler panics, only that request fails.
//
// The handler authenticates.
//
// Read inprocess.go.
package inprocess
