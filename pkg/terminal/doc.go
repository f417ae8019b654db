// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes text of tenants to terminals, logs and files.
//
// Guarantees: (1) no control or format character reaches a reader raw: ESC, BEL, C1 and bidirectional controls
// become escapes of JSON (RFC 8259 §7), which do not change a JSON document's meaning; (2) an argument of Fprintf
// ends neither line nor column.
//
// Out of scope: a text's origin: all is escaped. Formats with their own escapes, such as YAML and zone files,
// escape before.
//
// Read terminal.go.
package terminal
