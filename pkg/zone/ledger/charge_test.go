// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/etcd"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

type bill struct {
	mu sync.Mutex
	of map[string]int
}

func (b *bill) chargeNamespace(namespace string, octets int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string]int{}
	}
	b.of[namespace] += octets
}

func (b *bill) takeBill() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := b.of
	b.of = nil
	return of
}

func meterClient(b *bill) func(*ledger.Config) {
	return func(c *ledger.Config) {
		least := etcd.Least{Below: c.Prefix + "/kubi.zone/", Octets: install.MaxCompressed}
		replaceKV(func(kv clientv3.KV) clientv3.KV { return etcd.MeterKV(kv, least, b.chargeNamespace) })(c)
	}
}

// The namespace of a write pays for all octets caused by the write: in another namespace's zone, in a parent whose
// delegation changes, and in the cascade. Refusals are free.
func TestMetered_theWriterPays_S9_2(t *testing.T) {
	t.Parallel()
	var b bill
	st := store.New(t)
	s := st.Server(meterClient(&b))
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "fat", "example.org.", store.Allow("team-b", "*"), store.Allow("team-a", "*"), v1alpha1.DelegationRule{Namespace: "team-c", Zones: []string{"*"}})))
	fatten := func(z *v1alpha1.Zone) {
		for i := range 300 {
			z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team-z", fmt.Sprintf("%04d%s", i, strings.Repeat("x", 50))))
		}
	}
	store.Must(s.UpdateZone("infra", "fat", fatten))
	st.Settle()
	zone := s.Zone("infra", "fat")
	octets := zone.Spec.Size()
	b.takeBill()
	only := func(what, namespace string, least, most int) {
		t.Helper()
		if of := b.takeBill(); len(of) != 1 || of[namespace] < least || of[namespace] > most {
			t.Errorf("%s: %v, want %d to %d of %s", what, of, least, most, namespace)
		}
	}
	store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.1")))
	only("a record in a large zone of another", "team-b", octets, octets+8<<10)
	if _, err := s.CreateRecord(t.Context(), store.Record("team-x", "www", "www.example.org.", "A", "192.0.2.1")); err == nil ||
		len(b.takeBill()) > 0 {
		t.Errorf("a refusal costs, or there is none: %v", err)
	}
	store.Must(s.UpdateRecord(t.Context(), "team-b", "www", func(r *v1alpha1.Record) { r.Labels = map[string]string{"a": "b"} }))
	only("metadata", "team-b", install.MaxCompressed, 4<<10) // although compressed
	kid := store.Zone("team-c", "kid", "kid.example.org.", store.Allow("team-c", "*"))
	store.Must(s.CreateZone(kid))
	st.Settle()
	only("a child zone, counted in its parent", "team-c", octets, 3*octets)

	// A batch writes the zone once, and the writers in the batch share the charge.
	g := &gate{}
	batch := st.Server(meterClient(&b), func(c *ledger.Config) { c.OnFault = g.passPoint })
	b.takeBill()
	writes := map[string]func() error{}
	for i := range 10 {
		writes[fmt.Sprint("b", i)] = func() error {
			_, err := batch.CreateRecord(context.Background(), store.Record("team-b", fmt.Sprint("b", i), fmt.Sprintf("b%d.example.org.", i), "A", "192.0.2.1"))
			return err
		}
	}
	for name, err := range writeTogetherIn(t, batch, g, "fat", writes) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if of := b.takeBill(); of["team-b"] > octets+64<<10 || of["team-b"] < 10*1000 || len(of) != 2 {
		t.Errorf("ten records in one batch, beside one of team-a: %v, the zone has %d octets", of, octets)
	}

	// The owner that withdraws a rule pays for the cascade.
	store.Must(s.UpdateZone("infra", "fat", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[1:] }))
	st.Settle()
	if of := b.takeBill(); of["team-b"] > 0 || of["infra"] < 2*octets {
		t.Errorf("a cascade: %v", of)
	}
}

type sizes struct {
	mu      sync.Mutex
	of      map[string]int64
	counted int
}

func (s *sizes) BeginCount() { s.mu.Lock(); s.of = map[string]int64{}; s.mu.Unlock() }
func (s *sizes) EndCount()   { s.mu.Lock(); s.counted++; s.mu.Unlock() }
func (s *sizes) Add(namespace string, octets int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[namespace] += octets; s.of[namespace] == 0 {
		delete(s.of, namespace)
	}
}

func (s *sizes) readSizes() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := map[string]int64{}
	for namespace, octets := range s.of {
		of[namespace] = octets
	}
	return of
}

// The Records and Zones of a namespace count as stored, both at a server that starts and at one that runs, and the
// estimate for the ledger's own keys is about right.
func TestFollowSizes_S9_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	s.Run()
	early := &sizes{}
	go s.Ledger.FollowSizes(t.Context(), early)
	store.Eventually(t, "the empty store is counted", func() bool { early.mu.Lock(); defer early.mu.Unlock(); return early.counted > 0 })
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	for i := range 20 {
		name := fmt.Sprintf("r%d", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("team-a", name, name+".example.org.", "A", "192.0.2.1")))
	}
	for i := range 4 {
		name := fmt.Sprintf("fat%d", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("team-b", name, name+".example.org.", "TXT", makeFatValues("x", i)...)))
		store.Must(s.UpdateRecord(t.Context(), "team-b", name, func(r *v1alpha1.Record) { r.Spec.Values = r.Spec.Values[:1] }))
	}
	for i := range 10 {
		var values []string
		for j := range 100 {
			values = append(values, fmt.Sprint(j))
		}
		name := fmt.Sprintf("many%d", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("team-c", name, name+".example.org.", "TXT", values...)))
	}
	store.Must(s.CreateDelegation(store.Delegation("infra", "two", "example", []string{"team-a", "team-b"}, "*.two")))
	store.Must(s.CreateDelegation(store.Delegation("infra", "gone", "example", []string{"team-a"}, "*.gone")))
	must.Succeed(t, errors.Join(s.DeleteDelegation("infra", "gone"), s.DeleteRecord(t.Context(), "team-a", "r0")))
	st.Settle()
	stored, keys := map[string]int64{}, s.Ledger.Layout()
	all := store.Must(st.Client.Client.Get(t.Context(), st.Prefix+"/", clientv3.WithPrefix()))
	var reckoned, own int64
	for _, kv := range all.Kvs {
		key := string(kv.Key)
		if rest, ok := strings.CutPrefix(key, st.Prefix+"/kubi.zone/"); ok {
			parts := strings.Split(rest, "/")
			octets, values := len(kv.Value), 0 // Records count as if they were not compressed
			switch parts[0] {
			case "records":
				r := s.Record(parts[1], parts[2])
				octets, values = r.Size(), max(1, len(r.Spec.Values))
			case "delegations":
				values = len(s.Delegation(parts[1], parts[2]).Spec.Namespaces)
			}
			counted := keys.StoredOctets(key, octets, values)
			stored[parts[1]] += counted
			if parts[0] == "records" {
				reckoned += counted - int64(len(key)+octets)
			}
		} else if !strings.Contains(key, "/journal/") { // the journal has bounds of its own (TestJournal)
			own += int64(len(key) + len(kv.Value))
		}
	}
	same := func(x *sizes) bool { return fmt.Sprint(x.readSizes()) == fmt.Sprint(stored) }
	store.Eventually(t, "the follower has it", func() bool { return same(early) })
	late := &sizes{}
	go s.Ledger.FollowSizes(t.Context(), late)
	store.Eventually(t, "the one that starts has it", func() bool { return same(late) })
	t.Logf("%v; the ledger's own keys take %d octets beside the journal, and are reckoned as %d", stored, own, reckoned)
	if 2*own > 3*reckoned || own < reckoned/4 {
		t.Errorf("the ledger's own keys take %d octets, and are reckoned as %d", own, reckoned)
	}
	for _, namespace := range []string{"team-a", "team-b", "team-c"} {
		for _, r := range s.ListRecords(namespace) {
			must.Succeed(t, s.DeleteRecord(t.Context(), namespace, r.Name))
		}
	}
	store.Eventually(t, "nothing is left of them", func() bool { return len(early.readSizes()) == 1 && len(late.readSizes()) == 1 })
}

// S9.2.
func TestMetered_aWriteThatWaitsPaysToo_S9_2(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	var b bill
	st, g := store.New(t), &gate{}
	s := st.Server(meterClient(&b), func(c *ledger.Config) { c.OnFault = g.passPoint })
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "z", "example.org.", store.Allow("", "*"))))
	runParallel(8, func(w int) { // read by a name server below
		for i := range 100 {
			name := fmt.Sprintf("n%d-%d", w, i)
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", name, name+"."+strings.Repeat("x", 60)+".sub.example.org.", "A", "192.0.2.1")))
		}
	})
	st.Settle()
	for what, write := range map[string]func(ctx context.Context, name string) error{
		"infra reads all below a name": func(ctx context.Context, name string) error {
			_, err := s.CreateRecord(ctx, store.Record("infra", name, "sub.example.org.", "NS", "ns.elsewhere.net."))
			return err
		},
		"team-c writes one record": func(ctx context.Context, name string) error {
			_, err := s.CreateRecord(ctx, store.Record("team-c", name, "c.example.org.", "A", "192.0.2.1"))
			return err
		},
	} {
		namespace, _, _ := strings.Cut(what, " ")
		paid := map[int]int{}
		for waiting := range 3 { // free zone, waits alone, waits with another
			b.takeBill()
			writes := map[string]func() error{"b": func() error { return write(context.Background(), "r") }}
			if waiting == 2 {
				writes["a"] = func() error {
					_, err := s.CreateRecord(context.Background(), store.Record("team-d", "other", "other.example.org.", "A", "192.0.2.1"))
					return err
				}
			}
			if waiting > 0 {
				for _, err := range writeTogetherIn(t, s, g, "z", writes) {
					store.Must(0, err)
				}
			} else {
				store.Must(0, write(t.Context(), "r"))
			}
			paid[waiting] = b.takeBill()[namespace]
			store.Must(0, s.DeleteRecord(t.Context(), namespace, "r"))
			if waiting > 0 {
				store.Must(0, s.DeleteRecord(t.Context(), "team-a", "alone"))
			}
			if waiting == 2 {
				store.Must(0, s.DeleteRecord(t.Context(), "team-d", "other"))
			}
			st.Settle()
		}
		// The cost of the Zone and the journal is shared with the other write.
		if paid[0] == 0 || paid[1] < paid[0]*9/10 || paid[2] < paid[0]/2 {
			t.Errorf("%s: %d octets where the zone is free, %d where it waits, %d where it goes with another", what, paid[0], paid[1], paid[2])
		}
	}
}

// A change of a child zone requires a transaction of the parent. If the writer's server stops first, another server
// makes that transaction. The charge goes to the child's namespace, which caused the change, and not the parent's.
func TestMetered_theChildPaysWhatItsWriterLeft_S9_2(t *testing.T) {
	t.Parallel()
	var b bill
	st := store.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	var leaves atomic.Bool
	s := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if leaves.Load() && point == "after-commit" {
				cancel()
			}
		}
	})
	child := store.Allow("team", "*")
	child.Records = append(child.Records, v1alpha1.RecordDelegation{Pattern: "@", Types: []string{"NS"}})
	store.Must(s.CreateZone(store.Zone("infra", "org", "example.org.", v1alpha1.DelegationRule{Namespace: "team", Zones: []string{"sub"}})))
	store.Must(s.CreateZone(store.Zone("team", "sub", "sub.example.org.", child)))
	stop := st.Server().Run()
	st.Settle()
	stop()
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "a", "a.sub.example.org.", "A", "192.0.2.1"))) // caches the zone
	leaves.Store(true)
	_, _ = s.CreateRecord(ctx, store.Record("team", "ns", "sub.example.org.", "NS", "ns.elsewhere.net."))
	leaves.Store(false)
	before := s.Zone("infra", "org").Status.Serial
	if ctx.Err() == nil || s.Record("team", "ns").Status.ZoneRef == nil {
		t.Fatal("the writer's time is not up")
	}
	st.Server(meterClient(&b)).Run()
	store.Eventually(t, "the parent counts it", func() bool { return s.Zone("infra", "org").Status.Serial != before })
	st.Settle()
	if of := b.takeBill(); of["infra"] > 0 || of["team"] < 500 {
		t.Errorf("what its writer left is paid: %v", of)
	}
	st.MustBeClean()
}

// A namespace that removes a rule pays for all consequences, including the writes that end the child zone which the
// rule delegated. The child's namespace pays nothing.
func TestMetered_theNamespaceThatWithdrewPaysForTheEnd_S9_2(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	var b bill
	st := store.New(t)
	s := st.Server(meterClient(&b))
	s.Run()
	_, none := makeKidsZone(t, s, 0)
	st.Settle()
	b.takeBill()
	setRules(s, none)
	store.Eventually(t, "it ended", func() bool { return !isExisting(s, "kids") && !isExisting(s, "low") })
	st.Settle()
	if of := b.takeBill(); of["infra"] < 1000 || of["team-a"] > 0 {
		t.Errorf("the end of zones whose rule went: %v", of)
	}
}

// A dry run of a Zone may read a lot, such as all names below it. Reads beyond 64 KiB are charged to the namespace,
// because otherwise dry runs could load the server for free.
func TestMetered_aDryRunOfAZonePays_S9_2(t *testing.T) {
	t.Parallel()
	var b bill
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*.kid"), v1alpha1.DelegationRule{
		Namespace: "infra", Zones: []string{"kid"}})))
	for i := range 500 {
		host := fmt.Sprintf("h%d-%s", i, strings.Repeat("x", 50))
		store.Must(s.CreateRecord(t.Context(), store.Record("infra", fmt.Sprint("h", i), host+".kid.example.org.", "A", "192.0.2.1")))
	}
	fresh := st.Server(meterClient(&b))
	b.takeBill()
	kid := store.Zone("infra", "kid", "kid.example.org.")
	if err := fresh.Ledger.PreviewZone(t.Context(), nil, kid); err != nil {
		t.Fatal(err)
	}
	if of := b.takeBill(); len(of) != 1 || of["infra"] == 0 {
		t.Errorf("%v are charged", of)
	}
}
