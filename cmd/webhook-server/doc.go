// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook-server is the reference server of the webhook protocol (docs/webhook.md). It writes into a DNS server
// that takes dynamic updates, into the zone files of one, or by a provider of external-dns.
//
// It promises:
//
//	W1. Options are judged together before anything starts, and each fault names its flag.
//	W2. A line that begins with "ready" says where it listens; before that nothing is answered.
//	W3. When its context ends it takes no new request, ends those under way, and returns.
//	W4. The secrets are read for each request: a new one takes effect without a restart. With an empty secret no
//	    request is answered.
//
// It knows of Kubizone the protocol and the words of DNS alone, as a program of another project would: the product
// imports nothing of it but in tests. The protocol is in server, the backends in externaldns, masterfile and rfc2136.
//
// Read main.go, options.go, then server/backend.go.
package main
