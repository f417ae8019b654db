// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers zones to an HTTP service, as a client of the webhook protocol (docs/webhook.md).
//
// Guarantees: (1) A post replaces a whole RRset, and only an empty RRset is deleted. Deletions follow from changes,
// because the protocol has no list. (2) With a secret configured no request is unsigned, and every attempt has its own
// nonce. (3) No answer of the server can redirect a request, fill the memory, or appear in a message, and only the
// protocol's JSON counts as an answer. (4) An RRset that the server refuses, or the protocol cannot represent, is set
// aside and named; the rest of the zone is delivered.
//
// Out of scope: the storage of secrets, and the schedule of retries.
//
// Read provider.go, then call.go; protocol/sign.go and protocol/record.go are common to client and server.
package webhook
