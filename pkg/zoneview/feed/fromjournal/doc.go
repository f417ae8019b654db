// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromjournal feeds a zoneview.Set from the store: every zone at an etcd revision, then the journal.
//
// Guarantees:
//
//  1. After a misfit every zone is read again. A zone whose steps never fit, or whose rows do not match the hash, is
//     frozen.
//  2. Frozen zones are read again after a minute, then ever less often, down to once an hour.
//  3. A zone stays in the Set while it is read again.
//
// Out of scope: proofs and sync (package feed), and the API.
//
// Read source.go.
package fromjournal
