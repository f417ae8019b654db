// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes text of tenants to terminals, logs and files.
//
// Guarantees: (1) no control or format character reaches a reader raw: ESC, BEL, C1 and bidirectional controls become
// escapes of JSON (RFC 8259 §7), so a JSON document keeps its meaning; (2) no argument of Fprintf ends a line or
// column.
//
// Out of scope: the origin of a text, and formats with own escapes, such as YAML and zone files.
//
// Read terminal.go.
package terminal
