// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass serves DNSClasses (REST storage of dnsclasses.kubi.zone), with the subresources status and
// finalizers. A DNSClass names the DNS servers that get zones, and refers to Secrets for their keys. Only kubizone up
// --allow-inline-secrets accepts a secret in the spec itself.
//
// Guarantees: (1) Without that flag, a secret newly put into a spec is refused. (2) No Secret is read, so no response
// reveals one.
//
// Out of scope: providers, deliveries, and the zones of a class (package class).
//
// Read storage.go first, then lister.go.
package dnsclass
