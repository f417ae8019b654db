// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger/encryption"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
)

// Base is the content of a zone at a revision. A copy of the zone in memory begins with a Base, and then applies
// journal steps.
type Base struct {
	Identity content.Identity
	Zone     *law.Zone
	// Settled reports whether name servers may get RRsets. If not, they keep earlier content, for example after a mass
	// deletion.
	Settled bool
	// UndeliveredSteps lead from the delivered content to RRsets. The slice is nil if Settled is true, nothing was
	// delivered yet, or the journal lacks a step.
	UndeliveredSteps []content.Step
	// Hash is status.hash. If the hash of the content differs, the stored data is damaged.
	Hash string
	// RRsets holds the content in canonical order, including NS, glue and DS of child zones. An RRset of several
	// Records has an element for each.
	RRsets []content.RRset
}

// Sink keeps a copy of all zones in memory. Follow passes every zone first, then each change, and never calls methods
// concurrently.
type Sink interface {
	// Reset begins a reload: Follow then calls Base or Unreadable for each zone, and then Ready. A failed reload starts
	// over with Reset.
	Reset()
	// Base replaces the content of a zone.
	Base(Base)
	// Unreadable reports a Zone object that cannot be decoded.
	Unreadable(namespace, name string, err error)
	// Ready ends a reload. The sink drops zones not received since Reset.
	Ready()

	// Apply applies a transaction's changes to the zone with the given UID. Transactions arrive in commit order.
	Apply(uid string, tx content.Transaction)
}

// Follow passes every zone to sink, then each change in commit order, until ctx ends. After a compaction, Follow starts
// over. The error is always nil.
func (l *Ledger) Follow(ctx context.Context, sink Sink) error {
	for ctx.Err() == nil {
		// Read all zones at the same revision.
		rev, err := l.readBase(ctx, sink)
		if err != nil {
			if ctx.Err() != nil { // no error
				return nil
			}
			klog.FromContext(ctx).Error(err, "reading the zones failed; trying again")
			if !etcd.Pause(ctx, time.Second) {
				return nil
			}
			continue
		}
		// Follow the journal from this revision on, until a compaction or damage.
		sink.Ready()
		if err := l.followJournal(ctx, sink, rev); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("the journal's watch was cut off; views start over", "why", err.Error())
		}
	}
	return nil
}

// followJournal applies the transactions after revision rev to sink. The error of a compaction or an unreadable key
// makes Follow read all zones again.
func (l *Ledger) followJournal(ctx context.Context, sink Sink, rev int64) error {
	return etcd.Watch(ctx, l.mem.Client, l.mem.Layout.Room("journal"), rev, func(events []*clientv3.Event) error {
		for _, e := range events {
			uid, _, ok := l.mem.Layout.ParseStep(string(e.Kv.Key))
			if !ok {
				return fmt.Errorf("%q is no journal key", e.Kv.Key)
			}
			// The transactions of this server need no decoding.
			tx, err := l.jr.SentValues.Read(string(e.Kv.Key), e.Kv.Value)
			if err != nil {
				return layout.Unreadable(string(e.Kv.Key), err)
			}
			sink.Apply(uid, *tx)
		}
		return nil
	}, clientv3.WithFilterDelete())
}

// readBase passes all zones to sink, and returns the revision of the read.
func (l *Ledger) readBase(ctx context.Context, sink Sink) (int64, error) {
	sink.Reset()
	r := &baseReader{l: l, sink: sink, bases: map[string]*Base{}}
	for _, read := range []func(context.Context) error{r.readZones, r.readRecords, r.readCuts} {
		if err := read(ctx); err != nil {
			return 0, err
		}
	}
	// Each zone needs its Records, in the order of their owners, and perhaps the steps since the delivered content.
	for uid, b := range r.bases {
		slices.SortFunc(b.RRsets, content.RRset.Compare)
		delete(r.bases, uid) // do not hold a large zone twice
		if err := r.readSince(ctx, b); err != nil {
			return 0, err
		}
		sink.Base(*b)
	}
	return r.rev, nil
}

// baseReader reads all zones at one revision, and skips damaged objects: only copies of their zones then fail the hash
// check.
type baseReader struct {
	l     *Ledger
	sink  Sink
	rev   int64
	bases map[string]*Base // by uid
}

func (r *baseReader) skip(ctx context.Context, key string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	klog.FromContext(ctx).Error(err, "stored data cannot be read; kubizone fsck names the key", "key", key)
	return nil
}

// readZones begins a Base for each Zone with a name. Zones that cannot be decoded are reported to the sink, and
// skipped.
func (r *baseReader) readZones(ctx context.Context) error {
	mem := r.l.mem
	return etcd.Each(ctx, mem.Client, mem.Layout.Objects("zones"), &r.rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Zone{}
		var z *law.Zone
		err := mem.Zones.Decode(ctx, key, data, mod, o)
		switch {
		case err == nil && o.Status.FQDN == "":
			// A pending zone is not served.
			return nil
		case err == nil:
			z, err = lawform.Zone(o)
		}

		if err != nil {
			if namespace, object, ok := mem.Layout.ObjectName(key); ok {
				r.sink.Unreadable(namespace, object, err)
			}
			return r.skip(ctx, key, err)
		}

		r.bases[z.UID] = &Base{Identity: content.Identity{View: z.View, Namespace: z.Namespace, Name: z.Name}, Zone: z, Hash: o.Status.Hash,
			Settled: o.Status.SettledSerial == o.Status.Serial}
		return nil
	})
}

// readRecords adds an RRset to the zone of each adopted Record. The RRsets of several Records at a name are not merged.
func (r *baseReader) readRecords(ctx context.Context) error {
	mem := r.l.mem
	return etcd.Each(ctx, mem.Client, mem.Layout.Objects("records"), &r.rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Record{}
		var a *law.Adoption
		err := mem.Records.Decode(ctx, key, data, mod, o)
		if err == nil {
			a, _, err = objects.AdoptedOrWaiting(o)
		}
		if err != nil {
			return r.skip(ctx, key, err)
		}
		if a == nil {
			return nil
		}

		b := r.bases[a.Zone.UID]
		if b == nil {
			return nil // the zone is gone, and a cascade follows
		}
		// spec.domainName is absolute, for example www.example.org.
		if a.Owner.IsZero() {
			var ok bool
			if a.Owner, ok = a.FQDN.Rel(b.Zone.FQDN()); !ok {
				return r.skip(ctx, key, fmt.Errorf("the record is not in %s, the zone it is adopted by", b.Zone.FQDN()))
			}
		}

		b.RRsets = append(b.RRsets, objects.MakeRRset(a.Owner, &law.Record{Type: a.Type, TTL: a.TTL, Values: a.Values}))
		return nil
	})
}

// readCuts adds the NS, glue and DS of child zones to their parents, as counted at the parents.
func (r *baseReader) readCuts(ctx context.Context) error {
	cuts := r.l.mem.Layout.Room("cuts")
	return etcd.Each(ctx, r.l.mem.Client, cuts, &r.rev, func(key string, data []byte, _ int64) error {
		parent, _, _ := strings.Cut(key[len(cuts):], "/")
		var c law.CountedCut
		if err := layout.Decode(data, &c); err != nil {
			return r.skip(ctx, key, err)
		}
		if b := r.bases[parent]; b != nil {
			b.RRsets = append(b.RRsets, c.Sets...)
		}
		return nil
	})
}

// readSince reads the steps from the content that name servers have to the present, for a zone that is not settled. If
// the journal lacks a step or a step is damaged, the Base has none, and the zone is not served until settled.
func (r *baseReader) readSince(ctx context.Context, b *Base) (err error) {
	z := b.Zone
	if b.Settled || z.SettledSerial == 0 {
		return nil
	}
	_, b.UndeliveredSteps, err = r.l.jr.StepsFrom(ctx, z.UID, z.SettledSerial, z.N, false, r.rev)
	if errors.Is(err, rpctypes.ErrCompacted) {
		// The present journal may still hold the steps. Follow starts over in any case, as its watch begins at the
		// compacted revision.
		if _, b.UndeliveredSteps, err = r.l.jr.Steps(ctx, z.UID, z.SettledSerial, z.N); err != nil {
			err = fmt.Errorf("%w: %w", journal.ErrTrimmed, err)
		}
	}
	// One damaged step must not stop the views of all zones.
	isDamaged := errors.Is(err, layout.ErrUnreadable) || errors.Is(err, encryption.ErrDecrypt)
	if isDamaged || errors.Is(err, journal.ErrTrimmed) {
		klog.FromContext(ctx).Info("The delivered content of a zone is unknown: the zone is served again when it settles",
			"zone", klog.KRef(z.Namespace, z.Name), "serial", z.SettledSerial, "reason", err.Error())
		return nil
	}
	return err
}
