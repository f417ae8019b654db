// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dns holds the nouns that every room shares: an Entry is one resource
// record of a zone, a Change is what lies between two serials.
//
// It promises: (1) the packages below it say what an RFC defines and nothing
// else, so that a stranger could use them; (2) nothing in here does I/O, reads
// a clock or blocks; (3) values are immutable and comparable where Go allows.
//
// It does not know Kubernetes, storage, delegations or hashes, nor which
// records a zone has.
//
// Read entry.go, then name/name.go: almost everything else is a Name with data.
package dns
