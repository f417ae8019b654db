// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates queues the messages of TSIG keys for dynamic updates (RFC 2136).
//
// Guarantees: (1) waiting messages, their octets and messages in progress are bounded, in total and by tenant; messages
// of a TCP connection are applied in order, datagrams in any order; (2) a message is applied once, and copies get the
// first answer (package replay); (3) a message is parsed only in a slot of its tenant, and a panic of the Handler fails
// only that message.
//
// Out of scope: the transport, signature and wire form of the answer, and the changes: the Handler sends the message to
// the API server, whose package registry/updatekey writes Records.
//
// Read key.go, then queue.go.
package updates
