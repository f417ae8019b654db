// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook-server is the reference server of the webhook protocol (docs/webhook.md). It writes by dynamic
// update, into zone files, or through a provider of external-dns.
//
// Guarantees:
//
//	W1. Options are validated together before the start, and each error names the flag.
//	W2. A line that begins with "ready" has the address. Before this line no request is answered.
//	W3. When the context ends, the server finishes the current requests, and returns.
//	W4. Secrets are read for each request. Empty secrets are ignored; with only empty secrets no request is answered.
//
// The command depends on the protocol and the DNS packages alone. Package server has the protocol, packages beside it
// the backends.
//
// Read main.go, options.go, then server/backend.go.
package main
