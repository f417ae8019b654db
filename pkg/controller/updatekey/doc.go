// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey gives a primary the keys of UpdateKeys, and writes the outcomes of updates to their status. It
// posts DNS UPDATE messages, queued by package primary/updates, to package registry/updatekey in the API server.
//
// Guarantees: (1) A key follows the Secret within seconds. While the Secret is missing, invalid or not granted, no key
// is served; while reads fail otherwise, the last key stays. (2) A key's name belongs to a class with the name, else to
// the UpdateKey with the name in its status. A key is served only once the status has the name, so all primaries serve
// the same UpdateKey (S13.3); of two at once, the older has the name. (3) A message gets SERVFAIL if the API server
// does not answer. (4) Outcomes are written at most once in ten seconds.
//
// Out of scope: the contents of messages.
//
// Read controller.go first; poster.go sends messages.
package updatekey
