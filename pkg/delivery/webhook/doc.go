// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers zones to an HTTP service that speaks the webhook protocol: the client half of it.
//
// It promises: (1) the unit is the RRset: what is posted replaces all of it, and it is deleted only when it is empty;
// what is deleted follows from what changed, because the protocol has no list; (2) with a secret configured nothing
// goes out unsigned, and every attempt has a nonce of its own; (3) nothing that the server answers can send us
// elsewhere, fill our memory, or be read in a message, and only the protocol's own JSON is an answer; (4) an RRset
// that the server refuses, or that the protocol has no form for, is set aside and named: the rest of the zone goes out.
//
// It does not know where secrets are kept, nor when something is tried again; it reports what went wrong.
//
// Read provider.go, then call.go; protocol/sign.go and protocol/record.go are what both ends share.
package webhook
