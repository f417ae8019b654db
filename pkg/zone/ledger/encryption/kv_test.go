// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/zone/ledger/encryption"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// twins are an encrypting and a plain client of the same etcd, under /encrypted/ and /plain/.
type twins struct {
	t                *testing.T
	raw              *clientv3.Client
	plain, encrypted twin
}

type twin struct {
	*clientv3.Client
	root string
}

func newTwins(t *testing.T, key encryption.Key) *twins {
	t.Helper()
	client := store.New(t, store.Unchecked).Client.Client
	root := "/" + t.Name() + "/"
	encrypting := must.Get(encryption.NewClient(client, key, root+"encrypted/", root+"encrypted/config"))(t)
	return &twins{t, client, twin{client, root + "plain/"}, twin{encrypting, root + "encrypted/"}}
}

func (tw *twins) compareBoth(what string, do func(twin) string) {
	tw.t.Helper()
	if plain, encrypted := do(tw.plain), do(tw.encrypted); plain != encrypted {
		tw.t.Errorf("%s: plain\n%s\nencrypted\n%s", what, plain, encrypted)
	}
}

var keys = []string{"config", "journal/1/0001", "journal/1/0002", "names/@/org.", "names/@/org.example.", "names/@/org.example.www.", "outbox/1"}

func (x twin) fillKeys(ctx context.Context) {
	for _, key := range keys {
		store.Must(x.Put(ctx, x.root+key, "value of "+key))
	}
}

func (x twin) textOf(key, value []byte) string {
	return strings.TrimPrefix(string(key), x.root) + "=" + string(value)
}

func (x twin) getText(key string, opts ...clientv3.OpOption) string {
	r, err := x.Get(context.Background(), x.root+key, opts...)
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, kv := range r.Kvs {
		out = append(out, fmt.Sprintf("%s version %d", x.textOf(kv.Key, kv.Value), kv.Version))
	}
	return fmt.Sprint(strings.Join(out, "\n"), "\n", r.Count, r.More)
}

// An encrypting client answers like a plain one (guarantee 3 of the package), and etcd holds no plaintext value.
func TestKV_answersAsAPlainOne(t *testing.T) {
	tw := newTwins(t, encryption.NewKey(false))
	ctx := t.Context()
	tw.plain.fillKeys(ctx)
	tw.encrypted.fillKeys(ctx)
	for _, key := range append(slices.Clone(keys), "", "names/", "nothing") {
		tw.compareBoth("get "+key, func(x twin) string { return x.getText(key) })
		tw.compareBoth("prefix "+key, func(x twin) string { return x.getText(key, clientv3.WithPrefix()) })
		tw.compareBoth("keys of "+key, func(x twin) string { return x.getText(key, clientv3.WithPrefix(), clientv3.WithKeysOnly()) })
		tw.compareBoth("page of "+key, func(x twin) string { return x.getText(key, clientv3.WithPrefix(), clientv3.WithLimit(2)) })
		tw.compareBoth("backwards "+key, func(x twin) string {
			return x.getText(key, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend))
		})
	}
	tw.compareBoth("a transaction", func(x twin) string {
		never := clientv3.Compare(clientv3.CreateRevision(x.root+"names/@/org."), "=", 0)
		r := store.Must(x.Txn(ctx).If(never).Then(clientv3.OpPut(x.root+"outbox/1", "")).
			Else(clientv3.OpPut(x.root+"names/@/org.", "again", clientv3.WithPrevKV()), clientv3.OpGet(x.root+"names/", clientv3.WithPrefix()),
				clientv3.OpDelete(x.root+"outbox/1", clientv3.WithPrevKV())).Commit())
		var out []string
		for _, answer := range r.Responses {
			for _, kv := range slices.Concat(answer.GetResponseRange().GetKvs(), answer.GetResponseDeleteRange().GetPrevKvs()) {
				out = append(out, x.textOf(kv.Key, kv.Value))
			}
			if put := answer.GetResponsePut(); put != nil {
				out = append(out, "was "+x.textOf(put.PrevKv.Key, put.PrevKv.Value))
			}
		}
		return fmt.Sprint(r.Succeeded, strings.Join(out, "\n"))
	})
	tw.compareBoth("nested", func(x twin) string {
		r := store.Must(x.Do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{
			clientv3.OpPut(x.root+"names/@/com.", "nested"), clientv3.OpGet(x.root+"names/", clientv3.WithPrefix())}, nil)}, nil)))
		var out []string
		for _, kv := range r.Txn().Responses[0].GetResponseTxn().Responses[1].GetResponseRange().Kvs {
			out = append(out, x.textOf(kv.Key, kv.Value))
		}
		return strings.Join(out, "\n")
	})
	for _, kv := range store.Must(tw.raw.Get(ctx, tw.encrypted.root, clientv3.WithPrefix())).Kvs {
		value, config := string(kv.Value), strings.HasSuffix(string(kv.Key), "/config")
		if config != strings.Contains(value, "value of") || value == "again" || value == "nested" {
			t.Errorf("in etcd stands %s=%q", kv.Key, value)
		}
	}
	tw.compareBoth("delete", func(x twin) string {
		r := store.Must(x.Delete(ctx, x.root+"names/@/org.example.", clientv3.WithPrefix(), clientv3.WithPrevKV()))
		var out []string
		for _, kv := range r.PrevKvs {
			out = append(out, x.textOf(kv.Key, kv.Value))
		}
		return fmt.Sprint(r.Deleted, out, x.getText("", clientv3.WithPrefix()))
	})
}

func TestKV_streamsWhatIsNotEncrypted(t *testing.T) {
	tw := newTwins(t, encryption.NewKey(false))
	tw.plain.fillKeys(t.Context())
	tw.encrypted.fillKeys(t.Context())
	through := twin{tw.encrypted.Client, tw.plain.root}
	stream := must.Get(through.GetStream(t.Context(), through.root, clientv3.WithPrefix()))(t)
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
	for _, root := range []string{strings.TrimSuffix(tw.encrypted.root, "encrypted/"), tw.encrypted.root, tw.encrypted.root + "journal/", tw.encrypted.root + "outbox/1"} {
		if _, err := tw.encrypted.GetStream(t.Context(), root, clientv3.WithPrefix()); err == nil {
			t.Errorf("%s streams", root)
		}
	}
}

// A value decrypts only under the etcd key at which it was written, and equal values have different ciphertexts. A
// value that does not decrypt causes an error with the key's name. So does plaintext, unless the store was created
// without encryption. Compares of values are refused.
func TestKV_refuses(t *testing.T) {
	key := encryption.NewKey(false)
	tw := newTwins(t, key)
	x, ctx := tw.encrypted, t.Context()
	x.fillKeys(ctx)
	compares := []clientv3.Cmp{clientv3.Compare(clientv3.Value(x.root+"outbox/1"), "=", "value of outbox/1")}
	if _, err := x.Txn(ctx).If(compares...).Commit(); err == nil {
		t.Error("a value is compared")
	}
	if _, err := x.Do(ctx, clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpTxn(compares, nil, nil)}, nil)); err == nil {
		t.Error("a value is compared in a nested transaction")
	}

	// Move a value to another key, directly in etcd.
	one := store.Must(tw.raw.Get(ctx, x.root+"outbox/1")).Kvs[0]
	store.Must(tw.raw.Put(ctx, x.root+"journal/1/0002", string(one.Value)))
	if got := x.getText("journal/", clientv3.WithPrefix()); !strings.Contains(got, x.root+"journal/1/0002 does not decrypt") {
		t.Errorf("a moved value: %s", got)
	}
	if got := x.getText("journal/", clientv3.WithPrefix(), clientv3.WithKeysOnly()); !strings.Contains(got, "journal/1/0002=") {
		t.Errorf("its key alone: %s", got)
	}
	store.Must(x.Put(ctx, x.root+"outbox/1", "value of outbox/1"))
	if again := store.Must(tw.raw.Get(ctx, x.root+"outbox/1")).Kvs[0]; string(again.Value) == string(one.Value) {
		t.Error("equal values look equal")
	}
	for want, value := range map[string]string{"it is not encrypted": "{}", "it is cut off": string(one.Value[:20]),
		"message authentication failed": string(one.Value[:len(one.Value)-1]) + "x"} {
		store.Must(tw.raw.Put(ctx, x.root+"outbox/1", value))
		if got := x.getText("outbox/1"); !strings.Contains(got, "does not decrypt") || !strings.Contains(got, want) {
			t.Errorf("want %q: %s", want, got)
		}
	}
	// A store created without encryption may hold plaintext values, which are read. Damaged values still fail to
	// decrypt.
	key.Mixed = true
	mixed := must.Get(encryption.NewClient(tw.raw, key, x.root, x.root+"config"))(t)
	x.Client = mixed
	for value, want := range map[string]string{"{}": "outbox/1={}", string(one.Value): "outbox/1=value of outbox/1", string(one.Value[:20]): "does not decrypt"} {
		store.Must(tw.raw.Put(ctx, x.root+"outbox/1", value))
		if got := x.getText("outbox/1"); !strings.Contains(got, want) {
			t.Errorf("%q in a mixed store: %s", value, got)
		}
	}
}

// A watch delivers every write, and ends with the reason at a damaged value.
func TestWatcher_answersAsAPlainOne(t *testing.T) {
	tw := newTwins(t, encryption.NewKey(false))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watched := func(x twin, key string) clientv3.WatchChan {
		return x.Watch(ctx, x.root+key, clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	}
	for _, key := range []string{"", "names/@/org.example.", "journal/"} {
		tw.compareBoth("watch "+key, func(x twin) string {
			events := watched(x, key)
			<-events // created
			x.fillKeys(ctx)
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
						line += "was " + x.textOf(e.PrevKv.Key, e.PrevKv.Value) + " "
					}
					out = append(out, line+x.textOf(e.Kv.Key, e.Kv.Value))
				}
			}
			store.Must(x.Delete(ctx, x.root, clientv3.WithPrefix()))
			return strings.Join(out, "\n")
		})
	}
	events := watched(tw.encrypted, "journal/")
	<-events
	store.Must(tw.raw.Put(ctx, tw.encrypted.root+"journal/1/0003", "{}"))
	if r := <-events; r.Err() == nil || !strings.Contains(r.Err().Error(), "journal/1/0003 does not decrypt") {
		t.Errorf("an event that does not decrypt: %v", r.Err())
	}
	if _, more := <-events; more {
		t.Error("and the watch goes on")
	}
}

// A reader of a watch learns that a value does not decrypt, and goes on from the present. The log names the key, and
// not at each try.
func TestWatcher_endsAWatchThatWouldAlwaysFail(t *testing.T) {
	tw := newTwins(t, encryption.NewKey(false))
	x, lines := tw.encrypted, make(chan string, 100)
	log := funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
	ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), log), time.Minute)
	defer cancel()
	rev := store.Must(tw.raw.Put(ctx, x.root+"journal/1/0003", "{}")).Header.Revision
	after := store.Must(x.Put(ctx, x.root+"journal/1/0003", "repaired")).Header.Revision

	var seen []string
	take := func(events []*clientv3.Event) error {
		for _, e := range events {
			seen = append(seen, string(e.Kv.Value))
		}
		return nil
	}
	err := etcd.Watch(ctx, x.Client, x.root+"journal/", rev-1, take)
	if err == nil || !strings.Contains(err.Error(), "journal/1/0003 does not decrypt") || len(seen) > 0 {
		t.Fatalf("passed %q: %v", seen, err)
	}
	if len(lines) != 1 {
		t.Fatalf("logged %d lines", len(lines))
	}
	if line := <-lines; !strings.Contains(line, x.root+"journal/1/0003 does not decrypt") || !strings.Contains(line, "restore a backup") {
		t.Errorf("logged %s", line)
	}

	// The reader starts over behind the damaged value.
	done := errors.New("seen")
	store.Must(x.Put(ctx, x.root+"journal/1/0004", "next"))
	err = etcd.Watch(ctx, x.Client, x.root+"journal/", after, func(events []*clientv3.Event) error {
		return errors.Join(take(events), done)
	})
	if !errors.Is(err, done) || !slices.Equal(seen, []string{"next"}) {
		t.Errorf("afterwards %q: %v", seen, err)
	}
}
