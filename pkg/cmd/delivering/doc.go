// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of sub-commands that deliver zones: providers, their Secrets, and settings of
// retries.
//
// Guarantees: (1) A provider is a package and a line in Providers, as a test checks. (2) A flag overrides the
// environment variable of the same meaning. (3) A Secret is read by name, never listed.
//
// Out of scope: the content of zones.
//
// Read providers.go first.
package delivering
