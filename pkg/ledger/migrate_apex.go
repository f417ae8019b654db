// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"maps"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/layout"
	"kubi.zone/kubizone/pkg/ledger/objects"
)

// countsApexHosts is the migration that counts the hosts that a zone's own namespace names at the apex.
const countsApexHosts = 11

// countApexHosts counts the hosts that MX, SVCB and HTTPS records of a zone's own namespace name at the apex (S6.2).
// Earlier versions did not count those of MX (formats 4 to 7), or counted those of other namespaces too (8 to 10),
// which kept names from third ones. It owes another decision about what waits in a zone with such hosts.
func countApexHosts(ctx context.Context, m *migrating) error {
	type zone struct {
		law.Zone
		own, others law.Holding // only their hosts
	}
	zones := map[string]*zone{}
	if err := m.eachKey(ctx, m.mem.Layout.Room("names"), func(kv *mvccpb.KeyValue) error {
		k, h, err := m.mem.Layout.DecodeName(string(kv.Key), kv.Value)
		if err == nil {
			zones[h.UID] = &zone{Zone: law.Zone{Ref: h.Ref, View: k.View, Header: content.Header{FQDN: k.Name}}}
		}
		return err
	}); err != nil {
		return err
	}
	if err := m.eachKey(ctx, m.mem.Layout.Room("members"), func(kv *mvccpb.KeyValue) error {
		uid, owner, namespace, object, err := m.mem.Layout.ParseMember(string(kv.Key))
		z := zones[uid]
		if err != nil || z == nil || !owner.IsApex() {
			return err
		}
		c, err := m.readContribution(ctx, m.mem.Layout.Record(namespace, object))
		if err != nil || c == nil {
			return err
		}
		if namespace == z.Namespace {
			z.own.CountHosts(c, 1)
		} else {
			z.others.CountHosts(c, 1)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := m.rewriteValues(ctx, m.mem.Layout.Room("names"), func(_ string, value []byte) ([]byte, error) {
		v, err := layout.DecodeFact(law.Key{Kind: law.KindHolding}, value)
		if err != nil {
			return nil, err
		}
		h := v.(*law.Holding)
		z := zones[h.UID]
		if z == nil || maps.Equal(h.ApexHosts, z.own.ApexHosts) && h.Unknown == nil {
			return value, nil
		}
		h.ApexHosts = z.own.ApexHosts
		h.Unknown = nil // the hosts, and before them the values of MX, that stood there from format 4 on
		return layout.Encode(h), nil
	}); err != nil {
		return err
	}
	for _, z := range zones {
		maps.DeleteFunc(z.others.ApexHosts, func(host string, _ int) bool { return z.own.ApexHosts[host] > 0 })
		if len(z.others.ApexHosts) == 0 {
			continue
		}
		w := m.workOf(&z.Zone, fmt.Sprintf("hosts that others name at the apex of zone %s are not the zone's any more", z.FQDN()))
		w.Scans = []law.Scan{{Kind: law.ScanWaiting, View: z.View, Name: z.FQDN()},
			{Kind: law.ScanPending, Target: &law.Ref{Namespace: z.Namespace, Name: z.Name}, View: z.View, Name: z.FQDN()}}
		w.Zones = []law.Place{{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}} // for its own namespace to come first (S2.7)
		if err := m.putWork(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// readContribution returns what a record gives at the apex of its zone, nil where it is gone or cannot be read.
func (m *migrating) readContribution(ctx context.Context, key string) (*law.Contribution, error) {
	r, err := m.mem.Client.Get(ctx, key)
	if err != nil || len(r.Kvs) == 0 {
		return nil, err
	}
	o := &v1alpha1.Record{}
	if err := m.mem.Records.Decode(ctx, key, r.Kvs[0].Value, r.Kvs[0].ModRevision, o); err != nil {
		return nil, m.leaveOut(ctx, key, err)
	}
	record, err := objects.LawRecord(o)
	if err != nil {
		return nil, m.leaveOut(ctx, key, err)
	}
	return &law.Contribution{Owner: name.Apex, Type: record.Type, Values: record.Values}, nil
}
