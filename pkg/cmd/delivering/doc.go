// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of the commands that deliver zones, kubizone controller and kubizone up:
// constructors of providers (clients of a DNSClass's name servers), and delays of retries, from environment variables
// such as DNS_RECORD_RETRY_MAX_DELAY.
//
// Guarantees: (1) Each kind of provider that a DNSClass can name has a constructor, as a test checks.
//
// Out of scope: the content of zones.
//
// Read providers.go first.
package delivering
