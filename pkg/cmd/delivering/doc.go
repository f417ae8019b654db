// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering is what every sub-command that delivers zones has: the list of providers, where their Secrets
// are read from, and the flags of how often something is tried.
//
// It promises: (1) a provider is one package and one line here, in Providers, and a test names what a new one lacks;
// (2) a flag wins over the environment variable of the same meaning; (3) a Secret is read by its name, never listed.
//
// It does not know zones.
//
// Read providers.go first.
package delivering
