// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of the commands that deliver zones, kubizone controller and kubizone up.
// Sources.Constructors maps each kind of provider (the client of a DNSClass's name servers) to a constructor: bind9 and
// transfer, which also read other API objects, are here, the rest in package cmd/provider.
//
// ReadRetries reads the delays between retries from environment variables, such as DNS_RECORD_RETRY_MAX_DELAY (the
// longest, for example 1m).
//
// Guarantees: (1) Each kind of provider that a DNSClass can name has a constructor, as a test checks.
//
// Out of scope: the content of zones.
//
// Read providers.go first.
package delivering
