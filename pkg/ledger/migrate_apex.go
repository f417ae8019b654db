// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
)

// notesApexHosts is the migration that notes the hosts that the apex names by other types than NS.
const notesApexHosts = 8

// noteApexHosts notes which hosts the MX, SVCB and HTTPS records of the apex name (S6.2).
// Nothing is decided anew: what stands keeps its place, and so nothing is owed.
func noteApexHosts(ctx context.Context, m *migrating) error {
	values := map[string][]rdata.Value{} // by the uid of the zone
	if err := m.each(ctx, m.layout.room("members"), func(kv *mvccpb.KeyValue) error {
		uid, owner, namespace, object, err := m.layout.memberOf(string(kv.Key))
		if err != nil || !owner.IsApex() {
			return err
		}
		found, err := m.readValues(ctx, m.layout.Record(namespace, object))
		for _, v := range found {
			if law.NamesHosts(v.Type) && v.Type != rdata.NS && !slices.Contains(values[uid], v) {
				values[uid] = append(values[uid], v)
			}
		}
		return err
	}); err != nil {
		return err
	}
	return m.rewrite(ctx, m.layout.room("names"), func(_ string, value []byte) ([]byte, error) {
		v, err := decodeFact(law.Key{Kind: law.KindHolding}, value)
		if err != nil {
			return nil, err
		}
		h := v.(*law.Holding)
		var hosts []string
		for _, v := range values[h.UID] {
			hosts = append(hosts, v.Host())
		}
		if slices.Sort(hosts); slices.Equal(h.ApexHosts, hosts) && h.Unknown == nil {
			return value, nil
		}
		h.ApexHosts = hosts
		h.Unknown = nil // the values of MX, which stood there from format 4 on
		return encode(h), nil
	})
}

// readValues returns the values of a record, none where it is gone or cannot be read.
func (m *migrating) readValues(ctx context.Context, key string) ([]rdata.Value, error) {
	r, err := m.config.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	o := &v1alpha1.Record{}
	if err := m.config.Records.decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return nil, m.leaveOut(ctx, key, err)
	}
	record, err := lawRecord(o)
	if err != nil {
		return nil, m.leaveOut(ctx, key, err)
	}
	return record.Values, nil
}
