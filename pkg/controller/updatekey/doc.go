// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey gives a primary the keys of UpdateKeys, sends what they sign to the API server, and says in their
// status what came of it.
//
// It promises: (1) a key is that of the Secret, within seconds of a change; while the Secret cannot be read, what was
// read stays in use, and while it is not there or not granted, nothing does. (2) A name belongs to the UpdateKey whose
// status has it, after all keys of classes. A key is served after its status has the name, so all primaries serve the
// same UpdateKey (S13.3). If two primaries give one name to two UpdateKeys at the same moment, the older has it. (3) A
// message that has no answer of the API server is SERVFAIL. (4) The status of an UpdateKey is written when it changes,
// at most once in ten seconds for updates.
//
// It does not know what a message means: package update does, and the API server carries it out.
//
// Read controller.go first; poster.go sends messages.
package updatekey
