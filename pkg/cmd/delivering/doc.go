// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of sub-commands that deliver zones: providers, their Secrets, and
// settings of retries.
//
// Guarantees: (1) a provider is one package and one line in Providers, checked by a test; (2) a flag overrides the
// environment variable of the same meaning; (3) a Secret is read by name, never listed.
//
// Out of scope: zones.
//
// Read providers.go first.
package delivering
