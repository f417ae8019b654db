// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
)

// What follows opens the stored form to fsck, which recomputes it by ways of its
// own: it needs to know where keys stand and what objects say, not how they are
// kept true.

// Rooms are the kinds of internal keys, in key order; beside them there is only config.
var Rooms = []string{"condensed", "counts", "cuts", "debts", "deleted", "deletions", "holders", "journal", "logs", "members", "names", "orphans", "outbox", "owners", "reserved", "serials"}

// Room is the prefix of one kind of internal keys.
func (l Layout) Room(room string) string { return l.room(room) }

// Config is the key of the format version.
func (l Layout) Config() string { return l.config() }

// WaitingKeys are the keys under which something unadopted is found again, and
// WaitingValue what stands there. resource is "records" or "zones"; created is
// in unix seconds.
func (l Layout) WaitingKeys(w *law.Waiting, resource, namespace, object string) []string {
	return l.waiting(w, waitingLetter(resource), namespace, object)
}

// WaitingValue is the value under each of WaitingKeys; held as in law.Waiting.
func WaitingValue(uid string, created int64, held bool) string {
	return string(encode(waiter{UID: uid, Created: created, Held: held}))
}

// ReleasesRefused is the format from which on records that an earlier version took in and that are refused now have left
// their zones, or an outbox item lets them go.
const ReleasesRefused = releasesRefused

// Decode reads an object as it stands in etcd under key.
func (c ObjectCodec) Decode(ctx context.Context, key string, data []byte, revision int64, into runtime.Object) error {
	return c.decode(ctx, key, data, revision, into)
}

// LawRecord is the record an object asks for. Error: its spec does not parse.
func LawRecord(o *v1alpha1.Record) (*law.Record, error) { return lawRecord(o) }
