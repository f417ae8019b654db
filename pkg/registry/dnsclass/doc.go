// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass is the REST storage of dnsclasses.kubi.zone, with the subresources status and finalizers.
//
// Guarantees: (1) inline secrets need the server's permission; (2) no Secret is read, so no response reveals its data.
//
// Out of scope: providers, deliveries, and the zones of a class (package class).
//
// Read storage.go first, then lister.go.
package dnsclass
