// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rfc2136 is a backend of the webhook server that writes by dynamic update (RFC 2136).
//
// Guarantees: (1) an RRset is replaced in one update, so no query sees half of it; (2) success is confirmed:
// servers silently ignore records that cannot coexist with others, so each update is followed by a test; (3)
// requests are signed, over TCP, and answers need a valid signature; (4) the NS of a zone are replaced without a
// gap; (5) a record that the server rejects while it takes others is refused alone.
//
// Out of scope: the zones of the DNS server, which reports unknown zones.
//
// Read backend.go.
package rfc2136
