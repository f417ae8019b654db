// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

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
