// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fromjournal feeds a zoneview.Set from the store: every zone at one revision first, then the ledger's journal.
//
// It promises:
//
//  1. A step that does not fit has every zone read again; a zone whose steps never fit, or whose content is not what
//     its hash says, is frozen, and no other zone waits for it.
//  2. Frozen zones are read again after a minute, and less and less often up to once an hour.
//  3. Readers see no gap: a zone stays in the Set while it is read again.
//
// It does not know how a zone is proven and when the feed is in sync, which is the feed's, and nothing of the API.
//
// Read source.go.
package fromjournal
