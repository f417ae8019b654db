// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider makes the providers (clients of DNS servers) that need only a DNSClass and its Secrets: for dynamic
// updates (rfc2136) and webhooks.
//
// Guarantees:
//
//  1. A class that names a missing or broken Secret has no provider, so nothing is sent unsigned.
//  2. No error quotes a value of a Secret.
//
// Read providers.go first.
package provider
