// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

type countedReads struct {
	clientv3.KV
	n int
}

func (c *countedReads) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	c.n++
	return c.KV.Get(ctx, key, opts...)
}

// openCursor iterates over a namespace's segments, newest first. It returns each key below the start once, for any
// distribution of times, even if some are in the future, and needs few range reads.
func TestCursor_hasEachKeyOnce(t *testing.T) {
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint}}))(t)
	defer client.Close()
	reads := &countedReads{KV: client.KV}
	client.KV = reads
	const now = 1_800_000_000
	a := &Archive{Client: client, Layout: layout.Keys{Prefix: "/p"}, Now: func() time.Time { return time.Unix(now, 0) }}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		ns := fmt.Sprint("team", seed)
		var all []string
		spread := []int64{1, 3, 100, 10_000, 30 * 86400}[seed%5]
		for i := range rnd.IntN(400) {
			at := now - rnd.Int64N(spread)
			if rnd.IntN(50) == 0 {
				at = now + rnd.Int64N(spread) // of a server whose clock is ahead
			}
			all = append(all, a.Layout.Segment(layout.SegmentKey{Account: ns, Zone: fmt.Sprint("z", i%3), Time: at, Last: uint64(i)}))
			must.Get(client.Put(t.Context(), all[i], "x"))(t)
		}
		slices.Sort(all)
		slices.Reverse(all)
		below := layout.SegmentKey{Account: ns, Time: maxTime}
		if len(all) > 0 && seed >= 10 { // a further page
			below, _ = a.Layout.ParseSegment(all[rnd.IntN(len(all))])
			all = slices.DeleteFunc(all, func(k string) bool { return strings.Compare(k, a.Layout.Segment(below)) >= 0 })
		}
		reads.n = 0
		d := must.Get(a.openCursor(t.Context(), below, 0))(t)
		var got []string
		for k := must.Get(d.nextKey(t.Context()))(t); k != nil; k = must.Get(d.nextKey(t.Context()))(t) {
			got = append(got, a.Layout.Segment(*k))
		}
		if !slices.Equal(got, all) {
			t.Errorf("seed %d: %d keys, want %d", seed, len(got), len(all))
		}
		if most := 16 + len(all)/4; reads.n > most {
			t.Errorf("seed %d: %d reads for %d keys, want at most %d", seed, reads.n, len(all), most)
		}
	}
}

func TestParsePlace_isBounded(t *testing.T) {
	for _, k := range []layout.SegmentKey{{Zone: "u", Time: 5, Last: 7}, {Time: maxTime}} {
		if got := must.Get(parsePlace(formatPlace(k)))(t); got != k {
			t.Errorf("%+v is read as %+v", k, got)
		}
	}
	for _, k := range []layout.SegmentKey{{Time: maxTime + 1}, {Time: -1}, {Zone: "a/b"}} {
		if got, err := parsePlace(formatPlace(k)); err == nil {
			t.Errorf("%+v is read as %+v", k, got)
		}
	}
}
