// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rndc sends commands to named over BIND's control channel, as the program rndc does.
//
// Guarantees:
//
//	R1. A command is sent once, with a nonce that named has issued for it: a recorded command cannot be replayed.
//	R2. An answer is accepted only with named's signature, and the command's serial and nonce.
//	R3. Messages are bounded in octets, nesting and time.
//	R4. A *Failure means that named refused the command; after other errors the outcome is unknown.
//
// A message is a 32-bit length, a 32-bit version, and a table of named values: octets or tables. The first value,
// _auth, is an HMAC over all octets after it.
//
// Out of scope: zones, HTTP, and the words of commands.
//
// Read client.go, then message.go.
package rndc
