// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command webhook-server is the reference server of the webhook protocol (docs/webhook.md). Its backends write by
// dynamic update, into zone files, or through a provider of external-dns.
//
// Guarantees:
//
//	W1. Options are validated together before the start, and each error names its flag.
//	W2. A line that begins with "ready" has the address. Before this line no request is answered.
//	W3. When the context ends, the server accepts no new request, finishes the current requests, and returns.
//	W4. Secrets are read for each request, so a new secret needs no restart. Empty secrets are ignored. With only
//	    empty secrets no request is answered.
//
// The command depends on the protocol and the DNS packages alone; the product imports them only in tests. The protocol
// is in server, with the backends in packages beside it.
//
// Read main.go, options.go, then server/backend.go.
package main
