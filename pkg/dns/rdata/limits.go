// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

// Limits of one RRset (S5.8), which validation judges for one Record and the law for all Records at a name.
const (
	// MaxValues is the most values of an RRset: BIND 9.18 refuses the whole zone beyond 100 (max-records-per-type).
	MaxValues = 100
	// MaxOctets is the most octets of rdata of an RRset on the wire, so that it fits a DNS message.
	MaxOctets = 60_000
)
