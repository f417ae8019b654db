// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/history"
)

// ZoneHistory returns the steps of a zone within its historyRetention, newest first.
func (l *Ledger) ZoneHistory(ctx context.Context, z *v1alpha1.Zone, ask history.Ask) (*history.Answer, error) {
	of := l.archive.HeaderOf(z)
	began, err := l.archive.Began(ctx)
	if err != nil {
		return nil, err
	}
	oldest := max(began, l.mem.Now().Unix()-of.Retention)
	a, err := l.archive.OfZone(ctx, of, within(ask, func(*history.Item) int64 { return oldest }))
	if a != nil {
		a.Whole = max(a.Whole, oldest)
	}
	return a, err
}

func within(ask history.Ask, oldest func(*history.Item) int64) history.Ask {
	since := ask.Since
	ask.Since = func(x *history.Item) bool { return x.Step.Time >= oldest(x) && (since == nil || since(x)) }
	return ask
}

// RecordHistory returns the steps that a namespace's Records made within the historyRetention of their zones and that
// takes selects, newest first. zones are the uids of the zones of existing Records.
func (l *Ledger) RecordHistory(ctx context.Context, namespace string, zones []string, takes func(*history.Item) bool, ask history.Ask) (
	*history.Answer, error) {
	began, err := l.archive.Began(ctx)
	if err != nil {
		return nil, err
	}
	now, known := l.mem.Now().Unix(), map[string]*history.Header{}
	headerOf := func(uid string) (history.Header, bool) {
		of, ok := known[uid]
		if !ok {
			of = l.findHeader(ctx, uid)
			known[uid] = of
		}
		if of == nil {
			return history.Header{}, false
		}
		return *of, true
	}
	shortest := int64(l.archive.Retention.Seconds())
	a, err := l.archive.OfNamespace(ctx, namespace, zones, headerOf, takes, within(ask, func(x *history.Item) int64 {
		retention := x.Retention
		if of, ok := headerOf(x.Header.Zone); ok {
			retention = of.Retention
		}
		shortest = min(shortest, retention)
		return max(began, now-retention)
	}))
	if a != nil {
		a.Whole = max(a.Whole, began, now-shortest)
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
