// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the server half of the webhook protocol, before a Backend that writes the records. Servers in Go
// can be built on it; servers in other languages can be compared with it.
//
// It promises: (1) a Backend is asked for nothing that was not signed with the shared secret, within five minutes, with
// a nonce that was not seen before; what cannot be remembered is refused, not let through; (2) nothing about a
// signature is learned from how long it takes to refuse it; (3) a Backend gets DNS data alone: names and values are
// parsed, and a zone's names lie in it; (4) asking twice for the same thing is answered twice with success;
// (5) a request without a seal in its headers costs no place, one whose body is held back none that others wait for
// long, and only a signed request takes one of those in which the Backend is asked (attack 79).
//
// It does not know DNS servers: the packages beside it do, each with a Backend.
//
// Read backend.go, then handler.go, verify.go and shared.go.
package server
