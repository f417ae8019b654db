// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider makes the providers that need only a class and its Secrets, for the sub-commands that deliver zones
// and for kubectl kubizone verify.
//
// Guarantees: (1) A class with a missing or broken Secret has no provider, so nothing is sent unsigned. (2) No error
// quotes a value of a Secret.
//
// Out of scope: providers whose servers transfer zones from the primary (package delivering).
//
// Read providers.go first.
package provider
