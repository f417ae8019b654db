// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// ZoneHistory returns a page of a zone's changes, newest first, within the zone's historyRetention.
func (l *Ledger) ZoneHistory(ctx context.Context, z *v1alpha1.Zone, ask history.Ask) (*history.Answer, error) {
	of := l.archive.HeaderOf(z)
	oldest := max(l.mem.Now().Unix()-of.Retention, ask.NotBefore)
	a, err := l.archive.OfZone(ctx, of, z.Status.FQDN != "", within(ask, func(*history.Item) int64 { return oldest }))
	if a != nil {
		// Older items are filtered, so the answer is complete only from there on.
		a.Whole, a.Own = max(a.Whole, oldest), max(a.Own, oldest)
	}
	return a, err
}

// ForgetHistory deletes the history of all zones and begins a new one. It is for restored stores, whose history lacks
// later changes. No server may run on the store.
func (l *Ledger) ForgetHistory(ctx context.Context) error {
	for _, room := range []string{"archived", "before", "history", "shares"} {
		// In pages, since each room may have millions of keys.
		prefix := l.mem.Layout.Room(room)
		for from, more := prefix, true; more; {
			var err error
			if from, more, err = etcd.DeletePage(ctx, l.mem.Client, from, clientv3.GetPrefixRangeEnd(prefix)); err != nil {
				return err
			}
		}
	}
	return l.beginHistory(ctx, func(ops []clientv3.Op) error {
		_, err := l.mem.Client.Txn(ctx).Then(ops...).Commit()
		return err
	})
}

const begunAtOnce = 100

// beginHistory begins an empty history: each zone is noted as archived up to the present step. The operations go to
// commit, begunAtOnce at a time.
func (l *Ledger) beginHistory(ctx context.Context, commit func([]clientv3.Op) error) error {
	now, rev := l.mem.Now().Unix(), int64(0)
	ops := []clientv3.Op{etcd.OpPut(l.mem.Layout.Share(layout.EveryNamespace), layout.Encode(&history.Share{Whole: now}))}
	err := etcd.Each(ctx, l.mem.Client, l.mem.Layout.Objects("zones"), &rev, func(key string, data []byte, mod int64) error {
		var z v1alpha1.Zone
		if l.mem.Zones.Decode(ctx, key, data, mod, &z) != nil || z.Status.ContentGeneration == 0 {
			return nil // fsck reports the damage
		}
		ops = append(ops, etcd.OpPut(l.mem.Layout.Archived(string(z.UID)), layout.Encode(&history.Archived{
			Last: uint64(z.Status.ContentGeneration), Whole: now, Retention: l.archive.HeaderOf(&z).Retention})))
		if len(ops) < begunAtOnce {
			return nil
		}
		defer func() { ops = nil }()
		return commit(ops)
	})
	if err != nil || len(ops) == 0 {
		return err
	}
	return commit(ops)
}

// ErrRemoving means that a Zone's deletion is under way, and its history follows.
var ErrRemoving = errors.New("the deletion is under way")

// RemovedHistory returns a page of the changes, and the header, of the last removed Zone with an object name. Both are
// nil without a removal since ask.NotBefore. The error is ErrRemoving until the history has the last removal.
func (l *Ledger) RemovedHistory(ctx context.Context, namespace, name string, ask history.Ask) (*history.Answer, *history.Header, error) {
	matches := func(p *law.Place) bool { return p.Namespace == namespace && p.Name == name }
	return l.removedHistory(ctx, matches, ask, func() (*history.Header, int64, error) {
		return l.archive.FindRemoved(ctx, namespace, name)
	})
}

// RemovedHistoryOf is like RemovedHistory, for a DNS name. An empty namespace means all.
func (l *Ledger) RemovedHistoryOf(ctx context.Context, namespace, fqdn string, ask history.Ask) (*history.Answer, *history.Header, error) {
	matches := func(p *law.Place) bool {
		return p.FQDN.String() == fqdn && (namespace == "" || p.Namespace == namespace)
	}
	return l.removedHistory(ctx, matches, ask, func() (*history.Header, int64, error) {
		return l.archive.FindRemovedFQDN(ctx, namespace, fqdn)
	})
}

// removedHistory looks for a pending removal first: one that ends meanwhile is found in the archive.
func (l *Ledger) removedHistory(ctx context.Context, matches func(*law.Place) bool, ask history.Ask,
	find func() (header *history.Header, gone int64, err error)) (*history.Answer, *history.Header, error) {
	if removing, err := l.outbox.IsRemoving(ctx, matches); err != nil {
		return nil, nil, err
	} else if removing {
		return nil, nil, ErrRemoving
	}
	header, gone, err := find()
	if err != nil || header == nil || gone < ask.NotBefore {
		return nil, nil, err
	}
	oldest := max(l.mem.Now().Unix()-header.Retention, ask.NotBefore)
	a, err := l.archive.OfZone(ctx, *header, false, within(ask, func(*history.Item) int64 { return oldest }))
	if a != nil {
		a.Whole, a.Own = max(a.Whole, oldest), max(a.Own, oldest)
	}
	return a, header, err
}

func within(ask history.Ask, oldest func(*history.Item) int64) history.Ask {
	since := ask.Since
	ask.Since = func(x *history.Item) bool { return x.Step.Time >= oldest(x) && (since == nil || since(x)) }
	return ask
}

// RecordHistory returns a page of the zone changes by a namespace's Records, newest first, within each zone's
// historyRetention. No change since Answer.Whole is missing.
func (l *Ledger) RecordHistory(ctx context.Context, selector history.StepSelector, ask history.Ask) (*history.Answer, error) {
	began, err := l.archive.Began(ctx)
	if err != nil {
		return nil, err
	}
	headers := map[string]*history.Header{}
	selector.HeaderOf = func(uid string) (history.Header, bool) {
		// The items of a page concern few zones, so each header is read once.
		header, ok := headers[uid]
		if !ok {
			header = l.findHeader(ctx, uid)
			headers[uid] = header
		}
		if header == nil {
			return history.Header{}, false
		}
		return *header, true
	}

	a, err := l.archive.OfNamespace(ctx, selector, ask)
	if a != nil {
		a.Whole = max(a.Whole, began, ask.NotBefore)
	}
	return a, err
}

func (l *Ledger) findHeader(ctx context.Context, uid string) *history.Header {
	for _, h := range l.mem.Holdings(func(h *law.Holding) bool { return h.UID == uid }) {
		if z, _, err := l.mem.ReadZone(ctx, h.Namespace, h.Name); err == nil && z != nil && string(z.UID) == uid {
			of := l.archive.HeaderOf(z)
			return &of
		}
	}
	return nil
}
