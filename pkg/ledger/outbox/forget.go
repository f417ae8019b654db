// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package outbox

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/journal"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// SweepCondensed removes what is condensed of zones that have settled since, or are gone, and parts that no key
// names. A step that is condensed meanwhile has another revision.
func (box *Outbox) SweepCondensed(ctx context.Context) error {
	type stored struct {
		key string
		mod int64
	}
	room, rev := box.mem.Layout.Room("condensed"), int64(0)
	found := map[string][]stored{} // by uid, the key that names the parts first
	for from, more := room, true; more; {
		r, err := box.mem.Client.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(room)), clientv3.WithLimit(etcd.PurgePage),
			clientv3.WithKeysOnly(), clientv3.WithRev(rev))
		if err != nil || len(r.Kvs) == 0 {
			return err
		}
		rev, more = r.Header.Revision, r.More
		for _, kv := range r.Kvs {
			key := string(kv.Key)
			uid, _, _ := strings.Cut(strings.TrimPrefix(key, room), "/")
			found[uid] = append(found[uid], stored{key, kv.ModRevision})
			from = key + "\x00"
		}
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
		for _, x := range keys {
			cmps := []clientv3.Cmp{etcd.RevisionIs(x.key, x.mod)}
			if x.key != names {
				cmps = append(cmps, etcd.Absent(names))
			}
			done, err := box.mem.Client.Txn(ctx).If(cmps...).Then(clientv3.OpDelete(x.key)).Commit()
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
