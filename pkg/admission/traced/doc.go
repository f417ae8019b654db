// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package traced records a tracing span for each request of an admission chain, if tracing is configured.
//
// Guarantees: (1) The decision of the chain is not changed. (2) The message of a refusal, which may name other tenants'
// objects, is not recorded.
//
// Out of scope: the plugins of the chain; webhooks record spans of their own.
//
// Read traced.go.
package traced
