// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/etcd"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// countGlue has parents count those children anew that they counted with a name server at or below the cut without an
// address, which they list no longer (S6.1). It writes the pending cut that a change of the child's name servers
// would leave.
func countGlue(ctx context.Context, m *migrating) error {
	zones := map[string]law.Place{}
	if err := m.eachKey(ctx, m.mem.Layout.Room("names"), func(kv *mvccpb.KeyValue) error {
		k, h, err := m.mem.Layout.DecodeName(string(kv.Key), kv.Value)
		if err == nil {
			zones[h.UID] = law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
		}
		return err
	}); err != nil {
		return err
	}
	return m.eachKey(ctx, m.mem.Layout.Room("cuts"), func(kv *mvccpb.KeyValue) error {
		of, uid, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), m.mem.Layout.Room("cuts")), "/")
		parent, child := zones[of], zones[uid]
		var cut law.CountedCut
		if err := json.Unmarshal(kv.Value, &cut); err != nil {
			return err
		}
		if parent.UID == "" || child.UID == "" || !lacksGlue(&cut, parent.FQDN, child.FQDN) {
			return nil
		}
		key := m.mem.Layout.PendingCut(parent.UID, child.UID)
		_, err := m.commitLocked(ctx, []clientv3.Cmp{etcd.Absent(key)}, etcd.OpPut(key, layout.Encode(law.PendingCut{Parent: parent.Ref, Child: child.Ref, View: child.View, FQDN: child.FQDN})))
		return err
	})
}

// lacksGlue reports whether a name server of the cut is at or below the child's name and has no address there.
func lacksGlue(cut *law.CountedCut, parent, child name.Name) bool {
	return slices.ContainsFunc(cut.Sets, func(s content.RRset) bool {
		return s.Type == rdata.NS && slices.ContainsFunc(s.Data, func(host string) bool {
			n, err := name.Parse(host)
			if err != nil || !child.Encloses(n) {
				return false
			}
			owner, _ := n.Rel(parent)
			return !slices.ContainsFunc(cut.Sets, func(s content.RRset) bool {
				return s.Owner == owner && (s.Type == rdata.A || s.Type == rdata.AAAA)
			})
		})
	})
}
