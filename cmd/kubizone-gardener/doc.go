// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubizone-gardener is an extension controller of Gardener that writes a Record of Kubizone for each DNSRecord
// (extensions.gardener.cloud/v1alpha1) of type kubizone. See docs/gardener.md.
package main
