// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dnsclass serves DNSClasses (REST storage of dnsclasses.kubi.zone), with the subresources status and
// finalizers. A DNSClass names DNS servers for zones, and the Secrets with their keys. Only kubizone up
// --allow-inline-secrets accepts secrets in a spec.
//
// Guarantees:
//
//  1. Without that flag, a new secret in a spec is refused.
//  2. No Secret is read, so no response reveals one.
//
// Read storage.go first, then lister.go.
package dnsclass
