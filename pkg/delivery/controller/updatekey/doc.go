// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey lets a primary accept DNS UPDATE messages. The primary gets the TSIG keys of UpdateKeys, the API
// objects that permit such messages. A Poster posts each message, queued by package primary/updates, to the API server,
// and the Controller writes the outcome into the UpdateKey's status.
//
// Guarantees:
//  1. A key follows its Secret within seconds. If the Secret is missing, invalid or not granted, the key is not served.
//     While reads fail for other reasons, the last key stays.
//  2. A key is served only once its name is in the UpdateKey's status, so all primaries serve the same UpdateKey
//     (S13.3).
//  3. If the API server does not answer, a message gets SERVFAIL.
//
// Package registry/updatekey applies the messages.
//
// Read controller.go first; poster.go sends messages.
package updatekey
