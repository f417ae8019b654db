// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass is the REST storage of dnsclasses.kubi.zone, with the subresources status and finalizers.
//
// Guarantees: (1) a write of spec does not change status, nor the reverse; (2) inline secrets are refused unless the
// server allows them; (3) Secrets named by a class are not read, so no response reveals them.
//
// Out of scope: providers, deliveries, and the zones that a class may deliver (the API's package class).
//
// Read storage.go first, then lister.go.
package dnsclass
