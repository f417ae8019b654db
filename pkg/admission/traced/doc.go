// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traced wraps an admission chain and records a tracing span for each request. It is used if tracing is
// configured.
//
// Guarantees: (1) The decision of the chain is not changed. (2) The message of a refusal is not recorded, because it
// may name objects of other tenants.
//
// Out of scope: the plugins of the chain. The plugins that call webhooks record spans of their own.
//
// Read traced.go.
package traced
