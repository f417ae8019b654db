// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubizone-gardener is an extension controller of Gardener that writes a Record of Kubizone for each DNSRecord
// of type kubizone (docs/gardener.md).
package main
