// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build faultpoints

package faults

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const prefix = "/registry/kubizone"

func TestKindOf_followsFromTheKeys(t *testing.T) {
	const record, zone = prefix + "/kubi.zone/records/a/b", prefix + "/kubi.zone/zones/a/z"
	const journal, outbox, cut = prefix + "/ledger/journal/u/1", prefix + "/ledger/outbox/w", prefix + "/ledger/debts/p/c"
	put := func(key string) clientv3.Op { return clientv3.OpPut(key, "") }
	gone := func(key string) clientv3.Op { return clientv3.OpDelete(key) }
	at := func(key string) clientv3.Cmp { return clientv3.Compare(clientv3.ModRevision(key), "=", 7) }
	for _, c := range []struct {
		cmps []clientv3.Cmp
		then []clientv3.Op
		want string
	}{
		{nil, nil, ""},
		{nil, []clientv3.Op{clientv3.OpGet(zone)}, ""},
		{[]clientv3.Cmp{at(zone)}, []clientv3.Op{put(record), put(zone), put(journal)}, recordPut},
		{nil, []clientv3.Op{gone(record), put(zone), put(journal)}, recordDelete},
		{nil, []clientv3.Op{put(record)}, recordPlain},
		{nil, []clientv3.Op{put(zone), put(journal)}, zonePut},
		{nil, []clientv3.Op{gone(zone), put(journal)}, zoneDelete},
		{nil, []clientv3.Op{gone(zone), put(outbox)}, zoneDelete},
		{nil, []clientv3.Op{put(zone), put(outbox)}, cascadeFirst},
		{[]clientv3.Cmp{at(outbox)}, []clientv3.Op{put(record), put(zone), put(outbox)}, cascadeStep},
		{[]clientv3.Cmp{at(outbox)}, []clientv3.Op{put(zone), gone(outbox)}, cascadeLast},
		{nil, []clientv3.Op{put(zone), gone(cut)}, cutCounted},
		{nil, []clientv3.Op{put(record), gone(record + "-2"), put(zone), put(journal)}, batch},
		{[]clientv3.Cmp{at(outbox)}, []clientv3.Op{put(record), put(record + "-2"), put(zone), put(journal)}, cascadeStep},
		{nil, []clientv3.Op{gone(prefix + "/ledger/serials/@/org")}, otherWrite},
		{nil, []clientv3.Op{put(prefix + "/kubi.zone/dnsclasses/x")}, otherWrite},
	} {
		if have := kindOf(prefix, c.cmps, c.then); have != c.want {
			t.Errorf("%v: %q, want %q", c.then, have, c.want)
		}
	}
}
