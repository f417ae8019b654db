// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delivering has the common parts of the commands that deliver zones, kubizone controller and kubizone up.
// Sources.Constructors has the constructor of each kind of provider (client of a DNSClass's name servers).
//
// Guarantees: (1) Each kind of provider that a DNSClass can name has a constructor, as a test checks.
//
// Read providers.go first.
package delivering
