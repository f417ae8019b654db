// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates has the TSIG keys of dynamic updates (RFC 2136), and the queue of their messages.
//
// Guarantees: (1) waiting messages and octets are bounded, and messages in progress, in total and by tenant;
// messages of a TCP connection are applied in order, datagrams in any; (2) a message is applied once, and copies get
// the first answer (package replay); (3) a message is parsed in its tenant's slot, and a panic of the Handler fails
// only that message.
//
// Out of scope: transport, signature or wire form of the answer, nor the changes: the Handler makes them.
//
// Read key.go, then queue.go.
package updates
