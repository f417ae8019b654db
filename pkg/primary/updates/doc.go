// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates queues signed DNS UPDATE messages (RFC 2136), which package primary has received, and questions of
// update clients, for a Handler, package controller/updatekey. Package update/wire parses the messages.
//
// Guarantees: (1) Waiting messages, their octets and messages in progress are bounded, in total and for each tenant
// (the key's namespace). Messages of a TCP connection reach the Handler in order. (2) The Handler gets a message once
// (package replay). (3) A message is parsed only in a slot of its tenant, and a panic of the Handler fails only that
// message.
//
// Out of scope: the answer's transport and signature, and the changes: the Handler posts a message to the API server.
//
// Read key.go, then queue.go.
package updates
