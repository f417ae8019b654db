// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhookserver is `kubizone webhook-server`: the server half of the webhook protocol before a DNS server that
// takes updates, or before the zone files of one.
//
// It promises:
//
//	W1. Options are judged together before anything starts, and each fault names its flag.
//	W2. A line that begins with "ready" says where it listens; before that nothing is answered.
//	W3. When its context ends it takes no new request, ends those under way, and returns.
//	W4. The secret is read for each request: a new one takes effect without a restart, and none lets nobody in.
//
// It does not know the protocol, nor how records are written: it connects packages that do.
//
// Read webhookserver.go.
package webhookserver
