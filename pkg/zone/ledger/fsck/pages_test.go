// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

// loads counts the keys that etcd loads for the reads in a room: those returned or, for an order other than ascending
// keys, those of the whole range.
type loads struct {
	clientv3.KV
	room string
	keys int64
}

func (l *loads) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	r, err := l.KV.Do(ctx, op)
	if got := r.Get(); got != nil && strings.HasPrefix(string(op.KeyBytes()), l.room) {
		n := int64(len(got.Kvs))
		if op.IsSortSet() {
			n = got.Count
		}
		l.keys += n
	}
	return r, err
}

// A check reads a journal of several pages in time proportional to the journal, each key once.
func TestRun_readsALongJournalInLinearTime(t *testing.T) {
	st := store.New(t, store.Unchecked)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	room, n := layout.Keys{Prefix: st.Prefix}.Room("journal"), 10_000
	// The keys of two zones that are gone lie before and behind the keys of the zone, whose UID is hexadecimal.
	for i := 0; i < n; i += 100 {
		var ops []clientv3.Op
		for j := i; j < i+100; j++ {
			ops = append(ops, clientv3.OpPut(fmt.Sprintf("%s%s/%016x", room, []string{"-gone", "gone"}[j%2], j), "{}"))
		}
		store.Must(st.Client.Client.Txn(t.Context()).Then(ops...).Commit())
	}

	loads := &loads{KV: st.Client.Client.KV, room: room}
	st.Client.Client.KV = loads
	r := st.Fsck()
	// A zone that is gone is reported once, at its newest key.
	if r.Damage.Total != 2 || r.Steps != 1 || r.Damage.List[0].Key != fmt.Sprintf("%s-gone/%016x", room, n-2) {
		t.Errorf("%s", store.Text(r))
	}
	if most := 2 * int64(n+2); loads.keys > most {
		t.Errorf("etcd loaded %d keys, at most %d are needed", loads.keys, most)
	}
}
