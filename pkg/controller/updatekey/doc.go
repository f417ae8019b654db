// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package updatekey gives a primary the keys of UpdateKeys, sends what they sign to the API server, and says in their
// status what came of it.
//
// It promises: (1) a key is that of the Secret, within seconds of a change; while the Secret cannot be read, what was
// read stays in use, and while it is not there or not granted, nothing does. (2) A name is that of the UpdateKey
// whose status has it, behind all keys of classes; it stands there before the key is served, so every primary gives it
// to the same one (S13.3). If two primaries have recorded one name for two UpdateKeys at the same moment, the older has
// it. (3) A message that has no answer of the API server is SERVFAIL. (4) The status of an UpdateKey is written when it
// changes, at most once in ten seconds for updates.
//
// It does not know what a message means: package update does, and the API server carries it out.
//
// Read controller.go first; poster.go sends messages.
package updatekey
