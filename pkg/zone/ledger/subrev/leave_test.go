// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"context"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/test/must"
)

// leaving is a store whose caller leaves during a read.
type leaving struct {
	clientv3.KV
	leave func()
}

func (l leaving) Get(ctx context.Context, _ string, _ ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	l.leave()
	return nil, ctx.Err()
}

// A watcher that leaves while its events are being mapped must end without an error, because the storage would send the
// error to the client as the last event.
func TestWatch_thatItsCallerLeavesEndsWithoutAnError(t *testing.T) {
	m := must.Get(New("/records/"))(t)
	ctx, cancel := context.WithCancel(t.Context())
	k := &kv{KV: leaving{leave: cancel}, m: m}
	v := &view{m: m, requested: span{"/records/", "/records0"}, firstVersion: Version(7, Last), objects: true}
	r := clientv3.WatchResponse{Events: []*clientv3.Event{{Kv: &mvccpb.KeyValue{Key: []byte("/records/a"), Value: []byte("k"),
		ModRevision: 7}}}}
	if k.mapWatchResponse(ctx, v, &r) || r.Err() != nil {
		t.Errorf("the caller gets %v after it has left", r.Err())
	}
}
