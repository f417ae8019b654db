// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/journal"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// journalOf returns the keys of a zone's journal without the prefix, and the octets of all values.
func journalOf(t *testing.T, st *store.Store, uid string) (keys []string, octets int) {
	t.Helper()
	prefix := st.Prefix + "/ledger/journal/" + uid + "/"
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs {
		keys = append(keys, strings.TrimPrefix(string(kv.Key), prefix))
		octets += len(kv.Value)
	}
	return keys, octets
}

type following struct {
	listing
	last  chan uint64
	steps chan uint64
}

func (f *following) Base(b ledger.Base) { f.last <- b.Zone.N }
func (f *following) Apply(_ string, tx content.Transaction) {
	for _, step := range tx.Steps {
		f.steps <- step.N
	}
}

// Steps that are written while a trim of the journal runs are trimmed afterwards, without waiting for a later write.
func TestJournal_isTrimmedAfterItsLastWrite(t *testing.T) {
	t.Parallel()
	const bound = 1 << 17
	st, g := store.New(t), &gate{}
	s := st.Server(ledger.JournalOctets(bound), func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	uid := string(s.Zone("infra", "example").UID)
	store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "fat", "fat.example.org.", "TXT", makeFatValues("<", 0)...)))
	g.holdAt("trim")
	write := func(i int) {
		store.Must(s.UpdateRecord(t.Context(), "team-b", "fat", func(r *v1alpha1.Record) { r.Spec.Values = makeFatValues("<", i) }))
	}
	i := 1
	for began := false; !began; i++ {
		write(i)
		select {
		case <-g.reached:
			began = true
		default:
		}
	}
	for range 5 * bound / (100 << 10) {
		i++
		write(i)
	}
	if _, octets := journalOf(t, st, uid); octets <= 2*bound {
		t.Fatalf("the journal has %d octets during the trim, want more than %d", octets, 2*bound)
	}
	g.holdAt("")
	store.Eventually(t, "the journal is trimmed", func() bool { _, octets := journalOf(t, st, uid); return octets <= 2*bound })
}

// Endless changes of a large record fill neither etcd nor the memory of readers. The kept steps are complete up to the
// newest, a follower continues, and two servers may trim concurrently.
func TestJournal_keepsSoManyOctets(t *testing.T) {
	t.Parallel()
	bound, rounds := 1<<19, 30
	if rig.Long() {
		bound, rounds = 1<<20, 60
	}
	stores := map[string]func(*store.Store){"plain": func(*store.Store) {}}
	if rig.Long() { // the same with other octets
		stores["encrypted"] = store.Encrypted(makeTransformer("one"))
	}
	for what, change := range stores {
		t.Run(what, func(t *testing.T) {
			st, g := store.New(t, change), &gate{}
			servers := []*store.Server{st.Server(ledger.JournalOctets(bound), func(c *ledger.Config) { c.OnFault = g.passPoint }),
				st.Server(ledger.JournalOctets(bound))}
			s := servers[0]
			servers[1].Run()
			store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
			uid := string(s.Zone("infra", "example").UID)
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "small", "small.example.org.", "A", "192.0.2.1")))
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "fat", "fat.example.org.", "TXT", makeFatValues("<", 0)...)))
			before, _ := journalOf(t, st, uid)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			early := &following{listing: listing{ready: func() {}}, last: make(chan uint64, 1), steps: make(chan uint64, 10*rounds)}
			go servers[1].Ledger.Follow(ctx, early)
			began := <-early.last
			most := 0
			for i := range rounds {
				s := servers[i/(rounds/4)%2]
				store.Must(s.UpdateRecord(t.Context(), "team-b", "fat", func(r *v1alpha1.Record) {
					r.Spec.Values = makeFatValues("<",
						i+1)
				}))
				if i == rounds/2 { // steps around a mark that the zone has settled
					for _, ns := range []string{"team-b", ""} {
						store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow(ns, "*")} }))
					}
					st.Settle()
				}
				_, octets := journalOf(t, st, uid)
				most = max(most, octets)
			}
			t.Logf("%d octets at most", most)
			if most > 5*bound {
				t.Errorf("the journal had %d octets, want some %d for each of two servers", most, 2*bound)
			}
			writes := map[string]func() error{} // batches are counted too
			for i := range 10 {
				name := fmt.Sprintf("t%d", i)
				writes[name] = func() error {
					_, err := s.CreateRecord(context.Background(), store.Record("team-b", name, name+".example.org.", "TXT",
						makeFatValues("<", i)...))
					return err
				}
			}
			for name, err := range writeTogether(t, s, g, writes) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for i := range 2 * bound / (100 << 10) {
				store.Must(s.UpdateRecord(t.Context(), "team-b", "fat", func(r *v1alpha1.Record) { r.Spec.Values = makeFatValues("<", i) }))
			}
			st.Settle()
			store.Eventually(t, "the journal is trimmed", func() bool { _, octets := journalOf(t, st, uid); return octets <= 2*bound })
			keys, _ := journalOf(t, st, uid)
			z := s.Zone("infra", "example")
			if newest := fmt.Sprintf("%016x", z.Status.ContentGeneration); keys[0] <= before[len(before)-1] || !strings.HasPrefix(keys[len(keys)-1], newest) {
				t.Errorf("the journal has %v, had %v before; the newest step is %s", keys, before, newest)
			}
			st.MustBeClean()

			late := &following{listing: listing{ready: func() {}}, last: make(chan uint64, 1), steps: make(chan uint64, 10)}
			go s.Ledger.Follow(ctx, late)
			if n := <-late.last; n != uint64(z.Status.ContentGeneration) {
				t.Errorf("a follower that starts now starts at step %d, the zone is at %d", n, z.Status.ContentGeneration)
			}
			store.Must(s.UpdateRecord(t.Context(), "team-b", "small", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
			for name, f := range map[string]*following{"the early follower": early, "the late follower": late} {
				n := began
				if f == late {
					n = uint64(z.Status.ContentGeneration)
				}
				for n <= uint64(z.Status.ContentGeneration) {
					select {
					case next := <-f.steps:
						if n++; next != n {
							t.Fatalf("%s: step %d, want %d", name, next, n)
						}
					case <-time.After(time.Minute):
						t.Fatalf("%s: step %d does not come", name, n+1)
					}
				}
			}
		})
	}
}

func confirmDelivery(st *store.Store, z *v1alpha1.Zone, status v1alpha1.DeliveryStatus) {
	st.T.Helper()
	st.PutDelivery(&v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: z.Namespace, Name: z.Name + "-0123456789", UID: "d"},
		Spec:       v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: z.Name, UID: z.UID}}, Status: status,
	})
}

func makeDeliveredZone(s *store.Server) *v1alpha1.Zone {
	z := store.Zone("infra", "example", "example.org.", store.Allow("", "*"))
	z.Finalizers = []string{v1alpha1.FinalizerDelivery}
	return store.Must(s.CreateZone(z))
}

func stepsOf(t *testing.T, s *store.Server, uid string, since serial.Serial, n uint64) []content.Step {
	t.Helper()
	_, steps, err := s.Ledger.Steps(t.Context(), uid, since, n)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

func expectChained(t *testing.T, steps []content.Step, from, to serial.Serial) {
	t.Helper()
	for _, step := range steps {
		if step.From != from {
			t.Fatalf("step %d starts from serial %d, want %d", step.N, step.From, from)
		}
		from = step.Serial
	}
	if from != to {
		t.Fatalf("the steps end at serial %d, want %d", from, to)
	}
}

// Steps that a Delivery has not confirmed stay, and any server can read them. Steps that all have confirmed are
// deleted. A Delivery of another zone does not count.
func TestJournal_keepsWhatADeliveryNeeds_S8_6(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const keep, changes = 10, 75
	for what, change := range map[string]func(*store.Store){"plain": func(*store.Store) {},
		"encrypted": store.Encrypted(makeTransformer("one"))} {
		t.Run(what, func(t *testing.T) {
			st, g := store.New(t, change), &gate{}
			few := func(c *ledger.Config) { c.JournalSteps = keep }
			servers := []*store.Server{st.Server(few, func(c *ledger.Config) { c.OnFault = g.passPoint }), st.Server(few)}
			s := servers[0]
			made := makeDeliveredZone(s)
			uid := string(made.UID)
			store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.1")))
			since := s.Zone("infra", "example").Status.Serial
			other := made.DeepCopy()
			other.Name, other.UID = "example-0", "other"
			confirmDelivery(st, other, v1alpha1.DeliveryStatus{Serial: since - 1})
			run := func() {
				for i := range changes {
					store.Must(servers[i%2].UpdateRecord(t.Context(), "team-b", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("192.0.2.%d", i+2)} }))
				}
			}
			for _, status := range []v1alpha1.DeliveryStatus{
				{Serial: since},
				{Serial: since + changes, Intent: &v1alpha1.DeliveryIntent{Serial: since + changes, From: since}},
			} {
				confirmDelivery(st, made, status)
				run()
				z := s.Zone("infra", "example")
				for _, s := range servers {
					expectChained(t, stepsOf(t, s, uid, serial.Serial(since), uint64(z.Status.ContentGeneration)), serial.Serial(since),
						serial.Serial(z.Status.Serial))
				}
			}
			writes := map[string]func() error{}
			for i := range keep {
				name := fmt.Sprintf("t%d", i)
				writes[name] = func() error {
					_, err := s.CreateRecord(context.Background(), store.Record("team-b", name, name+".example.org.", "A", "192.0.2.1"))
					return err
				}
			}
			for name, err := range writeTogether(t, s, g, writes) {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			z := s.Zone("infra", "example")
			newest := uint64(z.Status.ContentGeneration)
			all := stepsOf(t, s, uid, serial.Serial(since), newest)
			expectChained(t, all, serial.Serial(since), serial.Serial(z.Status.Serial))
			every := 8
			if rig.Long() {
				every = 1
			}
			for i, step := range all { // from within a batch at the end, to within another
				if i%every > 0 && i < len(all)-2*keep {
					continue
				}
				expectChained(t, stepsOf(t, s, uid, step.From, newest), step.From, serial.Serial(z.Status.Serial))
				expectChained(t, stepsOf(t, s, uid, serial.Serial(since), step.N), serial.Serial(since), step.Serial)
				if i > 0 {
					if _, _, err := s.Ledger.Steps(t.Context(), uid, step.Serial, all[i-1].N); !errors.Is(err, journal.ErrTrimmed) {
						t.Errorf("from serial %d, which comes after: %v", step.Serial, err)
					}
				}
			}
			before, held, err := s.Ledger.AllSteps(t.Context(), uid, newest)
			if err != nil || len(held) < len(all) {
				t.Fatalf("%d steps are held, %v, want the %d that are not confirmed at least", len(held), err, len(all))
			}
			expectChained(t, held, held[0].From, serial.Serial(z.Status.Serial))
			if state, steps, err := s.Ledger.Steps(t.Context(), uid, held[0].From, newest); err != nil || state != before || len(steps) != len(held) {
				t.Errorf("from the oldest serial held: %d steps, %v, another state before: %t; want %d", len(steps), err, state != before, len(held))
			}
			st.MustBeClean()

			confirmDelivery(st, made, v1alpha1.DeliveryStatus{Serial: z.Status.Serial})
			run()
			store.Eventually(t, "what was confirmed is gone", func() bool { keys, _ := journalOf(t, st, uid); return len(keys) <= changes+keep+1 })
			now := s.Zone("infra", "example")
			if _, _, err := s.Ledger.Steps(t.Context(), uid, serial.Serial(since), uint64(now.Status.ContentGeneration)); !errors.Is(err, journal.ErrTrimmed) {
				t.Errorf("steps that everybody has confirmed: %v", err)
			}
			expectChained(t, stepsOf(t, s, uid, serial.Serial(z.Status.Serial), uint64(now.Status.ContentGeneration)),
				serial.Serial(z.Status.Serial), serial.Serial(now.Status.Serial))
			// A zone without a class keeps no more steps than any other.
			store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Finalizers = nil }))
			run()
			store.Eventually(t, "steps that no follower needs are gone",
				func() bool { keys, _ := journalOf(t, st, uid); return len(keys) <= 2*keep })
		})
	}
}

// The journal keeps steps that a Delivery has not confirmed, but only in proportion to the size of the zone. A provider
// that never confirms therefore does not fill the store: the oldest steps are deleted. A Delivery that cannot be
// decoded counts as unconfirmed.
func TestJournal_keepsSoMuchForADelivery_S8_6(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const keep, bound = 10, 32 << 10
	st := store.New(t)
	s := st.Server(ledger.JournalOctets(bound/2), func(c *ledger.Config) { c.JournalSteps = keep })
	made := makeDeliveredZone(s)
	uid := string(made.UID)
	store.Must(s.CreateRecord(t.Context(), store.Record("team-b", "www", "www.example.org.", "A", "192.0.2.1")))
	since := s.Zone("infra", "example").Status.Serial
	run := func() {
		for i := range 200 {
			store.Must(s.UpdateRecord(t.Context(), "team-b", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("192.0.2.%d", i+2)} }))
			store.Eventually(t, "the journal is trimmed", func() bool { _, octets := journalOf(t, st, uid); return octets <= bound+bound/2 })
		}
	}
	confirmDelivery(st, made, v1alpha1.DeliveryStatus{Serial: since})
	run()
	if _, octets := journalOf(t, st, uid); octets < bound/2 {
		t.Errorf("the journal has %d octets, want some %d", octets, bound)
	}
	z := s.Zone("infra", "example")
	if _, _, err := s.Ledger.Steps(t.Context(), uid, serial.Serial(since), uint64(z.Status.ContentGeneration)); !errors.Is(err, journal.ErrTrimmed) {
		t.Errorf("steps that are too many: %v", err)
	}
	store.Must(st.Client.Client.Put(t.Context(), st.Prefix+"/kubi.zone/deliveries/infra/example-0123456789", "\x00"))
	run()
	if _, octets := journalOf(t, st, uid); octets < bound/2 {
		t.Errorf("with a Delivery that cannot be read the journal has %d octets, want some %d", octets, bound)
	}
	var values []string // 100 entries per step
	for i := range 100 {
		values = append(values, fmt.Sprintf("192.0.2.%d", i))
	}
	for i := range 60 {
		name := fmt.Sprintf("w%d", i)
		store.Must(s.CreateRecord(t.Context(), store.Record("team-b", name, name+".example.org.", "A", values...)))
	}
	store.Eventually(t, "a larger zone keeps more", func() bool { _, octets := journalOf(t, st, uid); return octets > 3*bound })
}

// While two servers change RRsets and a provider confirms serials, the journal always holds all steps after the last
// confirmation.
func TestRace_journalOfADelivery_S8_6(t *testing.T) {
	t.Parallel()
	const keep, rounds = 5, 60
	st := store.New(t)
	few := func(c *ledger.Config) { c.JournalSteps = keep }
	servers := []*store.Server{st.Server(few), st.Server(few)}
	made := makeDeliveredZone(servers[0])
	since := made.Status.Serial
	confirmDelivery(st, made, v1alpha1.DeliveryStatus{Serial: since})
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			s, name := servers[i%2], fmt.Sprintf("r%d", i)
			for range rounds {
				if _, err := s.CreateRecord(t.Context(), store.Record("team-b", name, "www.example.org.", "A", fmt.Sprintf("192.0.2.%d", i))); err != nil {
					t.Error(err)
				}
				if err := s.DeleteRecord(t.Context(), "team-b", name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	for read := 0; ; read++ {
		z := servers[read%2].Zone("infra", "example")
		_, steps, err := servers[read%2].Ledger.Steps(t.Context(), string(made.UID), serial.Serial(since), uint64(z.Status.ContentGeneration))
		if z.Status.Serial != since {
			if err != nil {
				t.Fatal(err)
			}
			expectChained(t, steps, serial.Serial(since), serial.Serial(z.Status.Serial))
		}
		if read%3 == 0 {
			since = z.Status.Serial
			confirmDelivery(st, made, v1alpha1.DeliveryStatus{Serial: since})
		}
		select {
		case <-done:
			t.Logf("%d reads", read)
			return
		default:
		}
	}
}

// ranges records the keys at which range deletions begin, and the most of one room in a transaction.
type ranges struct {
	mu    sync.Mutex
	begin []string
	most  int
}

func (r *ranges) noteRanges(x *spiedTxn) (*clientv3.TxnResponse, error) {
	r.mu.Lock()
	rooms := map[string]int{}
	for _, op := range x.then {
		if op.IsDelete() && len(op.RangeBytes()) > 0 {
			r.begin = append(r.begin, string(op.KeyBytes()))
			room := path.Dir(string(op.KeyBytes()))
			rooms[room]++
			r.most = max(r.most, rooms[room])
		}
	}
	r.mu.Unlock()
	return x.Txn.Commit()
}

func (r *ranges) countBelow(prefix string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := map[string]int{}
	for _, key := range r.begin {
		if strings.HasPrefix(key, prefix) {
			times[key]++
		}
	}
	return times
}

// The journal of a zone keeps a bounded number of steps, so that many small changes do not fill etcd. If an earlier
// server had a larger bound, the first write through the new server trims the excess. etcd scans deleted keys until the
// next compaction. Each deletion of journal keys must therefore begin after the keys already deleted, because otherwise
// etcd would scan all of them again.
func TestJournal_goesOnWhereItWasTrimmed(t *testing.T) {
	t.Parallel()
	st, seen := store.New(t), &ranges{}
	before := st.Server()
	z := store.Must(before.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	store.Must(before.CreateRecord(t.Context(), store.Record("team-b", "small", "small.example.org.", "A", "192.0.2.1")))
	change := func(s *store.Server, i int) {
		store.Must(s.UpdateRecord(t.Context(), "team-b", "small", func(r *v1alpha1.Record) {
			r.Spec.Values = []string{fmt.Sprint("192.0.2.", i)}
		}))
	}
	for i := range 40 {
		change(before, i+2)
	}
	uid := string(z.UID)
	if keys, _ := journalOf(t, st, uid); len(keys) < 40 {
		t.Fatalf("%d steps", len(keys))
	}
	s := st.Server(spyOn(seen.noteRanges), func(c *ledger.Config) { c.JournalSteps = 4 })
	s.Run()
	trims := s.Ledger.CountTrims()
	for i := range 40 {
		change(s, i+50)
		store.Eventually(t, "the journal is trimmed", func() bool {
			keys, _ := journalOf(t, st, uid)
			return len(keys) <= 8 && trims.Load() == 0
		})
	}
	begins := seen.countBelow(st.Prefix + "/ledger/journal/" + uid + "/")
	for key, times := range begins {
		if times > 1 {
			t.Errorf("%d ranges begin at %s", times, key)
		}
	}
	if len(begins) < 10 {
		t.Errorf("the journal was trimmed %d times", len(begins))
	}
	st.MustBeClean()
}

// A zone ends when the parent's rules no longer list its name, and may be adopted again later (S3.5). The zone keeps
// the UID, but steps are numbered from 1 again, and the journal must still be trimmed to the bound.
func TestJournal_isTrimmedOfAZoneInForceAgain_S3_7(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	const keep = 10
	s := st.Server(func(c *ledger.Config) { c.JournalSteps = keep })
	s.Run()
	allow, none := makeKidsZone(t, s, 0)
	st.Settle()
	uid := string(s.Zone("team-a", "kids").UID)
	change := func(times int) (most int) {
		for i := range times {
			store.Must(s.UpdateRecord(t.Context(), "team-a", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("192.0.2.%d", i+2)} }))
			keys, _ := journalOf(t, st, uid)
			most = max(most, len(keys))
		}
		return most
	}
	change(6 * keep)
	setRules(s, none)
	store.Eventually(t, "it ended", func() bool { return !isExisting(s, "kids") })
	st.Settle()
	setRules(s, allow)
	store.Eventually(t, "it stands again", func() bool { return isExisting(s, "kids") && s.Record("team-a", "www").Status.ZoneRef != nil })
	st.Settle()
	if most := change(4 * keep); most > 3*keep {
		t.Errorf("there were %d keys, of which the steps of %d are kept", most, keep)
	}
	change(8 * keep)
	st.Settle()
	st.MustBeClean()
	store.Eventually(t, "so many are left", func() bool { keys, _ := journalOf(t, st, uid); return len(keys) <= keep+keep/2+3 })
}

// A stalled trim must not delete the steps that a zone has made since its return (S3.5).
func TestJournal_isNotTrimmedByWhatAZoneWas_S3_7(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const keep = 100
	for _, point := range []string{"trim", "trim-page"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			st, g := store.New(t), &gate{}
			s := st.Server()
			s.Run()
			allow, none := makeKidsZone(t, s, 0)
			st.Settle()
			change := func(s *store.Server, i int) {
				store.Must(s.UpdateRecord(t.Context(), "team-a", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("192.0.2.%d", i%250)} }))
			}
			for i := range keep + 60 {
				change(s, i)
			}
			slow := st.Server(func(c *ledger.Config) { c.JournalSteps, c.OnFault = keep, g.passPoint })
			trims := slow.Ledger.CountTrims()
			g.holdAt(point)
			change(slow, 251)
			<-g.reached
			setRules(s, none)
			store.Eventually(t, "it ended", func() bool { return !isExisting(s, "kids") })
			st.Settle()
			setRules(s, allow)
			store.Eventually(t, "it stands again", func() bool {
				return isExisting(s, "kids") &&
					s.Record("team-a", "www").Status.ZoneRef != nil
			})
			st.Settle()
			for i := range keep / 2 {
				change(s, i)
			}
			z := s.Zone("team-a", "kids")
			before, _ := journalOf(t, st, string(z.UID))
			g.holdAt("")
			store.Eventually(t, "the trim has ended", func() bool { return trims.Load() == 0 })
			if after, _ := journalOf(t, st, string(z.UID)); len(after) != len(before) {
				t.Errorf("of %d keys %d are left", len(before), len(after))
			}
			st.MustBeClean()
		})
	}
}

// A deleted zone may have thousands of internal keys. They are deleted in pages of some hundreds, each in its own
// transaction, so that none blocks etcd for other writers. Each page begins after the keys already deleted.
func TestPurge_goesOnWhereItDeleted(t *testing.T) {
	t.Parallel()
	st, seen := store.New(t), &ranges{}
	s := st.Server(spyOn(seen.noteRanges))
	z := store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	room := st.Prefix + "/ledger/members/" + string(z.UID) + "/"
	for i := range 1200 {
		store.Must(st.Client.Client.Put(t.Context(), fmt.Sprintf("%sn%04d./team/r", room, i), `{"uid":"u","a":"plain","t":1,"n":1}`))
	}
	s.Run()
	store.Must(0, s.DeleteZone("infra", "example"))
	st.Settle()
	if left := store.Must(st.Client.Client.Get(t.Context(), room, clientv3.WithPrefix(), clientv3.WithCountOnly())); left.Count > 0 {
		t.Errorf("%d keys are left", left.Count)
	}
	pages := 0
	for key, times := range seen.countBelow(room) {
		if pages++; times > 1 {
			t.Errorf("%d ranges begin at %s", times, key)
		}
	}
	if pages != 3 || seen.most != 1 {
		t.Errorf("%d pages of 1,200 keys, %d in a transaction", pages, seen.most)
	}
}
