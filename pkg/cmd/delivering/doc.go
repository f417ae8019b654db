// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of the commands that deliver zones, kubizone controller and kubizone up.
// Sources.Constructors has the constructor of each kind of provider (client of a DNSClass's name servers).
//
// ReadRetries reads the delays between retries from the environment, such as DNS_RECORD_RETRY_MAX_DELAY=1m.
//
// Guarantees: (1) Each kind of provider that a DNSClass can name has a constructor, as a test checks.
//
// Package cmd/provider builds providers that need only a class and its Secrets.
//
// Read providers.go first.
package delivering
