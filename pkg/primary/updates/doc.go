// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates queues DNS UPDATE messages (RFC 2136). Package primary receives a message, verifies the signature,
// and puts the message into a Queue. The Queue parses the message (package update/wire) and calls a Handler, to send
// the changes to the API server. Clients' questions, such as SOA queries, pass through the Queue too.
//
// Guarantees:
//
//  1. The number and size of waiting messages, and the number of messages in progress, are limited, in total and for
//     each tenant (the key's namespace). A panic of the Handler fails only one message.
//  2. Messages of a TCP connection reach the Handler in order. So do updates of a tenant with a name in common, by UDP
//     too, each after the one before has ended.
//  3. A repeated message gets the first answer (package replay).
//
// Read key.go, then queue.go.
package updates
