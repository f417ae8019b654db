// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// countsRRsets is the migration that counts the RRsets of each zone.
const countsRRsets = 10

// countRRsets writes into each Zone how many RRsets records and cuts give it: a deletion is judged by its share of
// them (S7.5). A zone that cannot be read, or with an owner that cannot be read, is left out.
func countRRsets(ctx context.Context, m *migrating) error {
	counts, room := map[string]int64{}, m.mem.Layout.Room("owners")
	if err := m.eachKey(ctx, room, func(kv *mvccpb.KeyValue) error {
		uid, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), room), "/")
		var o law.Owner
		if err := layout.Decode(kv.Value, &o); err != nil {
			return nil // fsck says so
		}
		counts[uid] += int64(o.RRsets())
		return nil
	}); err != nil {
		return err
	}
	return m.rewriteValues(ctx, m.mem.Layout.Objects("zones"), func(key string, value []byte) ([]byte, error) {
		o := &v1alpha1.Zone{}
		if err := m.mem.Zones.Decode(ctx, key, value, 0, o); err != nil || o.Status.FQDN == "" || o.Status.RRsetCount == counts[string(o.UID)] {
			return value, nil
		}
		o.Status.RRsetCount = counts[string(o.UID)]
		return m.mem.Zones.Encode(ctx, key, o)
	})
}
