// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protocol is what both ends of the webhook protocol agree on: how a request is signed, how a path is written,
// and how an RRset looks as JSON.
//
// It promises: (1) what Encode writes, Decode reads as the same RRset, but for the places at which a text was split
// into strings; what the protocol has no form for is an error, never a near miss; (2) Decode takes nothing that is no
// DNS data: what it returns can stand in a zone; (3) testdata has vectors of both, by which any other implementation
// in any language can be held.
//
// It does not know HTTP clients, servers, clocks or where a secret comes from.
//
// Read sign.go, then record.go.
package protocol
