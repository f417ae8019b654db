// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess sends HTTP requests to a handler of the same process without a connection. Transport is an
// http.RoundTripper for ordinary clients.
//
// Guarantees:
//
//  1. A request arrives as if from a connection, so the handler has to authenticate the user. The request's context
//     ends with the sender's, but has no value of the sender's.
//  2. If the handler panics, only that request fails.
//
// Limit: the whole response is in memory, so watches and other streams do not work.
package inprocess
