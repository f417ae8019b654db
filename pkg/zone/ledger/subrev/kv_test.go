// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// Each write of a transaction has a version of its own, which its response and later reads contain (guarantees 1, 2 and
// 4 of the package).
func TestKV_eachWriteOfATransactionHasAVersion(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	a, b, o, j := w.keyOf("pods", "ns/a"), w.keyOf("pods", "ns/b"), w.keyOf("others", "ns/o"), w.root+"/journal/1"
	first := store.Must(w.client.KV.Put(ctx, a, "one")).Header.Revision
	if _, sub := subrev.Split(first); sub != subrev.Last {
		t.Errorf("a lone write is at %d", sub)
	}
	r := store.Must(w.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(a), "=", first), clientv3.Compare(clientv3.ModRevision(b), "=", 0)).Then(
		clientv3.OpPut(b, "two", clientv3.WithPrevKV()), clientv3.OpPut(j, "step"), clientv3.OpPut(o, "other"), clientv3.OpDelete(a, clientv3.WithPrevKV()), clientv3.OpGet(w.root, clientv3.WithPrefix()),
	).Commit())
	header := r.Header.Revision
	if !r.Succeeded || header != first+subrev.Objects {
		t.Errorf("succeeded %v; header %d after %d", r.Succeeded, header, first)
	}
	for i, want := range []int64{header - 1, header, header, header} {
		got := r.Responses[i].GetResponsePut().GetHeader().GetRevision() + r.Responses[i].GetResponseDeleteRange().GetHeader().GetRevision()
		if got != want {
			t.Errorf("write %d has version %d, not %d", i, got, want)
		}
	}
	if was := r.Responses[3].GetResponseDeleteRange().PrevKvs[0]; was.ModRevision != first || string(was.Value) != "one" {
		t.Errorf("what was deleted: %v", was)
	}
	inside := r.Responses[4].GetResponseRange()
	after := store.Must(w.client.KV.Get(ctx, w.root, clientv3.WithPrefix()))
	for _, read := range [][]*mvccpb.KeyValue{inside.Kvs, after.Kvs} {
		var got []string
		for _, kv := range read {
			got = append(got, fmt.Sprintf("%s=%s %d %d", strings.TrimPrefix(string(kv.Key), w.root), kv.Value, kv.ModRevision-header, kv.CreateRevision-header))
		}
		if want := []string{"/journal/1=step 0 0", "/others/ns/o=other 0 0", "/pods/ns/b=two -1 -1"}; !slices.Equal(got, want) {
			t.Errorf("read: %q", got)
		}
	}
	if after.Header.Revision != header || inside.Header.Revision != header {
		t.Errorf("headers %d and %d, not %d", inside.Header.Revision, after.Header.Revision, header)
	}
	// Even within one transaction, an update differs from a creation.
	r = store.Must(w.client.Txn(ctx).Then(clientv3.OpPut(b, "three"), clientv3.OpPut(o, "again")).Commit())
	kv := store.Must(w.client.KV.Get(ctx, b)).Kvs[0]
	if kv.CreateRevision == kv.ModRevision || kv.CreateRevision != header || kv.ModRevision != r.Header.Revision {
		t.Errorf("created at %d, changed at %d", kv.CreateRevision, kv.ModRevision)
	}
	// A transaction without writes has the current version.
	if r := store.Must(w.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(b), "=", first)).Then(clientv3.OpDelete(b)).Else(clientv3.OpGet(b)).Commit()); r.Succeeded || r.Responses[0].GetResponseRange().Kvs[0].ModRevision != kv.ModRevision {
		t.Errorf("a transaction that lost: %v", r)
	}
	nested := store.Must(w.client.KV.Do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(b), "=", kv.ModRevision)}, []clientv3.Op{clientv3.OpPut(j, "more"), clientv3.OpGet(b)}, nil)}, nil))).Txn()
	inner := nested.Responses[0].GetResponseTxn()
	if !inner.Succeeded || inner.Responses[0].GetResponsePut().Header.Revision != nested.Header.Revision || inner.Responses[1].GetResponseRange().Kvs[0].ModRevision != kv.ModRevision {
		t.Errorf("nested: %v", nested)
	}
	if d := store.Must(w.client.KV.Delete(ctx, b, clientv3.WithPrevKV())); d.PrevKvs[0].ModRevision != kv.ModRevision {
		t.Errorf("deleted: %v", d)
	}
	if p := store.Must(w.client.KV.Put(ctx, o, "last", clientv3.WithPrevKV())); string(p.PrevKv.Value) != "again" || p.PrevKv.ModRevision != r.Header.Revision {
		t.Errorf("put over: %v", p)
	}
}

// A compare for equality with a version is exact, because a transaction writes a key once. A compare by order (<, >) is
// possible only at the end of a revision. Inside a revision it is refused, because etcd cannot compare sub-revisions. A
// read of keys alone has the version of the revision, which is equal.
func TestKV_compares(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	header := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"})
	a, none, journal := w.keyOf("pods", "ns/a"), w.keyOf("pods", "ns/none"), w.root+"/journal/1"
	step := store.Must(w.client.KV.Put(ctx, journal, "1")).Header.Revision
	version := header - 1 // of a
	if kv := store.Must(w.client.KV.Get(ctx, a, clientv3.WithKeysOnly())).Kvs[0]; kv.ModRevision != header {
		t.Errorf("the key alone has version %d, not %d", kv.ModRevision, header)
	}
	for _, c := range []struct {
		what  clientv3.Cmp
		holds bool
		error string
	}{
		{clientv3.Compare(clientv3.ModRevision(a), "=", version), true, ""},
		{clientv3.Compare(clientv3.ModRevision(a), "=", header), true, ""}, // of the key alone
		{clientv3.Compare(clientv3.ModRevision(a), "!=", version), false, ""},
		{clientv3.Compare(clientv3.ModRevision(a), "=", step), false, ""},
		{clientv3.Compare(clientv3.ModRevision(a), "=", 0), false, ""},
		{clientv3.Compare(clientv3.ModRevision(none), "=", 0), true, ""},
		{clientv3.Compare(clientv3.ModRevision(a), ">", 0), true, ""},
		{clientv3.Compare(clientv3.CreateRevision(a), "=", version), true, ""},
		{clientv3.Compare(clientv3.CreateRevision(a), "=", header), true, ""},
		{clientv3.Compare(clientv3.CreateRevision(none), ">", 0), false, ""},
		{clientv3.Compare(clientv3.Version(a), "=", 1), true, ""},
		{clientv3.Compare(clientv3.ModRevision(w.root), "<", step+1).WithPrefix(), true, ""}, // the ledger's question for newer keys
		{clientv3.Compare(clientv3.ModRevision(w.root), "<", header+1).WithPrefix(), false, ""},
		{clientv3.Compare(clientv3.ModRevision(w.root+"/none/"), "<", 1).WithPrefix(), true, ""}, // newer than 0: no key
		{clientv3.Compare(clientv3.ModRevision(w.root), "<", 1).WithPrefix(), false, ""},
		{clientv3.Compare(clientv3.ModRevision(journal), ">", header), true, ""},
		{clientv3.Compare(clientv3.ModRevision(journal), ">", step), false, ""},
		{clientv3.Compare(clientv3.Value(journal), "=", "1"), true, ""},
		{clientv3.Compare(clientv3.ModRevision(a), "<", version), false, "inside a revision"},
		{clientv3.Compare(clientv3.ModRevision(a), "<", header), false, "inside a revision"},
		{clientv3.Compare(clientv3.ModRevision(a), ">", version), false, "inside a revision"},
		{clientv3.Compare(clientv3.ModRevision(none), "=", 5), false, "the version of no write"}, // an etcd revision, divided, is 0
		{clientv3.Compare(clientv3.Value(a), "=", "1"), false, "value of an object"},
		{clientv3.Compare(clientv3.Value(w.root), "=", "1").WithPrefix(), false, "value of an object"},
	} {
		r, err := w.client.Txn(ctx).If(c.what).Commit()
		switch {
		case (err == nil) != (c.error == "") || err != nil && !strings.Contains(err.Error(), c.error):
			t.Errorf("%v: %v", c.what, err)
		case err == nil && r.Succeeded != c.holds:
			t.Errorf("%v: %v", c.what, r.Succeeded)
		}
	}
}

func TestKV_refuses(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	header := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"})
	a := w.keyOf("pods", "ns/a")
	before := store.Must(w.connectRaw().KV.Get(ctx, w.root)).Header.Revision
	txn := func(ops ...clientv3.Op) error { _, err := w.client.Txn(ctx).Then(ops...).Commit(); return err }
	get := func(opts ...clientv3.OpOption) error {
		_, err := w.client.KV.Get(ctx, w.root, append(opts, clientv3.WithPrefix())...)
		return err
	}
	_, streamed := w.client.KV.GetStream(ctx, w.root, clientv3.WithPrefix(), clientv3.WithMinModRev(header))
	for what, err := range map[string]error{
		"a deletion beside a put":                      txn(clientv3.OpPut(a, "2"), clientv3.OpDelete(w.keyOf("pods", "ns/b"))),
		"a read inside a revision in a transaction":    txn(clientv3.OpGet(a, clientv3.WithRev(header-1))),
		"such a read in one inside":                    txn(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(a, clientv3.WithRev(header-1))}, nil)),
		"objects in one inside":                        txn(clientv3.OpTxn(nil, nil, []clientv3.Op{clientv3.OpPut(a, "2")})),
		"a read inside a revision over both resources": get(clientv3.WithRev(header - 1)),
		"a range of modification":                      get(clientv3.WithMinModRev(header)),
		"a range of creation":                          get(clientv3.WithMaxCreateRev(header)),
		"a stream of a range of modification":          streamed,
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	// etcd refuses to write a key twice, so a key has a single version in a revision.
	if _, err := w.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(a), "=", header-1)).Then(clientv3.OpDelete(a), clientv3.OpPut(a, "2")).Commit(); !errors.Is(err, rpctypes.ErrDuplicateKey) {
		t.Errorf("a key twice: %v", err)
	}
	if after := store.Must(w.connectRaw().KV.Get(ctx, w.root)).Header.Revision; after != before {
		t.Errorf("refusals took etcd from revision %d to %d", before, after)
	}
}

// etcd's lock client asks for keys by the revision of their creation or change.
func TestKV_readsKeysThatAreNoObjectsByTheirVersions(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	room := w.root + "/journal/"
	var around []int64
	for i := range 3 {
		for _, key := range []string{fmt.Sprint(i), "changed"} {
			header := store.Must(w.client.KV.Put(ctx, room+key, "x")).Header.Revision
			around = append(around, header-1, header, header+1)
		}
	}
	all := store.Must(w.client.KV.Get(ctx, room, clientv3.WithPrefix())).Kvs
	for what, q := range map[string]struct {
		with  func(int64) clientv3.OpOption
		holds func(kv *mvccpb.KeyValue, version int64) bool
	}{
		"modified from":  {clientv3.WithMinModRev, func(kv *mvccpb.KeyValue, version int64) bool { return kv.ModRevision >= version }},
		"modified up to": {clientv3.WithMaxModRev, func(kv *mvccpb.KeyValue, version int64) bool { return kv.ModRevision <= version }},
		"created from":   {clientv3.WithMinCreateRev, func(kv *mvccpb.KeyValue, version int64) bool { return kv.CreateRevision >= version }},
		"created up to":  {clientv3.WithMaxCreateRev, func(kv *mvccpb.KeyValue, version int64) bool { return kv.CreateRevision <= version }},
	} {
		for _, version := range append(around, 1) {
			var want, got []string
			for _, kv := range all {
				if q.holds(kv, version) {
					want = append(want, string(kv.Key))
				}
			}
			for _, kv := range store.Must(w.client.KV.Get(ctx, room, clientv3.WithPrefix(), q.with(version))).Kvs {
				got = append(got, string(kv.Key))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s %d: %q, not %q", what, version, got, want)
			}
		}
	}
}

// A read at any version returns the writes up to this version, even inside a revision.
func TestKV_readsAtEachVersion(t *testing.T) {
	w := newWorld(t)
	w.fillWorld(1, countTransactions(), 12)
	all := crowd{at: make(chan struct{}, 32)} // etcd serves each read inside a revision in a turn for all of them
	checks := 0
	for _, resource := range []string{"pods", "others"} {
		for _, version := range w.listVersions(resource) {
			checks++
			all.Go(func() { w.checkReads(resource, version, 5) })
		}
	}
	all.Wait()
	if checks < 60 {
		t.Errorf("%d versions are read", checks)
	}
}

// A read inside a revision needs a watch to get the revision's writes. If the watch ends silently, as at shutdown, the
// read must fail, because it would otherwise return the state before the revision.
func TestKV_readsNothingInsideOfARevisionWithoutItsWrites(t *testing.T) {
	w := newWorld(t)
	header := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"})
	client, _ := w.connectReporting()
	must.Succeed(t, client.Watcher.Close())
	r, err := client.KV.Get(t.Context(), w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithRev(header-1))
	if err == nil {
		t.Errorf("%d of 1 objects, and no error", len(r.Kvs))
	}
}

// checkReads reads a resource at a version in every way: whole, by pages, keys only, as a count, by namespace, and by
// key.
func (w *world) checkReads(resource string, version int64, page int64) {
	w.t.Helper()
	ctx, prefix, want := context.Background(), w.prefixOf(resource), w.computeState(resource, version)
	names := slices.Sorted(maps.Keys(want))
	get := func(key string, opts ...clientv3.OpOption) *clientv3.GetResponse {
		r, err := w.client.KV.Get(ctx, key, append(opts, clientv3.WithRev(version))...)
		if err != nil {
			w.t.Errorf("%s at %d: %v", key, version, err)
			return &clientv3.GetResponse{}
		}
		return r
	}
	check := func(what string, got, want any) {
		if text, wanted := fmt.Sprint(got), fmt.Sprint(want); text != wanted {
			w.t.Errorf("%s of %s at %d:\n%s\nnot\n%s", what, resource, version, text, wanted)
		}
	}
	objects := func(kvs []*mvccpb.KeyValue) map[string]string {
		out := map[string]string{}
		for _, kv := range kvs {
			out[strings.TrimPrefix(string(kv.Key), prefix)] = fmt.Sprintf("%s@%d", kv.Value, kv.ModRevision)
		}
		return out
	}
	all := get(prefix, clientv3.WithPrefix())
	check("all", objects(all.Kvs), want)
	check("the order", slices.IsSortedFunc(all.Kvs, func(x, y *mvccpb.KeyValue) int { return strings.Compare(string(x.Key), string(y.Key)) }), true)
	check("the number", []any{all.Count, get(prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()).Count, all.More}, []any{len(want), len(want), false})
	keys := []string{}
	for _, kv := range get(prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly()).Kvs {
		keys = append(keys, strings.TrimPrefix(string(kv.Key), prefix)+string(kv.Value))
	}
	check("the keys", keys, names)
	ns1 := maps.Clone(want)
	maps.DeleteFunc(ns1, func(name, _ string) bool { return !strings.HasPrefix(name, "ns1/") })
	check("a namespace", objects(get(prefix+"ns1/", clientv3.WithPrefix()).Kvs), ns1)
	paged, from, left := map[string]string{}, prefix, len(want)
	for more := true; more; {
		r := get(from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(page))
		check("the rest of a page", []any{r.Count, r.More, int64(len(r.Kvs)) <= page}, []any{left, int64(left) > page, true})
		maps.Copy(paged, objects(r.Kvs))
		if more = r.More; more {
			from, left = string(r.Kvs[len(r.Kvs)-1].Key)+"\x00", left-len(r.Kvs)
		}
	}
	check("pages", paged, want)
	for _, name := range []string{"ns0/00", "ns1/07", "ns2/11"} {
		one := get(prefix + name)
		single := map[string]string{}
		if there, ok := want[name]; ok {
			single[name] = there
		}
		check(name, objects(one.Kvs), single)
	}
	stream, err := w.client.KV.GetStream(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(version))
	if err != nil {
		w.t.Errorf("stream at %d: %v", version, err)
		return
	}
	var kvs []*mvccpb.KeyValue
	for r := range stream {
		if r.Err() != nil {
			w.t.Errorf("stream at %d: %v", version, r.Err())
			return
		}
		kvs = append(kvs, r.Kvs...)
	}
	check("the stream", objects(kvs), want)
}

// A read at a version at which no object was written returns the state before, and waits only for etcd's progress. A
// future version gives etcd's own error, and a version before any write an empty result.
func TestKV_readsInsideWhatWroteNothing(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"})
	header := store.Must(w.client.KV.Put(ctx, w.root+"/journal/1", "x")).Header.Revision
	for _, version := range []int64{header - 100, header - 1, header} {
		if r, err := w.client.KV.Get(ctx, w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithRev(version)); err != nil ||
			len(r.Kvs) != 1 {
			t.Errorf("at %d: %v %v", version, r, err)
		}
	}
	if r := store.Must(w.client.KV.Get(ctx, w.root+"/journal/1", clientv3.WithRev(header-1))); len(r.Kvs) != 0 {
		t.Errorf("what is no object is not written inside: %v", r.Kvs)
	}
	if _, err := w.client.KV.Get(ctx, w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithRev(header+1_000_000)); !errors.Is(err,
		rpctypes.ErrFutureRev) {
		t.Errorf("what is to come: %v", err)
	}
	for _, version := range []int64{1, 127, 128, 200, 255} {
		if r, err := w.client.KV.Get(ctx, w.prefixOf("pods"), clientv3.WithPrefix(), clientv3.WithRev(version)); err != nil ||
			len(r.Kvs) != 0 {
			t.Errorf("at %d, before anything: %v %v", version, r, err)
		}
	}
}

// Values written before this package was used have no octet for the sub-revision, and are read as the last write of
// their revision. If a transaction writes two objects, the first is stored with the octet, which other programs would
// read as part of the value.
func TestKV_readsWhatWasWrittenBefore(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	plain := w.connectRaw()
	old := store.Must(plain.KV.Put(ctx, w.keyOf("pods", "ns/old"), "k8s\x00old")).Header.Revision
	kv := store.Must(w.client.KV.Get(ctx, w.keyOf("pods", "ns/old"))).Kvs[0]
	if string(kv.Value) != "k8s\x00old" || kv.ModRevision != subrev.Version(old, subrev.Last) {
		t.Errorf("%q at %d", kv.Value, kv.ModRevision)
	}
	w.commitWrites(write{resource: "pods", name: "ns/a", value: "k8s\x00a"}, write{resource: "pods", name: "ns/b", value: "k8s\x00b"})
	for name, want := range map[string]string{"ns/a": "\xfek8s\x00a", "ns/b": "k8s\x00b"} {
		if got := store.Must(plain.KV.Get(ctx, w.keyOf("pods", name))).Kvs[0].Value; string(got) != want {
			t.Errorf("%s stands as %q, not %q", name, got, want)
		}
	}
}

// After a compaction at a version, even inside a revision, reads at this version still succeed. Reads at earlier
// versions fail with ErrCompacted.
func TestKV_compacts(t *testing.T) {
	w, ctx := worldAlone(t), t.Context()
	w.fillWorld(2, 3, 8)
	header := w.commitWrites(write{resource: "pods", name: "ns/a", value: "1"}, write{resource: "pods", name: "ns/b", value: "1"})
	w.commitWrites(write{resource: "pods", name: "ns/c", value: "1"})
	store.Must(w.client.Compact(ctx, header-1))
	for _, version := range []int64{header - 1, header} {
		w.checkReads("pods", version, 3)
	}
	store.Must(w.client.Compact(ctx, header))
	w.checkReads("pods", header, 3)
	for _, opts := range [][]clientv3.OpOption{{clientv3.WithRev(header - 1)}, {clientv3.WithRev(header - 1), clientv3.WithLimit(1)}, {clientv3.WithRev(header - subrev.Objects)}} {
		if r, err := w.client.KV.Get(ctx, w.prefixOf("pods"), append(opts, clientv3.WithPrefix())...); !errors.Is(err,
			rpctypes.ErrCompacted) {
			t.Errorf("what is gone: %v %v", r, err)
		}
	}
	if _, err := w.client.Compact(ctx, header); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("again: %v", err)
	}
}
