// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook-server is the reference server of the webhook protocol (docs/webhook.md). It writes by dynamic
// update, into zone files, or through a provider of external-dns.
//
// Guarantees:
//
//	W1. Options are validated together before the start; errors name the flag.
//	W2. No request is answered before the program has printed a line that begins with "ready".
//	W3. When the context ends, current requests are finished.
//	W4. Secrets are read for each request; empty secrets are ignored.
//
// Read main.go, options.go, then server/backend.go.
package main
