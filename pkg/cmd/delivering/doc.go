// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of sub-commands that deliver zones: the constructors of providers, and
// settings of retries.
//
// Guarantees: (1) Each block of a DNSClass has a constructor, as a test checks. (2) A flag overrides the environment
// variable of the same meaning.
//
// Out of scope: the content of zones.
//
// Read providers.go first.
package delivering
