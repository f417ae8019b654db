// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

const (
	// The history has a tenth of etcd's quota, and a namespace a quarter of that. While all have more than the tenth,
	// the largest give way, down to an equal level: a namespace below the level loses nothing.
	ofQuota      = 10
	ofHistory    = 4
	unknownQuota = 2 << 30 // etcd's default
	// A namespace above its share is condensed to a sixteenth below, so that few archives condense.
	slack = 16
	// condensedAtOnce segments are read for a transaction.
	condensedAtOnce = 8
)

// Share is the value of shares/: a namespace's part of the history.
type Share struct {
	Octets int64 `json:"o"` // keys and values of its segments
	// Whole is the time, in Unix seconds, after the last condensed step of the namespace.
	Whole int64 `json:"t,omitempty"`
	// Bare is the last condensed segment, whose steps have neither rows nor states. BareOctets are those of all
	// condensed segments.
	Bare       string `json:"b,omitempty"`
	BareOctets int64  `json:"bo,omitempty"`
}

// all returns the octets of the whole history, and each those of a namespace.
func (a *Archive) all() int64 {
	quota := int64(0)
	if a.Quota != nil {
		quota = a.Quota()
	}
	if quota <= 0 {
		quota = unknownQuota
	}
	return quota / ofQuota
}

func (a *Archive) each() int64 {
	each := a.all() / ofHistory
	if level := a.level.Load(); level > 0 {
		each = min(each, level)
	}
	return each
}

// levelOf returns the level of shares that sum to most, or 0 if they are less.
func levelOf(octets []int64, most int64) int64 {
	slices.Sort(octets)
	sum := int64(0)
	for _, o := range octets {
		sum += o
	}
	if sum <= most {
		return 0
	}
	left := most
	for i, o := range octets {
		each := left / int64(len(octets)-i)
		if o > each {
			return max(1, each)
		}
		left -= o
	}
	return 0
}

const (
	// The level is set anew after ofLevel-th parts of the history, or levelEvery seconds of archiving, by this process.
	ofLevel    = 8
	levelEvery = 30
)

// keepLevel counts archived octets, and sets the level if it is due.
func (a *Archive) keepLevel(ctx context.Context, octets int64) {
	if a.added.Add(octets) < a.all()/ofLevel && a.Now().Unix() < a.levelled.Load()+levelEvery || !a.levelling.TryLock() {
		return
	}
	defer a.levelling.Unlock()
	if err := a.setLevel(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "The level of the history's shares is not known; it is tried again")
	}
}

// setLevel sets the level of the shares, and has namespaces above it give way.
func (a *Archive) setLevel(ctx context.Context) error {
	a.added.Store(0)
	a.levelled.Store(a.Now().Unix())
	shares, err := a.readShares(ctx)
	if err != nil {
		return err
	}
	a.level.Store(levelOf(slices.Collect(maps.Values(shares)), a.all()))
	for ns, octets := range shares {
		if octets <= a.each() {
			continue
		}
		if _, _, _, err := a.makeRoom(ctx, ns, 0); err != nil {
			return err
		}
	}
	return nil
}

// readShares returns the octets of each namespace. Damaged shares are missing.
func (a *Archive) readShares(ctx context.Context) (map[string]int64, error) {
	shares, room := map[string]int64{}, a.Layout.Room("shares")
	_, err := etcd.Scan(ctx, a.Client, room, "", 0, func(kv *mvccpb.KeyValue) error {
		var s Share
		if err := layout.Decode(kv.Value, &s); err != nil {
			klog.FromContext(ctx).Error(layout.Unreadable(string(kv.Key), err), "A share of the history is damaged")
		} else if ns := strings.TrimPrefix(string(kv.Key), room); ns != layout.EveryNamespace {
			shares[ns] = s.Octets
		}
		return nil
	})
	return shares, err
}

// Began returns the begin of the store's history in Unix seconds: after an upgrade or a restore; 0 for
// a store that always had one.
func (a *Archive) Began(ctx context.Context) (int64, error) {
	s, _, err := a.readShare(ctx, layout.EveryNamespace)
	return s.Whole, err
}

func (a *Archive) readShare(ctx context.Context, namespace string) (s Share, mod int64, err error) {
	key := a.Layout.Share(namespace)
	r, err := a.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return s, 0, err
	}
	if err := layout.Decode(r.Kvs[0].Value, &s); err != nil {
		return s, 0, layout.Unreadable(key, err)
	}
	return s, r.Kvs[0].ModRevision, nil
}

// makeRoom condenses the oldest segments of a namespace until octets more are within its share. fits is false if they
// are more than the share.
func (a *Archive) makeRoom(ctx context.Context, namespace string, octets int) (s Share, mod int64, fits bool, err error) {
	most := a.each()
	for {
		if s, mod, err = a.readShare(ctx, namespace); err != nil {
			return s, mod, false, err
		}
		if s.Octets+int64(octets) <= most {
			return s, mod, true, nil
		}
		if int64(octets) > most || s.Octets == 0 {
			return s, mod, false, nil
		}
		if err := a.condenseOldest(ctx, namespace, s, mod, most-most/slack-int64(octets)); err != nil {
			return s, mod, false, err
		}
	}
}

// condenseOldest makes the namespace's oldest full segments bare, towards most octets in all. While bare segments have
// half of these octets, the oldest segments are deleted instead. If another server changes the share meanwhile, nothing
// is written.
func (a *Archive) condenseOldest(ctx context.Context, namespace string, s Share, mod int64, most int64) error {
	from, end := a.Layout.Segments(namespace), clientv3.GetPrefixRangeEnd(a.Layout.Segments(namespace))
	strips := s.BareOctets < max(most, 1)/2
	if strips && s.Bare != "" {
		from = s.Bare + "\x00"
	}
	r, err := a.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(condensedAtOnce))
	if err != nil {
		return err
	}
	if len(r.Kvs) == 0 && strips && s.Bare != "" { // all are bare
		s.BareOctets = s.Octets
		strips = false
		from = a.Layout.Segments(namespace)
		if r, err = a.Client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(condensedAtOnce)); err != nil {
			return err
		}
	}
	if len(r.Kvs) == 0 { // the share counts segments that are not there: fsck reports it
		s = Share{Whole: s.Whole}
	}
	var ops []clientv3.Op
	for _, kv := range r.Kvs {
		key, octets := string(kv.Key), int64(len(kv.Key)+len(kv.Value))
		at, _ := a.Layout.ParseSegment(key)
		s.Whole = max(s.Whole, at.Time+1)
		var bare []byte
		if strips {
			bare = stripSegment(kv.Value)
		}
		if bare != nil && len(bare) < len(kv.Value) {
			ops = append(ops, etcd.OpPut(key, bare))
			s.Bare, s.BareOctets = key, s.BareOctets+int64(len(key)+len(bare))
			s.Octets -= int64(len(kv.Value) - len(bare))
		} else {
			ops = append(ops, clientv3.OpDelete(key))
			s.Octets = max(0, s.Octets-octets)
			if !strips && key <= s.Bare {
				s.BareOctets = max(0, s.BareOctets-octets)
			}
		}
		if s.Octets <= most {
			break
		}
	}
	ops = append(ops, etcd.OpPut(a.Layout.Share(namespace), layout.Encode(&s)))
	a.Fault("condense-history")
	_, err = a.Client.Txn(ctx).If(etcd.RevisionIs(a.Layout.Share(namespace), mod)).Then(ops...).Commit()
	a.recent.forget(ops)
	return err
}

// stripSegment returns a segment without rows and states, or nil for a damaged segment.
func stripSegment(value []byte) []byte {
	s, err := DecodeSegment(value)
	if err != nil {
		return nil
	}
	lines := make([]line, 0, len(s.Entries))
	for i := range s.Entries {
		l := lineOf(bareStep(&s.Entries[i].Step))
		l.removed = s.Entries[i].Removed
		lines = append(lines, l)
	}
	s.Header.Bare = true
	out, _, err := encodeSegment(&s.Header, lines)
	if err != nil {
		return nil
	}
	return out
}

// bareStep returns a step without rows.
func bareStep(step *content.Step) content.Step {
	return content.Step{N: step.N, From: step.From, Serial: step.Serial, Record: step.Record, Others: step.Others, By: step.By,
		Origin: step.Origin, Time: step.Time}
}

// recent caches the last values written by this process, with their revisions. Each transaction compares the revisions
// of its values, so an outdated value only fails a transaction.
type recent struct {
	mu sync.Mutex
	of map[string]written
}

type written struct {
	value any
	mod   int64
}

const maxRecent = 4096

func findRecent[T any](c *recent, key string) (v T, mod int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w, ok := c.of[key]
	if ok {
		v, mod = w.value.(T), w.mod
	}
	return v, mod, ok
}

func (c *recent) note(key string, value any, mod int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= maxRecent {
		c.of = map[string]written{}
	}
	c.of[key] = written{value, mod}
}

func (c *recent) forget(ops []clientv3.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range ops {
		delete(c.of, string(ops[i].KeyBytes()))
	}
}
