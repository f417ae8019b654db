// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// Base is a zone as the store has it at one revision: where a view starts.
type Base struct {
	Identity content.Identity
	Zone     *law.Zone
	Settled  bool
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
// then every journal transaction in order (I2). When etcd has compacted what
// comes next, it starts over.
func (l *Ledger) Follow(ctx context.Context, sink Sink) error {
	for ctx.Err() == nil {
		rev, err := l.start(ctx, sink)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			klog.FromContext(ctx).Error(err, "reading the zones failed; trying again")
			if !pause(ctx, time.Second) {
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

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (l *Ledger) followJournal(ctx context.Context, sink Sink, rev int64) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	w := l.config.Client.Watch(ctx, l.layout.room("journal"), clientv3.WithPrefix(), clientv3.WithRev(rev+1), clientv3.WithFilterDelete())
	for r := range w {
		if err := r.Err(); err != nil {
			return err
		}
		for _, e := range r.Events {
			uid, _, ok := l.layout.parseJournal(string(e.Kv.Key))
			if !ok {
				return fmt.Errorf("ledger: %q is no journal key", e.Kv.Key)
			}
			tx, err := l.made.read(string(e.Kv.Key), e.Kv.Value)
			if err != nil {
				return fmt.Errorf("ledger: %s: %w", e.Kv.Key, err)
			}
			sink.Apply(uid, *tx)
		}
	}
	return ctx.Err()
}

// start reads every zone, its records and its cuts at one revision.
func (l *Ledger) start(ctx context.Context, sink Sink) (int64, error) {
	sink.Reset()
	rev := int64(0)
	bases := map[string]*Base{}
	// One damaged object stops nobody else. What cannot be read is left out, and the content state of its zone says whose
	// it was: that view cannot be proven.
	skip := func(key string, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		klog.FromContext(ctx).Error(err, "what is stored cannot be read; kubizone fsck says more", "key", key)
		return nil
	}
	sets := map[string]map[name.Rel][]content.RRset{}
	err := l.each(ctx, l.layout.Objects("zones"), &rev, func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Zone{}
		var z *law.Zone
		err := l.config.Zones.decode(ctx, key, data, mod, o)
		switch {
		case err == nil && o.Status.FQDN == "":
			return nil
		case err == nil:
			z, err = LawZone(o)
		}
		if err != nil {
			if namespace, object, ok := l.layout.ObjectName(key); ok {
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
	unwritten, err := l.layout.Unwritten(func(key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
		return l.config.Client.Get(ctx, key, append(opts, clientv3.WithRev(rev))...)
	})
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	take := func(key string, data []byte, mod int64) error {
		o := &v1alpha1.Record{}
		var a *law.Adopted
		err := l.config.Records.decode(ctx, key, data, mod, o)
		if err == nil {
			a, _, err = adopted(o)
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
		sets[a.Zone.UID][a.Owner] = addRecord(sets[a.Zone.UID][a.Owner], a.Owner, &law.Record{Type: a.Type, TTL: a.TTL, Values: a.Values})
		return nil
	}
	err = l.each(ctx, l.layout.Objects("records"), &rev, func(key string, data []byte, mod int64) error {
		if unwritten[key] != nil {
			return nil
		}
		return take(key, data, mod)
	})
	for key, kv := range unwritten {
		if err == nil && kv.Value != nil {
			if err = take(key, kv.Value, kv.ModRevision); err != nil {
				err = fmt.Errorf("ledger: %s: %w", key, err)
			}
		}
	}
	if err != nil {
		return 0, err
	}
	cuts := l.layout.room("cuts")
	err = l.each(ctx, cuts, &rev, func(key string, data []byte, _ int64) error {
		parent := key[len(cuts):]
		for i := range parent {
			if parent[i] == '/' {
				parent = parent[:i]
				break
			}
		}
		var c law.CountedCut
		if err := decode(data, &c); err != nil {
			return skip(key, err)
		}
		for _, s := range c.Sets {
			if m := sets[parent]; m != nil {
				m[s.Owner] = addSet(m[s.Owner], s)
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
		sink.Base(*b)
	}
	return rev, nil
}

// each reads a prefix whole at one revision; *rev 0 takes the present one. It is read as a stream where it can be: for each
// page etcd counts all that comes behind it, which for n pages is n² steps.
func (l *Ledger) each(ctx context.Context, prefix string, rev *int64, f func(key string, data []byte, mod int64) error) error {
	streaming, cancel := context.WithCancel(ctx)
	stream, err := l.config.Client.GetStream(streaming, prefix, clientv3.WithPrefix(), clientv3.WithRev(*rev))
	if err != nil { // sealed keys come in no order of ours
		cancel()
		return l.eachPage(ctx, prefix, rev, f)
	}
	defer func() { // the client waits for somebody who takes what it has read
		cancel()
		for range stream {
		}
	}()
	began := false
	for r := range stream {
		if err := r.Err(); grpcstatus.Code(err) == codes.Unimplemented && !began { // before etcd 3.7
			return l.eachPage(ctx, prefix, rev, f)
		} else if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		began = true
		for _, kv := range r.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return fmt.Errorf("ledger: %s: %w", kv.Key, err)
			}
		}
		if r.Header != nil && *rev == 0 { // the last says at which revision all of them were read
			*rev = r.Header.Revision
		}
	}
	return ctx.Err()
}

// eachPage is each, page by page.
func (l *Ledger) eachPage(ctx context.Context, prefix string, rev *int64, f func(key string, data []byte, mod int64) error) error {
	key, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	for {
		r, err := l.config.Client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(5000), clientv3.WithRev(*rev))
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if *rev == 0 {
			*rev = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			if err := f(string(kv.Key), kv.Value, kv.ModRevision); err != nil {
				return fmt.Errorf("ledger: %s: %w", kv.Key, err)
			}
		}
		if !r.More {
			return nil
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}
