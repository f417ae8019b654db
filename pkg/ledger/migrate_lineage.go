// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"context"
	"encoding/json"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// fillsLineage is the migration that notes how zones came to their names, and below which others they are.
const fillsLineage = 9

// fillLineage notes in each zone the zones by whose delegations it came to its name (S3.4), as far as its parent, or
// the zone that withdrew the rule for it, is known. It notes nothing for a zone that no zone delegated when an
// earlier version released the zone above it. It also notes which zone encloses each zone: a zone below another is
// older than what that has (S4.7).
func fillLineage(ctx context.Context, m *migrating) error {
	// place is a zone that stands or went: where it is, its namespace, and what delegated it.
	type place struct {
		law.Key
		namespace string
		by        string
		lineage   []law.Link
	}
	places := map[string]*place{}
	standing := map[law.Key]string{}
	floor := m.mem.Layout.Key(law.Key{Kind: law.KindFloor})
	if err := m.eachKey(ctx, m.mem.Layout.Room("serials"), func(kv *mvccpb.KeyValue) error {
		var last struct {
			law.LastSerial
			Delegated string `json:"delegated"` // in formats 8 and before
		}
		if string(kv.Key) == floor || json.Unmarshal(kv.Value, &last) != nil || last.Zone == "" {
			return nil
		}
		view, fqdn, err := m.mem.Layout.ParseName("serials", string(kv.Key))
		by := last.Delegated
		if w := last.Withdrawn; w != nil {
			by = cmp.Or(by, w.By)
		}
		places[last.Zone] = &place{law.HoldingKey(view, fqdn), last.By, by, nil}
		return err
	}); err != nil {
		return err
	}
	if err := m.eachKey(ctx, m.mem.Layout.Room("names"), func(kv *mvccpb.KeyValue) error {
		k, h, err := m.mem.Layout.DecodeName(string(kv.Key), kv.Value)
		if err != nil {
			return err
		}
		p := &place{k, h.Namespace, "", h.Lineage}
		switch {
		case h.Parent != nil:
			p.by = h.Parent.UID
		case h.Withdrawn != nil:
			p.by = h.Withdrawn.By
		}
		places[h.UID], standing[k] = p, h.UID
		return nil
	}); err != nil {
		return err
	}
	var lineage func(p *place) []law.Link
	lineage = func(p *place) []law.Link {
		by := places[p.by]
		if len(p.lineage) > 0 || by == nil || by.View != p.View || by.Name == p.Name || !by.Name.Encloses(p.Name) {
			return p.lineage
		}
		above := &law.Holding{Ref: law.Ref{Namespace: by.namespace, UID: p.by}, Ancestry: law.Ancestry{Lineage: lineage(by)}}
		p.lineage = above.LineageBelow(by.Name)
		return p.lineage
	}
	return m.rewriteValues(ctx, m.mem.Layout.Room("names"), func(_ string, value []byte) ([]byte, error) {
		v, err := layout.DecodeFact(law.Key{Kind: law.KindHolding}, value)
		if err != nil {
			return nil, err
		}
		h := v.(*law.Holding)
		p := places[h.UID]
		if p == nil || h.Enclosed != nil {
			return value, nil
		}
		for up, ok := p.Name.Parent(); ok && h.Enclosed == nil; up, ok = up.Parent() {
			if uid := standing[law.HoldingKey(p.View, up)]; uid != "" {
				h.Enclosed = &law.Enclosed{By: uid}
			}
		}
		if h.Lineage = lineage(p); h.Enclosed == nil {
			return value, nil // none encloses it, so none delegated it
		}
		return layout.Encode(h), nil
	})
}
