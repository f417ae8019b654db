// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

// Limits of an RRset (S5.8).
const (
	// MaxValues bounds an RRset: BIND 9.18 rejects the whole zone beyond (max-records-per-type).
	MaxValues = 100
	// MaxOctets bounds rdata on the wire: the RRset must fit a DNS message.
	MaxOctets = 60_000
	// MaxTTL is in seconds (RFC 2181 §8).
	MaxTTL = 1<<31 - 1
)
