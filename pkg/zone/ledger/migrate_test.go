// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func configOf(t *testing.T, st *store.Store) map[string]any {
	t.Helper()
	all := map[string]any{}
	kv := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Config())).Kvs[0]
	must.Succeed(t, json.Unmarshal(kv.Value, &all))
	return all
}

func expectFormat(t *testing.T, st *store.Store, format, least int) {
	t.Helper()
	if c := configOf(t, st); c["format"] != float64(format) || c["leastReader"] != float64(least) {
		t.Errorf("config says %v, not format %d and leastReader %d", c, format, least)
	}
}

func tryOpening(t *testing.T, st *store.Store, change ...func(*ledger.Config)) error {
	codec := store.Codec()
	codec.Transformer = st.Encryption
	config := ledger.Config{Client: st.Client.Client, Prefix: st.Prefix, Zones: codec, Records: codec}
	for _, f := range change {
		f(&config)
	}
	_, err := ledger.Open(t.Context(), config)
	return err
}

func TestMigrations_areNumberedWithoutAGap(t *testing.T) {
	t.Parallel()
	n := ledger.FirstFormat
	for _, number := range ledger.MigrationNumbers() {
		if n++; number != n {
			t.Errorf("migration %d stands in the place of %d", number, n)
		}
	}
	if n != ledger.Format {
		t.Errorf("the last migration is %d and Format %d", n, ledger.Format)
	}
}

// A program refuses to open a store in an unknown format, newer or too old. The program reads only the config key and
// writes nothing, and the error names the next step.
func TestOpen_refusesAStoreOfAnotherFormat(t *testing.T) {
	t.Parallel()
	for format, want := range map[int]string{
		ledger.Format + 1: "start a version that knows it",
		ledger.FirstFormat - 1: "the store is of format 23, and the first that this kubizone reads is 24: " +
			"start the kubizone that wrote it, export its zones",
		1: "the store is of format 1, and the first that this kubizone reads is 24",
	} {
		t.Run(fmt.Sprint("format ", format), func(t *testing.T) {
			t.Parallel()
			st := store.On(t, store.Fresh(t), "/registry/kubizone") // its revisions are this test's
			store.Unchecked(st)
			store.Must(st.Server().CreateZone(store.Zone("platform", "top", "example.org.")))
			st.SetFormat(format)
			rev := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision
			refused := map[string]error{"open": tryOpening(t, st), "check": ledger.CheckFormat(t.Context(), st.Client.Client, st.Prefix)}
			_, refused["open the store"] = ledger.OpenStore(t.Context(), st.Client.Client, st.Prefix, nil)
			_, refused["read"] = ledger.ReadStore(t.Context(), st.Client.Client, st.Prefix, nil)
			_, refused["fsck"] = fsck.Run(t.Context(), fsck.Config{Client: st.Client.Client, Prefix: st.Prefix, Zones: store.Codec(), Records: store.Codec()})
			for what, err := range refused {
				if !errors.Is(err, ledger.ErrFormat) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if now := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision; now != rev {
				t.Errorf("%d revisions were written", now-rev)
			}
		})
	}
}

func TestOpen_keepsTheFormatOfANewerProgram(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	must.Succeed(t, tryOpening(t, st, ledger.Migrations(ledger.Migration{Number: ledger.Format + 1, OldersMayWrite: true})))
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("platform", "top", "example.org.")))
	st.Encryption = makeTransformer("one", "identity") // which also writes the key
	store.Must(st.Server().WriteZone(t.Context(), "platform", "top", func(z *v1alpha1.Zone) { z.Labels = map[string]string{"a": "b"} }))
	if c := configOf(t, st); c["format"] != float64(ledger.Format+1) || c["key"] == nil || c["leastReader"] != float64(ledger.LeastReader()) {
		t.Errorf("config says %v", c)
	}
}

// markSerials returns a migration that appends a blank to each value of serials/, which remains valid JSON.
func markSerials(runs *atomic.Int64) ledger.Migration {
	return ledger.Migration{Number: ledger.Format + 1, Name: "blanks", Run: func(ctx context.Context, m *ledger.Migrating) error {
		runs.Add(1)
		return m.Rewrite(ctx, m.Layout().Room("serials"), func(_ string, value []byte) ([]byte, error) {
			return append(bytes.TrimSpace(value), ' '), nil
		})
	}}
}

func putSerials(t *testing.T, st *store.Store, n int) {
	t.Helper()
	room := layout.Keys{Prefix: st.Prefix}.Room("serials") + "@/test."
	for i := range n {
		store.Must(st.Client.Client.Put(t.Context(), fmt.Sprintf("%sn%04d.", room, i), `{"serial":7,"left":60,"until":0}`))
	}
}

func allMarked(t *testing.T, st *store.Store, n int) {
	t.Helper()
	kvs := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Room("serials"), clientv3.WithPrefix())).Kvs
	if len(kvs) != n {
		t.Errorf("%d keys of %d", len(kvs), n)
	}
	for _, kv := range kvs {
		if !bytes.HasSuffix(kv.Value, []byte("} ")) || kv.Version != 2 {
			t.Fatalf("%s = %q, version %d", kv.Key, kv.Value, kv.Version)
		}
	}
}

func TestMigrate_oneServerMigratesAndOthersWait(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	st.Server()
	putSerials(t, st, 20)
	var runs, opened atomic.Int64
	begun, goOn := make(chan struct{}), make(chan struct{})
	step := markSerials(&runs)
	run := step.Run
	step.Run = func(ctx context.Context, m *ledger.Migrating) error {
		close(begun) // panics if called twice
		<-goOn
		return run(ctx, m)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := tryOpening(t, st, ledger.Migrations(step)); err != nil {
				t.Error(err)
			}
			opened.Add(1)
		})
	}
	<-begun
	expectFormat(t, st, ledger.Format, ledger.Format+1) // before the migration
	if n := opened.Load(); n != 0 {
		t.Errorf("%d servers are open before the migration has ended", n)
	}
	close(goOn)
	all.Wait()
	expectFormat(t, st, ledger.Format+1, ledger.Format+1)
	if runs.Load() != 1 {
		t.Errorf("%d servers have carried it out", runs.Load())
	}
	allMarked(t, st, 20)
}

func TestMigrate_writesNothingWithoutTheLock(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	st.Server()
	putSerials(t, st, 150) // two transactions
	var runs, at atomic.Int64
	existing, goOn := make(chan struct{}), make(chan struct{})
	slow := func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "migration" && at.Add(1) == 2 {
				close(existing)
				<-goOn
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- tryOpening(t, st, ledger.Migrations(markSerials(&runs)), slow) }()
	<-existing
	locks := store.Must(st.Client.Client.Get(t.Context(), st.Prefix+"/migrating", clientv3.WithPrefix())).Kvs
	if len(locks) != 1 {
		t.Fatalf("%d locks", len(locks))
	}
	store.Must(st.Client.Client.Delete(t.Context(), string(locks[0].Key))) // like the end of its lease
	must.Succeed(t, tryOpening(t, st, ledger.Migrations(markSerials(&runs))))
	rev := store.Must(st.Client.Client.Get(t.Context(), "x")).Header.Revision
	close(goOn)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	written := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Internal(), clientv3.WithPrefix(), clientv3.WithMinModRev(rev+1))).Kvs
	if len(written) > 0 {
		t.Errorf("it has written %s", written[0].Key)
	}
	allMarked(t, st, 150)
}

func TestMigrate_takesOverFromADeadServer(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Unchecked)
	st.Server()
	putSerials(t, st, 10)
	dying := store.Must(st.Connect())
	existing := make(chan struct{})
	var runs atomic.Int64
	go func() {
		_ = tryOpening(t, st, ledger.Migrations(markSerials(&runs)), func(c *ledger.Config) {
			c.Client = dying
			c.OnFault = func(point string) {
				if point == "migration" {
					dying.Close()
					close(existing)
					<-t.Context().Done()
				}
			}
		})
	}()
	<-existing
	must.Succeed(t, tryOpening(t, st, ledger.Migrations(markSerials(&runs))))
	allMarked(t, st, 10)
}

// If older programs must not see the result of a migration, older servers end before the migration runs, and refuse
// writes from then on. Otherwise older servers continue.
func TestMigrate_endsOlderServersFirst(t *testing.T) {
	t.Parallel()
	for _, may := range []bool{true, false} {
		t.Run(fmt.Sprint("may write: ", may), func(t *testing.T) {
			st := store.New(t, store.Unchecked)
			older := st.Server()
			ended := make(chan error, 1)
			go func() { ended <- older.Ledger.FollowFormat(t.Context()) }()
			step := ledger.Migration{Number: ledger.Format + 1, OldersMayWrite: may, Run: func(ctx context.Context, m *ledger.Migrating) error {
				if may {
					return nil
				}
				select {
				case err := <-ended:
					if !errors.Is(err, ledger.ErrFormat) {
						t.Errorf("it ends with %v", err)
					}
					// Accepted requests still get an answer, but write nothing.
					if _, err := older.CreateZone(store.Zone("platform", "late", "late.test.")); !errors.Is(err, ledger.ErrFormat) ||
						!apierrors.IsServiceUnavailable(err) || !suggestsDelay(err) {
						t.Errorf("it writes: %v", err)
					}
				case <-time.After(time.Minute):
					t.Error("the older server runs while the store is migrated")
				}
				return nil
			}}
			must.Succeed(t, tryOpening(t, st, ledger.Migrations(step)))
			if may {
				store.Must(older.CreateZone(store.Zone("platform", "top", "example.org.")))
				select {
				case err := <-ended:
					t.Errorf("it ends with %v", err)
				default:
				}
			}
		})
	}
}

// The zones' own transactions release the records, and fsck finds no damage. No zone is held, because its namespace has
// removed nothing (S7.5).
func TestMigrate_enqueuesOrdinaryWork(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	top := store.Zone("platform", "top", "example.org.", store.Allow("platform", "*", "b"))
	top.Spec.Limits = nil
	store.Must(s.CreateZone(top))
	stop := s.Run()
	st.Settle()
	stop()
	for i := range 12 {
		name := fmt.Sprint("a", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("platform", name, name+".example.org.", "A", "192.0.2.1")))
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("platform", "b", "b.example.org.", "A", "192.0.2.1")))
	before := s.Zone("platform", "top")
	// Remove a rule directly in etcd, as if an earlier format had allowed more.
	keys := layout.Keys{Prefix: st.Prefix}
	key := keys.Zone("platform", "top")
	kv := store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0]
	old := &v1alpha1.Zone{}
	must.Succeed(t, store.Codec().Decode(t.Context(), key, kv.Value, kv.ModRevision, old))
	old.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("platform", "b")}
	store.Must(st.Client.Client.Put(t.Context(), key, string(store.Must(runtime.Encode(store.Codec().Codec, old)))))
	step := ledger.Migration{Number: ledger.Format + 1, Name: "less is allowed", OldersMayWrite: true, Run: func(ctx context.Context, m *ledger.Migrating) error {
		z, err := lawform.Zone(old)
		if err != nil {
			return err
		}
		for range 2 { // as after a kill
			if err := m.Enqueue(ctx, z, "less is allowed", law.Scan{Kind: law.ScanMembers, Zone: z.UID, Owner: name.Apex}); err != nil {
				return err
			}
		}
		return nil
	}}
	next := st.Server(ledger.Migrations(step))
	if r := st.Fsck(); !r.Clean() || r.Pending.Total == 0 || !strings.Contains(store.Text(r), "less is allowed") {
		t.Errorf("before the work is done: %s", store.Text(r))
	}
	next.Run()
	st.Settle()
	for _, r := range next.ListRecords("platform") {
		if (r.Status.ZoneRef != nil) != (r.Name == "b") {
			t.Errorf("%s: %+v", r.Name, r.Status)
		}
	}
	if z := next.Zone("platform", "top"); z.Status.Serial <= before.Status.Serial || z.Status.SettledSerial != z.Status.Serial || z.Status.Hash == before.Status.Hash {
		t.Errorf("serial %d after %d, settled %d", z.Status.Serial, before.Status.Serial, z.Status.SettledSerial)
	}
}

func suggestsDelay(err error) bool {
	_, ok := apierrors.SuggestsClientDelay(err)
	return ok
}
