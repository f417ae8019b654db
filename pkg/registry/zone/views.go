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

// ErrNotHeld is for an unknown or too old serial. The client gets 410 and starts over.
var ErrNotHeld = errors.New("this serial is not held here")

// Snapshot is the immutable content of a zone at a serial.
type Snapshot interface {
	Header() content.Header
	Serial() serial.Serial
	// N is status.contentGeneration.
	N() uint64
	State() sethash.State
	Hash() string
	// EntriesFrom starts at the first owner at or after the name in canonical order; for the zero name with the SOA.
	EntriesFrom(name.Name) iter.Seq[dns.Entry]
	RRsets() iter.Seq[content.RRset]
}

// Views reads zones from memory, older serials from the journal in etcd.
type Views interface {
	// Snapshot returns the zone at status.serial or later, or the error of ctx.
	Snapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error)
	// SnapshotAt returns the zone (by uid) at exactly that serial, or ErrNotHeld.
	SnapshotAt(ctx context.Context, zone *v1alpha1.Zone, at serial.Serial) (Snapshot, error)
	// Oldest returns the oldest serial since which all changes are held, or ErrNotHeld.
	Oldest(ctx context.Context, zone *v1alpha1.Zone) (serial.Serial, error)
	// Steps returns the changes from since to until, oldest first, or ErrNotHeld. With entries, each also has removed
	// and added entries, SOA included.
	Steps(ctx context.Context, zone *v1alpha1.Zone, since, until serial.Serial, entries bool) ([]content.Step, []dns.Change, error)
	// EndedZone returns the last fqdn of an ended zone (S3.7), and a change that removes all RRsets that a provider may
	// have since a serial, without TTL and data; or ErrNotHeld.
	EndedZone(ctx context.Context, zone *v1alpha1.Zone, since serial.Serial) (name.Name, dns.Change, error)
}

// Sources finds the Records that define the entries at a name.
type Sources interface {
	// RecordsAt returns the Records of the zone (by uid) at a name. They must not be modified.
	RecordsAt(ctx context.Context, zone *v1alpha1.Zone, owner name.Name) ([]*v1alpha1.Record, error)
}
