// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

// Limits of an RRset.
const (
	// MaxValues limits the number of values. BIND 9.18 rejects a zone with more (max-records-per-type).
	MaxValues = 100
	// MaxOctets limits the rdata of an RRset on the wire, because it must fit a DNS message.
	MaxOctets = 60_000
	// MaxTTL is in seconds (RFC 2181 §8).
	MaxTTL = 1<<31 - 1
)
