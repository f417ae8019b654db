// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract defines the protocol between external-dns and its webhook providers (version 1, as of v0.22).
//
// Guarantees: (1) reads are bounded; (2) no input panics.
//
// Out of scope: Records, and the sender.
//
// Read contract.go.
package contract
