// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves the webhook protocol for a Backend, which stores the records.
//
// Guarantees:
//
//  1. The Backend gets only requests signed with the shared secret, within five minutes, with an unseen nonce. If a
//     nonce cannot be remembered, the request is refused.
//  2. The time of a refusal reveals nothing about a signature.
//  3. Names and values are parsed, and names lie in their zone.
//  4. A repeated request succeeds again.
//  5. Only signed requests take slots of the Backend. A request without signature headers takes no slot.
//  6. A slow body delays others briefly.
//
// Read backend.go, then handler.go, verify.go and shared.go.
package server
