// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is a backend of the webhook server that writes through a provider of external-dns: built in,
// served by external-dns --webhook-server, or a webhook provider.
//
// Guarantees: (1) success is confirmed by the provider's listing: providers skip unsupported records; (2) the
// provider gets a single request at a time, as from external-dns, and answers are bounded; (3) listed endpoints
// that are no RRset, such as those with a set identifier or an alias, are not touched; (4) a rejected record costs
// the others only time; (5) types and values that external-dns cannot express are refused with the reason.
//
// Out of scope: the zones of a provider, nor the cause of a failure: the provider tells neither.
//
// Read backend.go, then endpoint.go.
package externaldns
