// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/ledger/sealed"
	"kubi.zone/kubizone/test/store"
)

// twins are two clients of one etcd: what the plain one does under /plain/ the
// sealing one does under /sealed/, and both must see the same.
type twins struct {
	t             *testing.T
	raw           *clientv3.Client
	plain, sealed twin
}

type twin struct {
	*clientv3.Client
	root string
}

func labelsIn(root string) func(string) int {
	return func(key string) int {
		rest, ok := strings.CutPrefix(key, root+"names/")
		_, labels, has := strings.Cut(rest, "/")
		if !ok || !has {
			return -1
		}
		return len(key) - len(labels)
	}
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	client := store.New(t, store.Unchecked).Client.Client
	root := "/" + t.Name() + "/"
	seal, err := sealed.New(sealed.Layout{
		Prefix: root + "sealed/", Except: root + "sealed/config", Labels: labelsIn(root + "sealed/"),
	}, sealed.NewKeys(true))
	if err != nil {
		t.Fatal(err)
	}
	return &twins{t, client, twin{client, root + "plain/"}, twin{seal.Client(client), root + "sealed/"}}
}

// both runs something at both and compares what it says.
func (tw *twins) both(what string, do func(twin) string) {
	tw.t.Helper()
	if plain, sealed := do(tw.plain), do(tw.sealed); plain != sealed {
		tw.t.Errorf("%s: plain\n%s\nsealed\n%s", what, plain, sealed)
	}
}

var keys = []string{
	"config", "journal/1/0001", "journal/1/0002", "names/@/", "names/@/net.", "names/@/net.example.", "names/@/org.", "names/@/org.example.",
	"names/@/org.example.www.", "names/@/org.examples.", "names/@/org.example./r/ns/a", "names/@/org.example./r/ns/b", "names/@//r/ns/a", "names/in/org.example.", "outbox/1",
}

func (x twin) fill(ctx context.Context) {
	for _, key := range keys {
		store.Must(x.Put(ctx, x.root+key, "value of "+key))
	}
}

func (x twin) text(key, value []byte) string {
	return strings.TrimPrefix(string(key), x.root) + "=" + string(value)
}

func (x twin) get(key string, opts ...clientv3.OpOption) string {
	r, err := x.Get(context.Background(), x.root+key, opts...)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, kv := range r.Kvs {
		out = append(out, fmt.Sprintf("%s version %d", x.text(kv.Key, kv.Value), kv.Version))
	}
	return fmt.Sprint(strings.Join(out, "\n"), "\n", r.Count, r.More)
}

// Promise 4, and that nothing of it stands in etcd as it is.
func TestKV_answersAsAPlainOne(t *testing.T) {
	tw := newTwins(t)
	ctx := t.Context()
	tw.plain.fill(ctx)
	tw.sealed.fill(ctx)
	for _, key := range append(slices.Clone(keys), "", "names/", "names/@/org.example./", "names/@/com.", "nothing") {
		tw.both("get "+key, func(x twin) string { return x.get(key) })
		tw.both("prefix "+key, func(x twin) string { return x.get(key, clientv3.WithPrefix()) })
		tw.both("keys of "+key, func(x twin) string { return x.get(key, clientv3.WithPrefix(), clientv3.WithKeysOnly()) })
		tw.both("count "+key, func(x twin) string { return x.get(key, clientv3.WithPrefix(), clientv3.WithCountOnly()) })
		tw.both("pages of "+key, func(x twin) string { return x.pages(ctx, key) })
		// Everything below was written before: no younger revision is there.
		tw.both("compare "+key, func(x twin) string {
			now := store.Must(x.Get(ctx, x.root+"config")).Header.Revision
			r := store.Must(x.Txn(ctx).If(
				clientv3.Compare(clientv3.ModRevision(x.root+key), "<", now+1).WithPrefix(), clientv3.Compare(clientv3.CreateRevision(x.root+"names/@/org."), ">", 0),
			).Then(clientv3.OpPut(x.root+"names/@/org.example.", "again", clientv3.WithPrevKV()), clientv3.OpGet(x.root+"names/@/org.example.", clientv3.WithPrefix())).
				Else(clientv3.OpGet(x.root+"names/@/", clientv3.WithPrefix())).Commit())
			later := store.Must(x.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(x.root+key), "<", now+1).WithPrefix()).
				Then(clientv3.OpGet(x.root + "names/@/org.")).Else(clientv3.OpGet(x.root + "names/@/org.example.")).Commit())
			var out []string
			for _, answer := range append(r.Responses, later.Responses...) {
				if put := answer.GetResponsePut(); put != nil {
					out = append(out, "was "+x.text(put.PrevKv.Key, put.PrevKv.Value))
				}
				for _, kv := range answer.GetResponseRange().GetKvs() {
					out = append(out, x.text(kv.Key, kv.Value))
				}
			}
			return fmt.Sprint(r.Succeeded, later.Succeeded, strings.Join(out, "\n"))
		})
	}
	tw.both("journal backwards", func(x twin) string {
		return x.get("journal/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend), clientv3.WithLimit(1))
	})
	for _, kv := range store.Must(tw.raw.Get(ctx, tw.sealed.root, clientv3.WithPrefix())).Kvs {
		key, value := strings.TrimPrefix(string(kv.Key), tw.sealed.root), string(kv.Value)
		if key == "config" {
			if value != "value of config" {
				t.Errorf("config is %q", value)
			}
			continue
		}
		if strings.Contains(value, "value of") || value == "again" || strings.Contains(key, "example") || strings.Contains(key, "org.") || strings.Contains(key, "net.") {
			t.Errorf("in etcd stands %s=%q", key, value)
		}
	}
	tw.both("delete", func(x twin) string {
		r := store.Must(x.Delete(ctx, x.root+"names/@/org.example.", clientv3.WithPrefix(), clientv3.WithPrevKV()))
		var out []string
		for _, kv := range r.PrevKvs {
			out = append(out, x.text(kv.Key, kv.Value))
		}
		slices.Sort(out)
		return fmt.Sprint(r.Deleted, out, x.get("", clientv3.WithPrefix()))
	})
	tw.both("nested", func(x twin) string {
		r := store.Must(x.Do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(x.root+"names/", clientv3.WithPrefix())}, nil)}, nil)))
		var out []string
		for _, kv := range r.Txn().Responses[0].GetResponseTxn().Responses[0].GetResponseRange().Kvs {
			out = append(out, x.text(kv.Key, kv.Value))
		}
		return strings.Join(out, "\n")
	})
}

// pages reads a prefix two keys at a time; what it found, in the order of keys.
func (x twin) pages(ctx context.Context, key string) string {
	var out []string
	from, end := x.root+key, clientv3.GetPrefixRangeEnd(x.root+key)
	for {
		r := store.Must(x.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(2)))
		for _, kv := range r.Kvs {
			out = append(out, x.text(kv.Key, kv.Value))
		}
		if !r.More {
			slices.Sort(out)
			return strings.Join(out, "\n")
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

func TestKV_streamsWhatIsNotSealed(t *testing.T) {
	tw := newTwins(t)
	tw.plain.fill(t.Context())
	tw.sealed.fill(t.Context())
	through := twin{tw.sealed.Client, tw.plain.root}
	stream, err := through.GetStream(t.Context(), through.root, clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for r := range stream {
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		got += len(r.Kvs)
	}
	if got != len(keys) {
		t.Errorf("%d keys of %d", got, len(keys))
	}
	for _, root := range []string{strings.TrimSuffix(tw.sealed.root, "sealed/"), tw.sealed.root, tw.sealed.root + "journal/", tw.sealed.root + "outbox/1"} {
		if _, err := tw.sealed.GetStream(t.Context(), root, clientv3.WithPrefix()); err == nil {
			t.Errorf("%s streams", root)
		}
	}
}

// Promises 3 and 5
func TestKV_refuses(t *testing.T) {
	tw := newTwins(t)
	x, ctx := tw.sealed, t.Context()
	x.fill(ctx)
	do := func(ops ...clientv3.Op) error {
		_, err := x.Txn(ctx).Then(ops...).Commit()
		return err
	}
	value := clientv3.Compare(clientv3.Value(x.root+"outbox/1"), "=", "value of outbox/1")
	_, compared := x.Txn(ctx).If(value).Commit()
	_, streamed := x.GetStream(ctx, x.root, clientv3.WithPrefix())
	_, sorted := x.Get(ctx, x.root+"names/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
	for what, err := range map[string]error{
		"a value compared": compared, "a stream": streamed, "names sorted": sorted,
		"half a label read":            do(clientv3.OpGet(x.root+"names/@/or", clientv3.WithPrefix())),
		"half a label written":         do(clientv3.OpPut(x.root+"names/@/or", "")),
		"half a label deleted":         do(clientv3.OpDelete(x.root+"names/@/or", clientv3.WithPrefix())),
		"everything from a name on":    do(clientv3.OpGet(x.root+"names/@/org.", clientv3.WithFromKey())),
		"a nested range between names": do(clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpGet(x.root+"names/@/net.", clientv3.WithRange(x.root+"names/@/org."))}, nil)),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}

	// One value is moved to another key, in etcd itself.
	one := store.Must(tw.raw.Get(ctx, x.root+"outbox/1")).Kvs[0]
	store.Must(tw.raw.Put(ctx, x.root+"journal/1/0002", string(one.Value)))
	if got := x.get("journal/", clientv3.WithPrefix()); !strings.Contains(got, x.root+"journal/1/0002 does not decrypt") {
		t.Errorf("a moved value: %s", got)
	}
	if got := x.get("journal/", clientv3.WithPrefix(), clientv3.WithKeysOnly()); !strings.Contains(got, "journal/1/0002=") {
		t.Errorf("its key alone: %s", got)
	}
	store.Must(tw.raw.Put(ctx, x.root+"names/@/org.", "{}"))
	if got := x.get("names/", clientv3.WithPrefix()); !strings.Contains(got, "was not made with the keys of this store") {
		t.Errorf("a name that is not sealed: %s", got)
	}
}

// Promise 5: a watch sees what was written, and ends with the reason at what it cannot open.
func TestWatcher_answersAsAPlainOne(t *testing.T) {
	tw := newTwins(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watched := func(x twin, key string) clientv3.WatchChan {
		return x.Watch(ctx, x.root+key, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	}
	for _, key := range []string{"", "names/@/", "names/@/org.example.", "journal/"} {
		tw.both("watch "+key, func(x twin) string {
			events := watched(x, key)
			<-events // created
			x.fill(ctx)
			store.Must(x.Delete(ctx, x.root+"names/@/org.example.www."))
			store.Must(x.Put(ctx, x.root+"journal/1/0002", "last"))
			store.Must(x.Put(ctx, x.root+"names/@/org.example.last.", "last"))
			var out []string
			for !slices.ContainsFunc(out, func(line string) bool {
				return strings.HasSuffix(line, "=last") && (key == "journal/" || strings.Contains(line, "names"))
			}) {
				r, ok := <-events
				if !ok || r.Err() != nil {
					return fmt.Sprint("closed: ", r.Err())
				}
				for _, e := range r.Events {
					line := e.Type.String() + " "
					if e.PrevKv != nil {
						line += "was " + x.text(e.PrevKv.Key, e.PrevKv.Value) + " "
					}
					out = append(out, line+x.text(e.Kv.Key, e.Kv.Value))
				}
			}
			store.Must(x.Delete(ctx, x.root, clientv3.WithPrefix()))
			return strings.Join(out, "\n")
		})
	}
	events := watched(tw.sealed, "journal/")
	<-events
	store.Must(tw.raw.Put(ctx, tw.sealed.root+"journal/1/0003", "{}"))
	if r := <-events; r.Err() == nil || !strings.Contains(r.Err().Error(), "journal/1/0003 does not decrypt") {
		t.Errorf("an event that does not decrypt: %v", r.Err())
	}
	if _, more := <-events; more {
		t.Error("and the watch goes on")
	}
	if r := <-tw.sealed.Watch(ctx, tw.sealed.root+"names/@/or", clientv3.WithPrefix()); r.Err() == nil {
		t.Error("half a label is watched")
	}
}
