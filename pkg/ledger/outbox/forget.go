// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// SweepCondensed removes what is condensed of zones that have settled since, or are gone, and parts that no key names.
// A step that is condensed meanwhile has another revision.
func (box *Outbox) SweepCondensed(ctx context.Context) error {
	found := map[string][]*mvccpb.KeyValue{} // by uid, the key that names the parts first
	room := box.mem.Layout.Room("condensed")
	_, err := etcd.Scan(ctx, box.mem.Client, room, "", 0, func(kv *mvccpb.KeyValue) error {
		uid, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), room), "/")
		found[uid] = append(found[uid], kv)
		return nil
	}, clientv3.WithKeysOnly())
	if err != nil || len(found) == 0 {
		return err
	}
	standing, purged, err := box.zonesInStore(ctx)
	if err != nil {
		return err
	}
	for uid, keys := range found {
		if purged[uid] {
			continue
		}
		if ref, stands := standing[uid]; stands {
			z, _, err := box.mem.ReadZone(ctx, ref.Namespace, ref.Name)
			if err != nil || z == nil || string(z.UID) != uid || journal.Unsettled(z) {
				continue // it has just gone, or is needed
			}
		}
		names := box.mem.Layout.Condensed(uid)
		for _, kv := range keys {
			cmps := []clientv3.Cmp{etcd.RevisionIs(string(kv.Key), kv.ModRevision)}
			if string(kv.Key) != names {
				cmps = append(cmps, etcd.Absent(names))
			}
			done, err := box.mem.Client.Txn(ctx).If(cmps...).Then(clientv3.OpDelete(string(kv.Key))).Commit()
			if err != nil {
				return err
			}
			if !done.Succeeded {
				break
			}
		}
	}
	return nil
}

// zonesInStore returns the zones that stand, by uid, and those whose keys a work is to purge. It reads the store,
// since the index may lack the newest.
func (box *Outbox) zonesInStore(ctx context.Context) (standing map[string]law.Ref, purged map[string]bool, err error) {
	standing, purged = map[string]law.Ref{}, map[string]bool{}
	var rev int64
	err = etcd.Each(ctx, box.mem.Client, box.mem.Layout.Room("names"), &rev, func(key string, data []byte, _ int64) error {
		_, h, err := box.mem.Layout.DecodeName(key, data)
		if err == nil {
			standing[h.UID] = h.Ref
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = etcd.Each(ctx, box.mem.Client, box.mem.Layout.Room("outbox"), &rev, func(_ string, data []byte, _ int64) error {
		var w law.Work
		err := layout.Decode(data, &w)
		purged[w.Purge] = true
		return err
	})
	return standing, purged, err
}
