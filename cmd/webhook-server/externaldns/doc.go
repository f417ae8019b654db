// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package externaldns is a backend of the webhook server that writes through a provider of external-dns: built in,
// served by external-dns --webhook-server, or a webhook provider.
//
// Guarantees:
//
//  1. Success is confirmed by the provider's listing, as providers skip unsupported records.
//  2. The provider's requests are sequential, and its answers bounded.
//  3. Listed endpoints that are no RRset stay.
//  4. A rejected record delays the other records, but does not stop them.
//  5. Types and values without a form in external-dns are refused with the reason.
//
// Read backend.go, then endpoint.go.
package externaldns
