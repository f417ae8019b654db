// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract is what external-dns and its webhook providers send each other (version 1, as v0.22 speaks it).
//
// It promises: (1) what is read is bounded; (2) whatever it is, nothing panics.
//
// It does not know Records, nor who sends.
//
// Read contract.go.
package contract
