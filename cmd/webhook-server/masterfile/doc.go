// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package masterfile is a backend of the webhook server that writes zone files of a name server, and reloads them.
//
// Guarantees:
//
//  1. A file is replaced atomically.
//  2. The serial rises with each change only.
//  3. After success the RRset is in the file and the reload has succeeded; a failed reload is repeated.
//  4. A file with an unsupported line stays.
//  5. No shell gets a name or value.
//  6. An RRset that would keep the zone from loading is refused alone.
//
// Limits: a write loses the comments and the order of a file.
//
// Read backend.go, then content.go.
package masterfile
