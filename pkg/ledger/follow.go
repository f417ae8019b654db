// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
	"kubi.zone/kubizone/pkg/ledger/outbox"
)

// Base is a zone as the store has it at one revision: where a view starts.
type Base struct {
	Identity content.Identity
	Zone     *law.Zone
	Settled  bool
	// Since are the steps since the content that is delivered, where that is an earlier one and the journal has them
	// all (S7.2, S7.5).
	Since []content.Step
	// Hash is status.hash: a header that was damaged differs from it (S6.4).
	Hash string
	// Sets of the definition in canonical order, delegated children's cuts included.
	Sets []content.RRset
}

// Sink takes in what Follow reads. Its methods are called one after the other.
type Sink interface {
	// Reset begins a new start: zones that no Base names afterwards are gone.
	Reset()
	// Base gives one zone; at the start, and again after the feed was cut off.
	Base(Base)
	// Unreadable names a Zone of the start whose object cannot be read, so that there is no Base of it.
	Unreadable(namespace, name string, err error)
	// Ready says that all zones of the start have been given.
	Ready()
	// Apply gives one journal transaction of the zone with this uid.
	Apply(uid string, tx content.Transaction)
}

// Follow feeds a view of every zone until ctx ends: all zones at one revision,
// then every journal transaction in order (I2). Where its watch is cut off it goes on
// behind what it has had; when etcd has compacted that, it starts over.
func (l *Ledger) Follow(ctx context.Context, sink Sink) error {
	for ctx.Err() == nil {
		rev, err := l.readBase(ctx, sink)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			klog.FromContext(ctx).Error(err, "reading the zones failed; trying again")
			if !etcd.Pause(ctx, time.Second) {
				return nil
			}
			continue
		}
		sink.Ready()
		if err := l.followJournal(ctx, sink, rev); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).V(2).Info("the journal's watch was cut off; views start over", "why", err.Error())
		}
	}
	return nil
}

func (l *Ledger) followJournal(ctx context.Context, sink Sink, rev int64) error {
	return etcd.Watch(ctx, l.mem.Client, l.mem.Layout.Room("journal"), rev, func(events []*clientv3.Event) error {
		for _, e := range events {
			uid, _, ok := l.mem.Layout.ParseStep(string(e.Kv.Key))
			if !ok {
				return fmt.Errorf("ledger: %q is no journal key", e.Kv.Key)
			}
			tx, err := l.jr.Made.Read(string(e.Kv.Key), e.Kv.Value)
			if err != nil {
				return fmt.Errorf("ledger: %s: %w", e.Kv.Key, err)
			}
			sink.Apply(uid, *tx)
		}
		return nil
	}, clientv3.WithFilterDelete())
}

// readBase reads every zone, its records and its cuts at one revision.
func (l *Ledger) readBase(ctx context.Context, sink Sink) (int64, error) {
	sink.Reset()
	rev := int64(0)
	bases := map[string]*Base{}
	// One damaged object stops nobody else. What cannot be read is left out, and the content state of its zone says
	// whose it was: that view cannot be proven.
	skip := func(key string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		klog.FromContext(ctx).Error(err, "what is stored cannot be read; kubizone fsck says more", "key", key)
		return nil
	}
	sets := map[string]map[name.Rel][]content.RRset{}
	err := etcd.Each(ctx, l.mem.Client, l.mem.Layout.Objects("zones"), &rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Zone{}
		var z *law.Zone
		err := l.mem.Zones.Decode(ctx, key, data, mod, o)
		switch {
		case err == nil && o.Status.FQDN == "":
			return nil
		case err == nil:
			z, err = objects.LawZone(o)
		}
		if err != nil {
			if namespace, object, ok := l.mem.Layout.ObjectName(key); ok {
				sink.Unreadable(namespace, object, err)
			}
			return skip(key, err)
		}
		bases[z.UID] = &Base{Identity: content.Identity{View: z.View, Namespace: z.Namespace, Name: z.Name}, Zone: z, Hash: o.Status.Hash, Settled: o.Status.SettledSerial == o.Status.Serial}
		sets[z.UID] = map[name.Rel][]content.RRset{}
		return nil
	})
	if err != nil {
		return 0, err
	}
	take := func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Record{}
		var a *law.Adopted
		err := l.mem.Records.Decode(ctx, key, data, mod, o)
		if err == nil {
			a, _, err = objects.Adopted(o)
		}
		if err != nil {
			return skip(key, err)
		}
		if a == nil {
			return nil
		}
		b := bases[a.Zone.UID]
		if b == nil {
			return nil // its zone is gone; the cascade will say so
		}
		if a.Owner.IsZero() {
			var ok bool
			if a.Owner, ok = a.FQDN.Rel(b.Zone.FQDN()); !ok {
				return skip(key, fmt.Errorf("the record is not in %s, the zone it is adopted by", b.Zone.FQDN()))
			}
		}
		sets[a.Zone.UID][a.Owner] = outbox.AddRecord(sets[a.Zone.UID][a.Owner], a.Owner, &law.Record{Type: a.Type, TTL: a.TTL, Values: a.Values})
		return nil
	}
	err = etcd.Each(ctx, l.mem.Client, l.mem.Layout.Objects("records"), &rev, take)
	if err != nil {
		return 0, err
	}
	cuts := l.mem.Layout.Room("cuts")
	err = etcd.Each(ctx, l.mem.Client, cuts, &rev, func(key string, data []byte, _ int64) error {
		parent := key[len(cuts):]
		for i := range parent {
			if parent[i] == '/' {
				parent = parent[:i]
				break
			}
		}
		var c law.CountedCut
		if err := layout.Decode(data, &c); err != nil {
			return skip(key, err)
		}
		for _, s := range c.Sets {
			if m := sets[parent]; m != nil {
				m[s.Owner] = outbox.AddSet(m[s.Owner], s)
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for uid, b := range bases {
		for _, s := range sets[uid] {
			b.Sets = append(b.Sets, s...)
		}
		slices.SortFunc(b.Sets, content.RRset.Compare)
		delete(sets, uid)
		if !b.Settled && b.Zone.SettledSerial != 0 {
			_, b.Since, err = l.jr.StepsFrom(ctx, uid, b.Zone.SettledSerial, b.Zone.N, false, rev)
			if errors.Is(err, rpctypes.ErrCompacted) {
				// What is there now may fit still. Else the journal cannot be followed from rev either, and all is
				// read again.
				if _, b.Since, err = l.jr.Steps(ctx, uid, b.Zone.SettledSerial, b.Zone.N); err != nil {
					err = fmt.Errorf("%w: %w", journal.ErrTrimmed, err)
				}
			}
			if errors.Is(err, journal.ErrTrimmed) {
				klog.FromContext(ctx).Info("What is delivered of a zone is not known any more: it is served again when it settles", "zone", klog.KRef(b.Zone.Namespace, b.Zone.Name), "serial", b.Zone.SettledSerial, "reason", err.Error())
			} else if err != nil {
				return 0, err
			}
		}
		sink.Base(*b)
	}
	return rev, nil
}
