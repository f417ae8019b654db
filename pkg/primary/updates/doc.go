// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates has the TSIG keys that sign dynamic updates (RFC 2136), and the queue of the messages.
//
// It promises: (1) the messages and octets that wait are bounded, and so are the messages carried out at once, in
// total and for each tenant; messages of one TCP connection are carried out in their order, datagrams in any; (2) a
// message is carried out once, and copies of it get the answer of the first (package replay); (3) a message is parsed
// when it has its tenant's place, and a panic of the Handler fails that message alone.
//
// It does not know the transport of a message, its signature or the wire form of its answer, nor the changes of an
// update: the Handler makes them.
//
// Read key.go, then queue.go.
package updates
