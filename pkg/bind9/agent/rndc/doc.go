// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rndc speaks the protocol of BIND's control channel, by which rndc controls named.
//
// It promises:
//
//	R1. A command is sent once, after named has given a nonce for it: a recorded command cannot be sent again.
//	R2. An answer is believed only with named's signature, and with the serial and the nonce of the question.
//	R3. Messages are bounded in octets, in nesting and in time.
//	R4. An error says whether named refused the command (*Failure) or the outcome is unknown.
//
// A message is a 32-bit length, a 32-bit version, and a table of named values, which are octets or tables. The first
// value, _auth, is an HMAC over all octets behind it. No program is needed beside this one: an image for the agent has
// neither rndc nor a shell. There is no maintained Go library of the protocol.
//
// The package knows nothing of zones or of HTTP: a command is text, and its caller makes it of checked words.
//
// Read client.go, then message.go.
package rndc
