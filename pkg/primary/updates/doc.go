// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates has the keys that send dynamic updates (RFC 2136), and the queue of their messages.
//
// It promises: (1) a bounded number of messages and octets waits, and a bounded number is carried out at once, in all
// and of each tenant, in the order in which a tenant sent them; (2) a message is carried out once, and copies of it get
// the answer of the first (package replay); (3) a message is parsed when it has its tenant's place, and a panic of the
// Handler fails that message alone.
//
// It does not know the transport of a message, its signature or the wire form of its answer, nor the changes of an
// update: the Handler makes them.
//
// Read key.go, then queue.go.
package updates
