// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rndc is a client of BIND's control channel. It sends commands such as "reload" to a running named, like the
// program rndc, and returns named's answer.
//
// A message is a 32-bit length, a 32-bit version, and a table of named values. The first value, _auth, is an HMAC over
// the rest of the message.
//
// Guarantees:
//
//	R1. A command is sent once, with a nonce that named has issued for it, so a recorded command cannot be replayed.
//	R2. An answer is accepted only with named's signature, and the command's serial number and nonce.
//	R3. Messages are bounded in octets, nesting and time.
//	R4. The error type *Failure means that named refused the command. After another error the outcome is unknown.
//
// Read client.go, then message.go.
package rndc
