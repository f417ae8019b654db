// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"iter"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

// ErrNotHeld means a serial that is unknown or too old. The client gets 410 and starts over.
var ErrNotHeld = errors.New("this serial is not held here")

// Snapshot is the content of a zone at a serial, for the subresources zones/entries and zones/changes. It never
// changes.
type Snapshot interface {
	// Header has the zone's name, SOA parameters and name servers.
	Header() content.Header
	Serial() serial.Serial
	// N counts the changes of serial, like status.contentGeneration.
	N() uint64
	// State is the multiset hash of the RRsets. Hash is status.hash, over State and the Header.
	State() sethash.State
	Hash() string

	// EntriesFrom iterates over resource records in canonical order, from a name on. With the zero name it begins with
	// the SOA.
	EntriesFrom(name.Name) iter.Seq[dns.Entry]
	// RRsets has neither the SOA nor the RRsets made by the Zone's spec.nameServers.
	RRsets() iter.Seq[content.RRset]
}

// Views reads the content of zones: the newest from memory, earlier serials also from etcd's journal of changes.
// zone.UID identifies the zone.
type Views interface {
	// Snapshot waits until memory has the zone at zone.Status.Serial or later, or until ctx ends.
	Snapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error)
	// SnapshotAt returns the zone at exactly this serial, or ErrNotHeld.
	SnapshotAt(ctx context.Context, zone *v1alpha1.Zone, at serial.Serial) (Snapshot, error)
	// Oldest returns the earliest serial that Steps accepts as since, or ErrNotHeld.
	Oldest(ctx context.Context, zone *v1alpha1.Zone) (serial.Serial, error)
	// Steps returns the changes of serial after since, up to until, oldest first, or ErrNotHeld. If entries is true,
	// the second result has for each step the removed and added resource records, with the SOA. Otherwise it is nil.
	Steps(ctx context.Context, zone *v1alpha1.Zone, since, until serial.Serial, entries bool) ([]content.Step, []dns.Change, error)

	// EndedZone is for providers that still have the data of an ended zone, which lost its name because no rule
	// delegated it any more. It returns that name, and a change that removes each RRset that a provider may have
	// since a serial. The removed entries have neither TTL nor data. The error may be ErrNotHeld.
	EndedZone(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (name.Name, dns.Change, error)
}

// Sources finds the Records behind the entries of a zone, for readers who ask who made an entry.
type Sources interface {
	// RecordsAt returns the Records at an owner name of the zone. The caller must not modify them.
	RecordsAt(ctx context.Context, zone *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error)
}
