// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

// Limits of an RRset (S5.8), checked by validation for a Record and by package law for all Records at a name.
const (
	// MaxValues: BIND 9.18 rejects the whole zone beyond 100 (max-records-per-type).
	MaxValues = 100
	// MaxOctets of rdata on the wire, so that the RRset fits a DNS message.
	MaxOctets = 60_000
)
