// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// makeTransformer returns Kubernetes' transformer with the named secretbox keys, or "identity".
func makeTransformer(names ...string) value.Transformer {
	var providers []value.PrefixTransformer
	for _, name := range names {
		p := value.PrefixTransformer{Prefix: []byte("k8s:enc:secretbox:v1:" + name + ":"), Transformer: secretbox.NewSecretboxTransformer(sha256.Sum256([]byte(name)))}
		if name == "identity" {
			p = value.PrefixTransformer{Transformer: identity.NewEncryptCheckTransformer()}
		}
		providers = append(providers, p)
	}
	return value.NewPrefixTransformers(errors.New("no provider of the configuration reads it"), providers...)
}

// secrets are parts of a tenant's names and data that must not appear in values.
var secrets = []string{"quokka", "numbat", "bilby", "wombat", "echidna", "192.0.2.77", "192.0.2.53", "dingo"}

func writeStory(t *testing.T, st *store.Store) {
	t.Helper()
	a, b := st.Server(), st.Server()
	stop := a.Run()
	ctx := t.Context()
	store.Must(a.CreateRecord(ctx, store.Record("team", "early", "early.wombat.quokka.example.", "A", "192.0.2.77"))) // waits
	allowed := store.Allow("", "*", "*.bilby", "*.wombat", "*.dingo")
	allowed.Zones = []string{"*"}
	store.Must(a.CreateZone(store.Zone("platform", "top", "quokka.example.", allowed)))
	for i, at := range []string{"www.bilby", "mail.wombat", "bilby", "_echidna.bilby", "numbat"} {
		store.Must(b.CreateRecord(ctx, store.Record("team", fmt.Sprintf("r%d", i), at+".quokka.example.", "TXT", fmt.Sprintf("\"echidna %d\"", i))))
	}
	waiting := store.Record("team", "refers", "numbat", "A", "192.0.2.77")
	waiting.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "platform", Name: "below"}
	store.Must(b.CreateRecord(ctx, waiting))
	store.Must(b.CreateZone(store.Zone("platform", "below", "wombat.quokka.example.", store.Allow("", "*")))) // gains records, and has a parent
	st.Settle()
	if got := b.Record("team", "r1").Status.ZoneRef; got == nil || got.Name != "below" {
		t.Errorf("record r1 is of %v, want below", got)
	}
	if err := a.DeleteRecord(ctx, "team", "r1"); err != nil {
		t.Error(err)
	}
	store.Must(b.UpdateRecord(ctx, "team", "r0", func(r *v1alpha1.Record) { r.Spec.Values = []string{`"dingo"`} }))
	st.Settle()
	for _, want := range []struct{ name, zone string }{{"early", "below"}, {"refers", "below"}, {"r0", "top"}, {"r2", "top"}} {
		if got := b.Record("team", want.name).Status.ZoneRef; got == nil || got.Name != want.zone {
			t.Errorf("record %s is of %v, want %s", want.name, got, want.zone)
		}
	}
	if err := a.DeleteRecord(ctx, "team", "r0"); err != nil {
		t.Error(err)
	}
	if err := b.DeleteZone("platform", "below"); err != nil {
		t.Error(err)
	}
	st.Settle()
	stop()
	again := st.Server() // a restart
	defer again.Run()()
	store.Must(again.CreateRecord(ctx, store.Record("team", "late", "late.bilby.quokka.example.", "A", "192.0.2.77")))
	if _, err := again.CreateRecord(ctx, store.Record("other", "r0", "x.example.org.", "A", "192.0.2.77")); err != nil {
		t.Error(err)
	}
	st.Settle()
	st.MustBeClean()
}

// listSeen returns the number of values that the store has ever held, and the keys whose values contain a secret.
func listSeen(t *testing.T, st *store.Store) (events int, in map[string][]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	raw := st.Client.Client
	last := store.Must(raw.Put(ctx, st.Prefix+"/last", "")).Header.Revision
	in = map[string][]string{}
	for r := range raw.Watch(ctx, st.Prefix, clientv3.WithPrefix(), clientv3.WithRev(1)) {
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		for _, e := range r.Events {
			if e.Kv.ModRevision == last {
				return events, in
			}
			events++
			for _, secret := range secrets {
				if bytes.Contains(bytes.ToLower(e.Kv.Value), []byte(secret)) || net.ParseIP(secret) != nil && bytes.Contains(e.Kv.Key, []byte(secret)) {
					in[secret] = append(in[secret], string(e.Kv.Key))
				}
			}
		}
	}
	t.Fatal("the watch ended")
	return 0, nil
}

// As a control, the same writes without encryption reveal all secrets.
func TestEncryption_noValueInEtcdShowsData(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	plain := store.New(t)
	writeStory(t, plain)
	wanted, in := listSeen(t, plain)
	for _, secret := range secrets {
		if !strings.Contains(strings.Join(in[secret], " "), "/ledger/") {
			t.Errorf("without encryption nothing internal has %q: this test proves nothing of it", secret)
		}
	}
	st := store.New(t, store.Encrypted(makeTransformer("one")))
	writeStory(t, st)
	events, in := listSeen(t, st)
	for secret, keys := range in {
		t.Errorf("%q is in sight at %d keys: %.5q", secret, len(keys), keys)
	}
	if events < wanted/2 {
		t.Errorf("%d events, and %d without encryption: not the same story", events, wanted)
	}
}

func isEncrypted(t *testing.T, st *store.Store) bool {
	t.Helper()
	var config struct {
		Format int
		Key    []byte
	}
	kv := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Config())).Kvs[0]
	must.Succeed(t, json.Unmarshal(kv.Value, &config))
	if config.Format != ledger.Format {
		t.Errorf("format %d", config.Format)
	}
	return len(config.Key) > 0
}

func openStore(t *testing.T, st *store.Store, with value.Transformer) error {
	t.Helper()
	_, err := ledger.OpenStore(t.Context(), st.Client.Client, st.Prefix, with)
	_, read := ledger.ReadStore(t.Context(), st.Client.Client, st.Prefix, with)
	if (err == nil) != (read == nil) {
		t.Errorf("opening says %v, reading %v", err, read)
	}
	return err
}

// A server with the wrong key refuses to start, and so does an older program.
func TestEncryption_wrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Encrypted(makeTransformer("one")))
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.")))
	if !isEncrypted(t, st) {
		t.Error("it has no key")
	}
	for what, with := range map[string]value.Transformer{"no configuration": nil, "another key": makeTransformer("two"),
		"identity": makeTransformer("identity")} {
		if err := openStore(t, st, with); !errors.Is(err, ledger.ErrEncrypted) ||
			!strings.Contains(err.Error(), "--encryption-provider-config") {
			t.Errorf("%s: %v", what, err)
		}
		codec := store.Codec()
		codec.Transformer = with
		if _, err := ledger.Open(t.Context(), ledger.Config{Client: st.Client.Client, Prefix: st.Prefix, Zones: codec, Records: codec}); !errors.Is(err, ledger.ErrEncrypted) {
			t.Errorf("%s: open: %v", what, err)
		}
		if _, err := fsck.Run(t.Context(), fsck.Config{Client: st.Client.Client, Prefix: st.Prefix, Zones: codec, Records: codec}); !errors.Is(err, ledger.ErrEncrypted) {
			t.Errorf("%s: fsck: %v", what, err)
		}
	}
}

// Keys rotate as in Kubernetes' encryption configuration: add the new key, move it to the front, rewrite the objects,
// remove the old key. The same steps lead to a store without encryption and back. After each step the server can read
// all data, and fsck finds no damage.
func TestEncryption_rotatesAsUpstream(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Encrypted(makeTransformer("one")))
	store.Must(st.Server().CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("", "*"))))
	n := 0
	for _, step := range [][]string{{"one", "two"}, {"two", "one"}, {"two"}, {"identity", "two"}, {"identity"}, nil, {"identity", "three"}, {"three", "identity"}, {"three"}} {
		st.Encryption = nil
		if step != nil {
			st.Encryption = makeTransformer(step...)
		}
		s := st.Server()
		store.Must(s.CreateRecord(t.Context(), store.Record("team", fmt.Sprintf("r%d", n), fmt.Sprintf("r%d.example.org.", n), "A", "192.0.2.1")))
		n++
		// As with kubectl replace, an update without a change is still written.
		store.Must(s.WriteZone(t.Context(), "platform", "top", func(*v1alpha1.Zone) {}))
		for _, r := range s.ListRecords("") {
			same := func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) { return in, nil, nil }
			if err := s.Records.GuaranteedUpdate(t.Context(), store.Key("records", "team", r.Name), &v1alpha1.Record{}, false, nil, same, nil); err != nil {
				t.Error(err)
			}
		}
		st.MustBeClean()
		if t.Failed() {
			t.Fatalf("with the providers %q", step)
		}
	}
	if err := openStore(t, st, makeTransformer("one")); err == nil {
		t.Error("the first key opens it still")
	}
	if got := len(st.Server().ListRecords("")); got != n {
		t.Errorf("%d records of %d", got, n)
	}
}

// Encryption is configured for a store created without encryption.
func TestEncryption_comesLater(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "before", "numbat.example.org.", "A", "192.0.2.1")))
	if err := openStore(t, st, makeTransformer("identity", "one")); err != nil || isEncrypted(t, st) {
		t.Fatalf("with identity first nothing is encrypted: %v", err)
	}
	before := store.Must(st.Client.Client.Put(t.Context(), st.Prefix+"/mark", "")).Header.Revision

	st.Encryption = makeTransformer("one", "identity")
	ended := make(chan error, 1)
	go func() { ended <- s.Ledger.FollowFormat(t.Context()) }()
	later := st.Server()
	if err := <-ended; !errors.Is(err, ledger.ErrFormat) || !strings.Contains(err.Error(), "--encryption-provider-config") {
		t.Errorf("the server that reads no encrypted value goes on: %v", err)
	}
	store.Must(later.CreateRecord(t.Context(), store.Record("team", "after", "quokka.example.org.", "TXT", `"echidna"`)))
	if !isEncrypted(t, st) {
		t.Error("it has no key")
	}
	st.MustBeClean()
	keys := layout.Keys{Prefix: st.Prefix}
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), keys.Internal(), clientv3.WithPrefix())).Kvs {
		if kv.ModRevision > before && (bytes.Contains(kv.Value, []byte("echidna")) || bytes.HasPrefix(kv.Value, []byte("{")) && string(kv.Key) != keys.Config()) {
			t.Errorf("written since: %s = %s", kv.Key, kv.Value)
		}
	}
	if err := openStore(t, st, nil); !errors.Is(err, ledger.ErrEncrypted) {
		t.Errorf("without it again: %v", err)
	}
}

func TestEncryption_firstServersAgree(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Encrypted(makeTransformer("one")))
	var all sync.WaitGroup
	var clients [8]*clientv3.Client
	for i := range clients {
		all.Go(func() {
			clients[i] = store.Must(ledger.OpenStore(t.Context(), st.Client.Client, st.Prefix, st.Encryption))
		})
	}
	all.Wait()
	key := layout.Keys{Prefix: st.Prefix}.Room("serials") + "@/org.example."
	for i, writer := range clients {
		store.Must(writer.Put(t.Context(), key, fmt.Sprintf(`{"serial":%d}`, i+1)))
		for _, reader := range clients {
			if kvs := store.Must(reader.Get(t.Context(), key)).Kvs; len(kvs) != 1 || string(kvs[0].Value) != fmt.Sprintf(`{"serial":%d}`, i+1) {
				t.Fatalf("server %d wrote, another read %v", i, kvs)
			}
		}
	}
}
