// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey gives a primary the keys of UpdateKeys, sends signed messages to the API server, and writes the
// outcomes to the status of the UpdateKeys.
//
// Guarantees: (1) A key follows the Secret within seconds; while the Secret cannot be read, the last key stays in use;
// while the Secret is missing or not granted, no key is. (2) A name belongs to the UpdateKey with the name in its
// status, after all keys of classes. A key is served only once the status has the name, so all primaries serve the same
// UpdateKey (S13.3). If two primaries give a name to two UpdateKeys at once, the older has it. (3) A message gets
// SERVFAIL if the API server does not answer. (4) A status is written when it changes, at most once in ten seconds for
// updates.
//
// Out of scope: the contents of messages.
//
// Read controller.go first; poster.go sends messages.
package updatekey
