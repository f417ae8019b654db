// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers zones to an HTTP service, as a client of the webhook protocol (docs/webhook.md).
//
// Guarantees: (1) A post replaces a whole RRset, and only an empty RRset is deleted, by a change: the protocol has no
// list. (2) With a secret every request is signed, with its own nonce. (3) No answer can redirect a request, fill the
// memory, or appear in a message, and only the protocol's JSON counts. (4) An RRset that the server refuses, or the
// protocol cannot represent, is named, and the rest delivered.
//
// Out of scope: the storage of secrets, and the schedule of retries.
//
// Read provider.go, then call.go.
package webhook
