// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server is the server half of the webhook protocol, before a Backend.
//
// Guarantees: (1) the Backend gets only requests signed with the shared secret, within five minutes, with an
// unseen nonce; what cannot be remembered is refused; (2) the time of a refusal reveals nothing about a signature;
// (3) the Backend gets only DNS data: names and values are parsed, and names lie in their zone; (4) a repeated
// request succeeds again; (5) a request without signature headers takes no slot, a slow body delays others briefly,
// and only signed requests take slots of the Backend (attack 79).
//
// Out of scope: DNS servers: the packages beside it have the Backends.
//
// Read backend.go, then handler.go, verify.go and shared.go.
package server
