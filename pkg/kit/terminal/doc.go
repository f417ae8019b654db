// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal makes text of tenants safe to print to terminals, logs and files. A tenant could put control
// characters into a name, to hide or fake lines before an operator. For example, ESC becomes \u001b.
//
// Guarantees:
//
//  1. No control or format character reaches the reader: ESC, BEL, C1 and bidirectional controls become escapes of JSON
//     (RFC 8259 §7). So a JSON document keeps its meaning.
//  2. No argument of this package's Fprintf prints a newline or tab.
package terminal
