// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook delivers zones to an HTTP service, as a client of the webhook protocol (docs/webhook.md).
//
// Guarantees: (1) The protocol has no list: a changed RRset is posted whole, and deleted only if empty. (2) With a
// secret every request is signed, with its own nonce. (3) No answer can redirect a request, fill the memory, or appear
// in a message; only JSON of the protocol counts. (4) RRsets that the server refuses or the protocol cannot represent
// are reported; all others are delivered.
//
// Out of scope: the storage of secrets, and the schedule of retries.
//
// Read provider.go, then call.go.
package webhook
