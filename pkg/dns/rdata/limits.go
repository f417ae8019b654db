// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

// Limits of an RRset (S5.8).
const (
	// MaxValues bounds an RRset: beyond, BIND 9.18 rejects the zone (max-records-per-type).
	MaxValues = 100
	// MaxOctets bounds rdata on the wire, as an RRset must fit a DNS message.
	MaxOctets = 60_000
	// MaxTTL is in seconds (RFC 2181 §8).
	MaxTTL = 1<<31 - 1
)
