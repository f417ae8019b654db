// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// rebuildHolders notes what holds names without a record there, at the base name of it: wildcards and underscore names
// (S4.6).
// A later migration counts the hosts of the apex. Adopted records keep their places, so nothing is decided anew.
func rebuildHolders(ctx context.Context, m *migrating) error {
	zones := map[string]bool{} // by the uid
	if err := m.eachKey(ctx, m.mem.Layout.Room("names"), func(kv *mvccpb.KeyValue) error {
		v, err := layout.DecodeFact(law.Key{Kind: law.KindHolding}, kv.Value)
		if err != nil {
			return err
		}
		zones[v.(*law.Holding).UID] = true
		return nil
	}); err != nil {
		return err
	}
	speaks := map[law.Key]*law.Owner{}
	if err := m.eachKey(ctx, m.mem.Layout.Room("members"), func(kv *mvccpb.KeyValue) error {
		uid, owner, namespace, _, err := m.mem.Layout.ParseMember(string(kv.Key))
		if err != nil || !zones[uid] {
			return err // a removed zone's, which a cascade purges
		}
		v, err := layout.DecodeFact(law.Key{Kind: law.KindMember}, kv.Value)
		if err != nil {
			return err
		}
		if base, ok := law.SpeaksFor(v.(*law.Member).Admission, owner); ok {
			k := law.OwnerKey(uid, base)
			if speaks[k] == nil {
				speaks[k] = &law.Owner{}
			}
			speaks[k].CountSpeaker(namespace, 1)
		}
		return nil
	}); err != nil {
		return err
	}
	for k, want := range speaks {
		if err := m.amendKey(ctx, m.mem.Layout.Key(k), func(value []byte) ([]byte, error) {
			o := &law.Owner{}
			if value != nil {
				v, err := layout.DecodeFact(k, value)
				if err != nil {
					return nil, err
				}
				o = v.(*law.Owner)
			}
			if slices.EqualFunc(o.Speaks, want.Speaks, func(x, y law.Holder) bool { return x.Namespace == y.Namespace && x.Count == y.Count }) {
				return value, nil
			}
			o.Speaks = want.Speaks
			return layout.Encode(o), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// amendKey writes the value that f returns to one key, which may be absent. f may be called again.
func (m *migrating) amendKey(ctx context.Context, key string, f func(value []byte) ([]byte, error)) error {
	for {
		r, err := m.mem.Client.Get(ctx, key)
		if err != nil {
			return err
		}
		var rev int64
		var value []byte
		if len(r.Kvs) > 0 {
			rev, value = r.Kvs[0].ModRevision, r.Kvs[0].Value
		}
		next, err := f(value)
		if err != nil || string(next) == string(value) {
			return err
		}
		if done, err := m.writeChanges(ctx, []change{{key, rev, next}}); done || err != nil {
			return err
		}
	}
}
