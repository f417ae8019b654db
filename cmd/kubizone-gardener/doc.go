// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubizone-gardener is an extension controller of Gardener: it makes a Record of Kubizone of each DNSRecord
// (extensions.gardener.cloud/v1alpha1) of type kubizone. docs/gardener.md describes it.
package main
