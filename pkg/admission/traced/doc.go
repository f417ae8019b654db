// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traced records the spans of admission, for servers with traces.
//
// Guarantees: (1) The chain decides as without this package. (2) A span has no text of a refusal.
//
// Out of scope: the plugins. Those that call webhooks have spans of upstream's.
//
// Read traced.go.
package traced
