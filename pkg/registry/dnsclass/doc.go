// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass serves DNSClasses (REST storage of dnsclasses.kubi.zone), with the subresources status and
// finalizers. A DNSClass has name servers to receive zones.
//
// Guarantees: (1) Secrets inside a spec need the server's permission. (2) No Secret is read, so no response reveals
// one.
//
// Out of scope: providers, deliveries, and the zones of a class (package class).
//
// Read storage.go first, then lister.go.
package dnsclass
