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
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// ErrNotHeld is the error of Views for a serial that it does not have, or no longer. The client gets 410 and starts
// over.
var ErrNotHeld = errors.New("this serial is not held here")

// Snapshot is the content of a zone at one serial. It is immutable.
type Snapshot interface {
	Header() content.Header
	Serial() serial.Serial
	// N is the zone's status.contentGeneration at that serial.
	N() uint64
	State() sethash.State
	Hash() string
	// EntriesFrom starts with the SOA for the zero name, else at the first owner at or after the name in canonical
	// order.
	EntriesFrom(name.Name) iter.Seq[dns.Entry]
	// RRsets is the definition in canonical order.
	RRsets() iter.Seq[content.RRset]
}

// Views has the contents of zones, in memory; those of older serials it reads from the stored journal.
type Views interface {
	// Snapshot is the zone at status.serial of the object given, or later. It waits until the view is there or ctx
	// ends, and returns the error of ctx then.
	Snapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error)
	// At is the zone (by uid) at exactly that serial, or ErrNotHeld.
	At(ctx context.Context, zone *v1alpha1.Zone, at serial.Serial) (Snapshot, error)
	// Oldest is the first serial after which all changes are held, or ErrNotHeld.
	Oldest(ctx context.Context, zone *v1alpha1.Zone) (serial.Serial, error)
	// Steps returns the changes of the definition after since, up to and with until, oldest first; or ErrNotHeld. With
	// entries it returns each as the entries removed and added, too, the SOA included.
	Steps(ctx context.Context, zone *v1alpha1.Zone, since, until serial.Serial, entries bool) ([]content.Step, []dns.Change, error)
	// Left returns, for a zone that ended (S3.7), its last name and one change that removes what it had since a serial,
	// as entries without TTL and data; or ErrNotHeld.
	Left(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (name.Name, dns.Change, error)
}

// Sources finds the Records that define the entries at a name.
type Sources interface {
	// RecordsAt are the Records adopted by the zone (by uid) at the owner name. They are read, never modified.
	RecordsAt(ctx context.Context, zone *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error)
}
