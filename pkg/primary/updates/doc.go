// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updates queues signed DNS UPDATE messages (RFC 2136), which package primary has received, for a Handler,
// package controller/updatekey. Package update/wire parses them.
//
// Guarantees: (1) waiting messages, their octets and messages in progress are bounded, in total and by tenant (the
// key's namespace); messages of a TCP connection reach the Handler in order; (2) the Handler gets a message once
// (package replay); (3) a message is parsed only in a slot of its tenant, and a panic of the Handler fails only that
// message.
//
// Out of scope: the answer's transport and signature, and the changes.
//
// Read key.go, then queue.go.
package updates
