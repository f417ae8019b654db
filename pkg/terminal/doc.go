// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal writes text of tenants to terminals, logs and files.
//
// It promises: (1) a control or format character reaches no reader raw: ESC, BEL, C1 and bidirectional controls come
// out as escapes of JSON (RFC 8259 §7), which leave a document of JSON as it was; (2) an argument of Fprintf ends
// neither its line nor its column.
//
// It does not know where text comes from: all of it is escaped. Formats with escapes of their own, such as YAML and
// zone files, escape before they write.
//
// Read terminal.go.
package terminal
