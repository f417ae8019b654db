// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/etcd/maintenance"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// archiveAfter makes a server archive all but the last steps.
func archiveAfter(steps int) func(*ledger.Config) {
	return func(c *ledger.Config) { c.JournalSteps = steps }
}

func readHistory(t testing.TB, s *store.Server, z *v1alpha1.Zone, page int) (items []history.Item, whole int64) {
	t.Helper()
	for ask := (history.Ask{Limit: page}); ; {
		a := must.Get(s.Ledger.ZoneHistory(t.Context(), z, ask))(t)
		items, whole = append(items, a.Items...), max(whole, a.Whole)
		if ask.From = a.Next; ask.From == "" {
			return items, whole
		}
	}
}

// readRecords reads all pages: a loaded machine may answer any page before Ask.Limit, after maxReading.
func readRecords(t testing.TB, s *store.Server, of history.StepSelector, ask history.Ask) *history.Answer {
	t.Helper()
	for out := (&history.Answer{}); ; {
		a := must.Get(s.Ledger.RecordHistory(t.Context(), of, ask))(t)
		out.Items, out.Whole = append(out.Items, a.Items...), max(out.Whole, a.Whole)
		if ask.From = a.Next; ask.From == "" {
			return out
		}
	}
}

// ofRecords selects all steps of a namespace that has Records in zones.
func ofRecords(namespace string, zones ...*v1alpha1.Zone) history.StepSelector {
	of := history.StepSelector{Namespace: namespace, SelectsZone: func(*history.Header) bool { return true },
		Selects: func(*history.Item) bool { return true }}
	for _, z := range zones {
		of.Zones = append(of.Zones, string(z.UID))
	}
	return of
}

// recordsIn returns the states of the Records in a zone, by namespace and name.
func recordsIn(t testing.TB, s *store.Server, z *v1alpha1.Zone, namespaces ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, ns := range namespaces {
		for _, r := range s.ListRecords(ns) {
			if r.Status.ZoneRef != nil && r.Status.ZoneRef.UID == z.UID {
				out[ns+"/"+r.Name] = stateText(t, must.Get(history.Pack(&r, &r.Spec, history.MaxState))(t).Text)
			}
		}
	}
	return out
}

func stateText(t testing.TB, packed []byte) string {
	t.Helper()
	return string(must.Get(history.Unpack(packed))(t))
}

// undoItem undoes a step, as a revert does, and turns the Records after the step into those before it.
func undoItem(t testing.TB, records map[string]string, x *history.Item) {
	t.Helper()
	was := map[string]string{}
	for _, w := range x.Was {
		was[w.UID] = string(w.State)
	}
	var refs []content.RecordRef
	if x.Step.Record != nil {
		refs = append([]content.RecordRef{*x.Step.Record}, x.Step.Others...)
	}
	for _, ref := range refs {
		key := ref.Namespace + "/" + ref.Name
		if _, is := records[key]; is == ref.Left {
			t.Fatalf("step %d: %s is there after it: %t", x.Step.N, key, is)
		}
		if delete(records, key); ref.Was {
			if was[ref.UID] == "" {
				t.Fatalf("step %d lacks the state of %s", x.Step.N, key)
			}
			records[key] = was[ref.UID]
		}
	}
}

// Undoing the steps of a history one after the other, beginning with the present Records, yields the Records before
// each step. This holds for any kind of write, for steps in the journal and in the archive, and for any page size.
func TestHistory_leadsBackToEveryStep(t *testing.T) {
	t.Parallel()
	for seed := range uint64(scaleTo(40, 3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 57))
			st := store.New(t)
			s := st.Server(archiveAfter(rnd.IntN(30)))
			s.Run()
			namespaces := []string{"platform", "team-a", "team-b"}
			z := store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("team-a", "*.a"),
				store.Allow("team-b", "*.b"))))
			at := map[int64]map[string]string{}
			for i := range 120 {
				writeAtRandom(t, s, rnd, i)
				st.Settle()
				at[s.Zone("platform", "example-org").Status.Serial] = recordsIn(t, s, z, namespaces...)
			}
			z = s.Zone("platform", "example-org")
			present := recordsIn(t, s, z, namespaces...)
			items, _ := readHistory(t, s, z, 1+rnd.IntN(50))
			checked := 0
			for i := range items {
				x := &items[i]
				if want := uint64(z.Status.ContentGeneration) - uint64(i); x.Step.N != want || x.Number != want {
					t.Fatalf("item %d is step %d, number %d, want %d", i, x.Step.N, x.Number, want)
				}
				if want, known := at[int64(x.Step.Serial)]; known {
					if checked++; !maps.Equal(present, want) {
						t.Fatalf("serial %d: %v, want %v", x.Step.Serial, present, want)
					}
				}
				undoItem(t, present, x)
			}
			if last := items[len(items)-1].Step; !last.Creates() || len(present) > 0 || checked < 20 {
				t.Errorf("it leads to step %d with %v, %d serials checked", last.N, present, checked)
			}
		})
	}
}

func writeAtRandom(t *testing.T, s *store.Server, rnd *rand.Rand, i int) {
	t.Helper()
	ctx := t.Context()
	letter := []string{"", "a", "b"}[rnd.IntN(3)]
	ns, suffix := "platform", "example.org."
	if letter != "" {
		ns, suffix = "team-"+letter, letter+".example.org."
	}
	records := s.ListRecords(ns)
	value := fmt.Sprintf("10.%d.%d.1", i/200, i%200) // no two Records have the same
	switch k := rnd.IntN(10); {
	case k < 4 || len(records) == 0:
		r := store.Record(ns, fmt.Sprint("r", i%17, letter), fmt.Sprintf("x%d.%s", i%17, suffix), "A", value)
		r.Labels = map[string]string{"i": fmt.Sprint(i)}
		r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "test", Operation: "Apply"}}
		_, _ = s.CreateRecord(ctx, r) // may exist
	case k < 6:
		r := records[rnd.IntN(len(records))]
		_, _ = s.UpdateRecord(ctx, ns, r.Name, func(r *v1alpha1.Record) { // 403 while no rule allows it
			r.Spec.Values = []string{value}
			r.Annotations = map[string]string{"note": fmt.Sprint(i)}
		})
	case k < 7:
		must.Succeed(t, s.DeleteRecord(ctx, ns, records[rnd.IntN(len(records))].Name))
	case k < 8: // a change set
		writes := []setWrite{createLater(store.Record(ns, fmt.Sprint("s", i), fmt.Sprintf("s%d.%s", i, suffix), "A", value))}
		for _, r := range records[:min(2, len(records))] {
			if r.Status.ZoneRef == nil {
				continue
			}
			if rnd.IntN(2) == 0 {
				writes = append(writes, deleteLater(ns, r.Name))
			} else {
				writes = append(writes, setValuesLater(ns, r.Name, fmt.Sprintf("10.9.%d.%d", i, len(writes))))
			}
		}
		_, _ = inSet(ctx, s, writes...)
	case k < 9: // a rule goes, or comes back
		store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) {
			if z.Spec.Delegations = z.Spec.Delegations[:1]; rnd.IntN(2) == 0 {
				z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team-b", "*.b"))
			}
		}))
	default:
		store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) { z.Spec.TTL = new(int32(300 + i)) }))
	}
}

func recordAt(ns, name string) *v1alpha1.Record {
	return store.Record(ns, name, name+".example.org.", "A", "192.0.2.1")
}

// readArchived returns the end of a zone's archive, or zero if there is none.
func readArchived(t testing.TB, st *store.Store, z *v1alpha1.Zone) (x history.Archived) {
	t.Helper()
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Archived(string(z.UID)))).Kvs {
		must.Succeed(t, json.Unmarshal(kv.Value, &x))
	}
	return x
}

func countKeys(t testing.TB, st *store.Store, room string) int {
	t.Helper()
	prefix := layout.Keys{Prefix: st.Prefix}.Room(room)
	return int(store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())).Count)
}

// expectWhole reads a zone's history, and requires that its steps lead back to the zone's creation without a gap.
func expectWhole(t testing.TB, s *store.Server, z *v1alpha1.Zone) []history.Item {
	t.Helper()
	items, _ := readHistory(t, s, z, 1000)
	if want := int(z.Status.ContentGeneration); len(items) != want {
		t.Fatalf("%d steps, want %d", len(items), want)
	}
	for i := range items {
		if items[i].Step.N != uint64(len(items)-i) {
			t.Fatalf("item %d is step %d", i, items[i].Step.N)
		}
	}
	return items
}

// Two servers with different clocks write and archive one zone at the same time, and then a clock steps back. The
// history must contain each step once. The times of steps never go back, so an answer by time has all later steps.
func TestHistory_ofTwoServersAtOnce(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	ahead, behind := &store.Clock{}, &store.Clock{}
	ahead.Pass(time.Hour)
	a := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = ahead.Now })
	b := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = behind.Now })
	z := store.Must(a.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	runParallel(4, func(w int) {
		s := []*store.Server{a, b}[w%2]
		for i := range scaleTo(60, 30) {
			name := fmt.Sprint("r", w, "-", i%7)
			ns := fmt.Sprint("team", w)
			if _, err := s.CreateRecord(t.Context(), recordAt(ns, name)); err != nil {
				must.Succeed(t, s.DeleteRecord(t.Context(), ns, name))
			}
			behind.Pass(time.Second)
		}
	})
	ahead.Pass(-2 * time.Hour)
	_, errs := inSet(t.Context(), a, createLater(recordAt("team", "s0")), createLater(recordAt("team", "s1")))
	must.Succeed(t, errors.Join(errs...))
	st.Settle()
	items := expectWhole(t, a, a.Zone("infra", "top"))
	for i := range items {
		x := &items[i]
		if x.Step.Record != nil && len(x.Step.Others) == 0 && x.Step.Record.Was != (len(x.Was) == 1) {
			t.Errorf("step %d: was %t, %d states", x.Step.N, x.Step.Record.Was, len(x.Was))
		}
		if i > 0 && items[i-1].Step.Time < x.Step.Time {
			t.Errorf("step %d is at %d, the one before at %d", items[i-1].Step.N, items[i-1].Step.Time, x.Step.Time)
		}
	}
	if countKeys(t, st, "history") == 0 {
		t.Error("nothing is archived")
	}
	since := items[len(items)/2].Step.Time
	recent := must.Get(a.Ledger.ZoneHistory(t.Context(), z, history.Ask{Limit: 1000,
		Since: func(x *history.Item) bool { return x.Step.Time >= since }}))(t)
	if len(recent.Items) < len(items)/2 {
		t.Errorf("%d of %d steps since the middle", len(recent.Items), len(items))
	}
	if at := a.Zone("infra", "top").Status.SerialTime; at == nil || at.Unix() != items[0].Step.Time {
		t.Errorf("serialTime %v, want %d", at, items[0].Step.Time)
	}
}

// While etcd fails, steps stay in the journal, and afterwards the history has no gap. The test runs with etcd's own
// errors and with the API errors into which the API server converts them, because the archive must recognize both.
func TestHistory_afterAFailureOfEtcd(t *testing.T) {
	t.Parallel()
	for what, explain := range map[string]func(clientv3.KV) clientv3.KV{
		"etcd's error": func(kv clientv3.KV) clientv3.KV { return kv }, "an API error": maintenance.Explain,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			expectNoGap(t, explain)
		})
	}
}

func expectNoGap(t *testing.T, explain func(clientv3.KV) clientv3.KV) {
	t.Helper()
	st := store.New(t)
	archived := layout.Keys{Prefix: st.Prefix}.Room("archived")
	putsArchived := func(op clientv3.Op) bool { return op.IsPut() && strings.HasPrefix(string(op.KeyBytes()), archived) }
	var active atomic.Bool
	var failed atomic.Int64
	failing := func(x *spiedTxn) (*clientv3.TxnResponse, error) {
		if active.Load() && slices.ContainsFunc(x.then, putsArchived) {
			failed.Add(1)
			return nil, grpcstatus.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return x.Txn.Commit()
	}
	s := st.Server(archiveAfter(5), replaceKV(func(kv clientv3.KV) clientv3.KV { return explain(spiedKV{kv, failing}) }))
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	write := func(from, to int) {
		for i := from; i < to; i++ {
			ns := fmt.Sprint("team", i%11)
			store.Must(s.CreateRecord(t.Context(), recordAt(ns, ns)))
			must.Succeed(t, s.DeleteRecord(t.Context(), ns, ns))
		}
	}
	active.Store(true)
	write(0, 22)
	store.Eventually(t, "an archive fails", func() bool { return failed.Load() > 0 })
	active.Store(false)
	write(22, 40)
	st.Settle()
	expectWhole(t, s, s.Zone("infra", "top"))
	if _, whole := readHistory(t, s, s.Zone("infra", "top"), 1000); whole >= time.Now().Unix()-60 {
		t.Errorf("the history is whole since %d only", whole)
	}
	if countKeys(t, st, "history") == 0 {
		t.Error("nothing is archived")
	}
}

// If the key of a zone's archive is damaged, steps still leave the journal, so that etcd does not fill up. After a
// repair, the history reports a gap.
func TestHistory_afterDamageOfTheArchive(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server(archiveAfter(5))
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	write := func(from, to int) {
		for i := from; i < to; i++ {
			store.Must(s.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("r", i))))
		}
	}
	write(0, 20)
	st.Settle()
	key := layout.Keys{Prefix: st.Prefix}.Archived(string(z.UID))
	before := store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].Value
	store.Must(st.Client.Client.Put(t.Context(), key, "x"))
	b := st.Server(archiveAfter(5)) // which has not read the archive
	for i := range 30 {
		store.Must(b.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("s", i))))
	}
	store.Eventually(t, "the journal is trimmed", func() bool { return countKeys(t, st, "journal") < 20 })
	store.Must(st.Client.Client.Put(t.Context(), key, string(before)))
	write(20, 40)
	st.Settle()
	if _, whole := readHistory(t, s, s.Zone("infra", "top"), 1000); whole == 0 {
		t.Error("the history has no gap")
	}
}

// A server dies at any point while it moves steps from the journal into the archive. Another server continues, and the
// history contains every step exactly once.
func TestHistory_afterACrash(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"archive", "trim", "trim-page"} {
		st := store.New(t)
		var crashed atomic.Bool
		a := st.Server(archiveAfter(5), func(c *ledger.Config) {
			c.OnFault = func(at string) {
				if at == point && crashed.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
			}
		})
		z := store.Must(a.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
		for i := range 30 {
			name := fmt.Sprint("r", i%3)
			if i%6 < 3 {
				store.Must(a.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
			} else {
				must.Succeed(t, a.DeleteRecord(t.Context(), "team", name))
			}
		}
		store.Eventually(t, "the archive crashes at "+point, crashed.Load)
		b := st.Server(archiveAfter(5))
		for i := range 20 {
			store.Must(b.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("s", i))))
		}
		store.Eventually(t, "another server archives", func() bool { return countKeys(t, st, "history") > 0 })
		st.Settle()
		expectWhole(t, b, b.Zone("infra", "top"))
		if z.UID != b.Zone("infra", "top").UID {
			t.Error("another zone")
		}
	}
}

// A tenant that writes at its full budget for an hour loses details of its own history only. Its oldest segments are
// condensed, the histories of others stay whole, and answers tell since when they are whole. The same holds if
// archiving starts late, with many steps at once.
func TestHistory_ofATenantAtItsBudget_S7_13(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late=", late), func(t *testing.T) {
			t.Parallel()
			writeAtBudget(t, late)
		})
	}
}

func writeAtBudget(t *testing.T, late bool) {
	t.Helper()
	const quota = 4 << 20 // so 400 KiB of history, 100 KiB for a namespace
	st := store.New(t)
	clock, begins := &store.Clock{}, make(chan struct{})
	s := st.Server(archiveAfter(5), func(c *ledger.Config) {
		c.Now, c.Quota = clock.Now, func() int64 { return quota }
		c.OnFault = func(at string) {
			if at == "archive" {
				<-begins
			}
		}
	})
	begin := sync.OnceFunc(func() { close(begins) })
	defer begin()
	if !late {
		begin()
	}
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	ctx := t.Context()
	write := func(ns string, i int, note string) {
		name := ns + fmt.Sprint(i%2)
		_, err := s.UpdateRecord(ctx, ns, name, func(r *v1alpha1.Record) {
			r.Spec.Values, r.Annotations = []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}, map[string]string{"note": note}
		})
		if err != nil {
			store.Must(s.CreateRecord(ctx, store.Record(ns, name, name+".example.org.", "A", fmt.Sprintf("10.1.0.%d", i))))
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range scaleTo(400, 200) {
		write("mallory", i, makeNoise(rnd, 4000))
		if i%20 == 0 {
			write("quiet", i/20, "")
		}
		clock.Pass(9 * time.Second)
	}
	begin()
	last := uint64(s.Zone("infra", "top").Status.ContentGeneration)
	more := 0
	store.Eventually(t, "all their steps are archived", func() bool {
		more++
		write("infra", more, "") // an archive has the steps before the write that began it
		return readArchived(t, st, z).Last >= last
	})
	st.Settle()
	must.Succeed(t, s.Ledger.SweepHistory(ctx))
	of := func(ns string) (*history.Answer, history.Share) {
		return readRecords(t, s, ofRecords(ns, z), history.Ask{Limit: 10_000}), readShare(t, st, ns)
	}
	oldest := func() int64 { return clock.Now().Add(-history.DefaultRetention).Unix() } // the clock goes on between two answers
	quiet, share := of("quiet")
	if len(quiet.Items) != (scaleTo(400, 200)+19)/20 || share.Whole != 0 || quiet.Whole > oldest() {
		t.Errorf("the quiet namespace: %d steps, whole since %d, share %+v", len(quiet.Items), quiet.Whole, share)
	}
	for i := range quiet.Items[:len(quiet.Items)-2] {
		if x := &quiet.Items[i]; len(x.Was) != 1 || x.Bare {
			t.Errorf("step %d of the quiet namespace: %d states, condensed %t", x.Step.N, len(x.Was), x.Bare)
		}
	}
	loud, share := of("mallory")
	if share.Octets > quota/40 || share.Octets < quota/80 || share.Whole == 0 || loud.Whole != share.Whole {
		t.Errorf("the loud namespace: %d octets of %d, whole since %d and %d", share.Octets, quota/40, share.Whole, loud.Whole)
	}
	bare := 0
	for i := range loud.Items {
		if x := &loud.Items[i]; x.Bare {
			named := len(x.Step.TTLs) == 1 && x.Step.TTLs[0].Owner == x.Step.Record.Owner && x.Step.TTLs[0].Before == nil
			if bare++; x.Step.Time >= loud.Whole || !named || len(x.Step.Added) > 0 {
				t.Errorf("condensed step %d at %d, whole since %d", x.Step.N, x.Step.Time, loud.Whole)
			}
		} else if x.Step.Record.Was && len(x.Was) != 1 {
			t.Errorf("step %d has no state", x.Step.N)
		}
	}
	if bare == 0 {
		t.Error("no step is condensed")
	}
	if _, whole := readHistory(t, s, s.Zone("infra", "top"), 1000); whole != loud.Whole {
		t.Errorf("the zone is whole since %d, want %d", whole, loud.Whole)
	}
	if own := must.Get(s.Ledger.ZoneHistory(ctx, z, history.Ask{Limit: 10}))(t).Own; own > oldest() {
		t.Errorf("steps of the zone's own namespace are whole since %d, want %d", own, oldest())
	}
}

// Steps are deleted when their zone's historyRetention is over, even in a zone that no longer changes, and if another
// namespace, first in the order of names, has younger ones in the zone. With 0s none is kept.
func TestHistory_isKeptForItsRetention_S7_13(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = clock.Now })
	for name, d := range map[string]*metav1.Duration{"short": {Duration: time.Hour}, "usual": nil, "none": {}} {
		z := store.Zone("infra", name, name+".org.", store.Allow("", "*"))
		z.Spec.HistoryRetention = d
		store.Must(s.CreateZone(z))
		for i := range 30 {
			r := store.Record(name, "www", "www."+name+".org.", "A", "192.0.2.1")
			if i == 0 {
				store.Must(s.CreateRecord(t.Context(), r))
			}
			store.Must(s.UpdateRecord(t.Context(), name, "www", func(r *v1alpha1.Record) {
				r.Spec.Values = []string{fmt.Sprint("10.0.0.", i)}
			}))
		}
	}
	st.Settle()
	count := func(name string) int {
		items, _ := readHistory(t, s, s.Zone("infra", name), 1000)
		return len(items)
	}
	if count("short") != 32 || count("usual") != 32 || countKeys(t, st, "before/none") != 0 || countKeys(t, st, "history/none") != 0 {
		t.Errorf("%d and %d steps; without history %d states and %d segments", count("short"), count("usual"),
			countKeys(t, st, "before/none"), countKeys(t, st, "history/none"))
	}
	archived := func(name string) history.Archived { return readArchived(t, st, s.Zone("infra", name)) }
	if archived("none").Whole <= clock.Now().Add(-time.Hour).Unix() || archived("short").Whole > 0 {
		t.Errorf("archives %+v and %+v", archived("none"), archived("short"))
	}
	clock.Pass(50 * time.Minute)
	store.Must(s.CreateRecord(t.Context(), store.Record("alpha", "www", "alpha.short.org.", "A", "192.0.2.1")))
	store.Must(s.UpdateRecord(t.Context(), "alpha", "www", func(r *v1alpha1.Record) { r.Spec.Values = []string{"192.0.2.2"} }))
	clock.Pass(50 * time.Minute)
	st.Settle()
	if count("short") != 2 || count("none") != 0 || count("usual") != 32 {
		t.Errorf("after 100 minutes: %d, %d and %d steps", count("short"), count("none"), count("usual"))
	}
	if countKeys(t, st, "before/short") == 0 || countKeys(t, st, "before/alpha") == 0 {
		t.Error("no former Records")
	}
	must.Succeed(t, s.Ledger.SweepStates(t.Context()))
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if archived("short").Whole <= clock.Now().Add(-3*time.Hour).Unix() || archived("usual").Whole > 0 {
		t.Errorf("after the sweep: archives %+v and %+v", archived("short"), archived("usual"))
	}
	if n := countKeys(t, st, "before/short") + countKeys(t, st, "history/short"); n > 0 || countKeys(t, st, "history/usual") == 0 {
		t.Errorf("%d keys are left, %d segments of the other zone", n, countKeys(t, st, "history/usual"))
	}
	st.Settle()
}

// The history of a deleted zone is kept for the retention, and includes the removal and the former Zone. A new zone of
// the same name begins a new history. After the retention, no key remains.
func TestHistory_ofARemovedZone(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = clock.Now })
	s.Run()
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "www", "www.example.org.", "A", "192.0.2.1")))
	must.Succeed(t, s.DeleteRecord(t.Context(), "team", "www"))
	must.Succeed(t, s.DeleteZone("infra", "top"))
	st.Settle()
	a := must.Get(s.Ledger.ZoneHistory(t.Context(), z, history.Ask{Limit: 10}))(t)
	if len(a.Items) != 4 {
		t.Fatalf("%d steps", len(a.Items))
	}
	last := a.Items[0]
	if last.Removed == nil || !strings.Contains(string(last.Removed.State), `"domainName":"example.org."`) || last.FQDN != "example.org." ||
		len(a.Items[1].Was) != 1 {
		t.Errorf("the removal: %+v, state %s", last.Step, last.Removed.State)
	}
	again := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	if a = must.Get(s.Ledger.ZoneHistory(t.Context(), again, history.Ask{Limit: 10}))(t); len(a.Items) != 1 || !a.Items[0].Step.Creates() {
		t.Errorf("the new zone has %d steps", len(a.Items))
	}
	deleted := readRecords(t, s, ofRecords("team"), history.Ask{Limit: 9})
	if len(deleted.Items) != 2 || deleted.Items[0].FQDN != "example.org." {
		t.Errorf("the tenant's steps in it: %+v", deleted.Items)
	}
	clock.Pass(history.DefaultRetention + 2*time.Hour)
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if n := countKeys(t, st, "archived/"+string(z.UID)) + countKeys(t, st, "history"); n > 0 {
		t.Errorf("%d keys are left of it", n)
	}
	st.Settle()
}

func TestHistory_isEncrypted(t *testing.T) {
	t.Parallel()
	st := store.New(t, store.Encrypted(makeTransformer("one")))
	s := st.Server(archiveAfter(5))
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	for i := range 40 {
		store.Must(s.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("r", i))))
		store.Must(s.UpdateRecord(t.Context(), "team", fmt.Sprint("r", i), func(r *v1alpha1.Record) { r.Spec.Values[0] = "192.0.2.2" }))
	}
	st.Settle()
	expectWhole(t, s, s.Zone("infra", "top"))
	for _, room := range []string{"archived", "before", "history", "shares"} {
		prefix := layout.Keys{Prefix: st.Prefix}.Room(room)
		r := store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix()))
		for _, kv := range r.Kvs {
			if !strings.HasPrefix(string(kv.Value), "encrypted:") {
				t.Errorf("%s is %.20q", kv.Key, kv.Value)
			}
		}
		if len(r.Kvs) == 0 {
			t.Errorf("nothing under %s", room)
		}
	}
}

// After an upgrade from a version without history, the history begins with the upgrade: there are no earlier steps, and
// Whole is the time of the upgrade.
func TestHistory_beginsWithTheUpgrade(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	for _, room := range []string{"archived", "before", "history", "shares"} {
		store.Must(st.Client.Client.Delete(t.Context(), layout.Keys{Prefix: st.Prefix}.Room(room), clientv3.WithPrefix()))
	}
	st.SetFormat(ledger.FirstFormat)
	again := st.Server(archiveAfter(5))
	z := again.Zone("infra", "top")
	if items, whole := readHistory(t, again, z, 10); len(items) != 0 || whole < time.Now().Add(-time.Minute).Unix() {
		t.Errorf("%d steps, whole since %d", len(items), whole)
	}
	for i := range 30 {
		store.Must(again.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("r", i))))
	}
	st.Settle()
	if items, _ := readHistory(t, again, z, 10); len(items) != 30 {
		t.Errorf("%d steps since", len(items))
	}
}

// If a segment of the archive or a step of the journal cannot be decoded, the answer contains the other steps, and the
// field Whole moves to a time after the damage.
func TestHistory_ofDamage(t *testing.T) {
	t.Parallel()
	for _, under := range []func(k layout.Keys, z *v1alpha1.Zone) string{
		func(k layout.Keys, _ *v1alpha1.Zone) string { return k.Segments("team") },
		func(k layout.Keys, z *v1alpha1.Zone) string { return k.Journal(string(z.UID)) },
	} {
		st := store.New(t)
		s := st.Server(archiveAfter(5))
		z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
		for i := range 40 {
			store.Must(s.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("r", i))))
		}
		st.Settle()
		z = s.Zone("infra", "top")
		of := func() []*history.Answer {
			ask := history.Ask{Limit: 1000}
			return []*history.Answer{must.Get(s.Ledger.ZoneHistory(t.Context(), z, ask))(t),
				readRecords(t, s, ofRecords("team", z), ask)}
		}
		before := of()
		prefix := under(layout.Keys{Prefix: st.Prefix}, z)
		kvs := store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs
		last := kvs[len(kvs)-1]
		store.Must(st.Client.Client.Put(t.Context(), string(last.Key), "x"))
		for i, a := range of() {
			if len(a.Items) >= len(before[i].Items) || len(a.Items) == 0 || a.Whole < z.CreationTimestamp.Unix() {
				t.Errorf("%s: %d steps of %d, whole since %d, before %d", prefix, len(a.Items), len(before[i].Items), a.Whole,
					before[i].Whole)
			}
		}
		store.Must(st.Client.Client.Put(t.Context(), string(last.Key), string(last.Value)))
	}
}

// An answer with long states ends at a limit of octets, and the next page continues from there. Steps in the journal
// have no next page in a namespace's answer, so the last of them are condensed.
func TestHistory_ofLongStates(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const updates = 440 // with 30 KiB each, more than an answer has
	for _, keeps := range []int{5, 1000} {
		st := store.New(t)
		s := st.Server(archiveAfter(keeps), ledger.JournalOctets(64<<20))
		z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
		r := recordAt("team", "www")
		r.Annotations = map[string]string{"note": strings.Repeat("x", 30_000)}
		store.Must(s.CreateRecord(t.Context(), r))
		for i := range updates {
			store.Must(s.UpdateRecord(t.Context(), "team", "www", func(r *v1alpha1.Record) {
				r.Spec.Values = []string{fmt.Sprintf("10.0.%d.%d", i/250, i%250)}
			}))
		}
		st.Settle()
		z = s.Zone("infra", "top")
		for _, read := range []func(history.Ask) (*history.Answer, error){
			func(ask history.Ask) (*history.Answer, error) { return s.Ledger.ZoneHistory(t.Context(), z, ask) },
			func(ask history.Ask) (*history.Answer, error) {
				return s.Ledger.RecordHistory(t.Context(), ofRecords("team", z), ask)
			},
		} {
			steps, states, bare, pages, ask := 0, 0, 0, 0, history.Ask{Limit: 1000}
			for more := true; more; more = ask.From != "" {
				a, octets := must.Get(read(ask))(t), 0
				for i := range a.Items {
					for _, w := range a.Items[i].Was {
						octets += len(w.State)
						states++
					}
					if a.Items[i].Bare {
						if bare++; a.Whole <= a.Items[i].Step.Time {
							t.Errorf("whole since %d, condensed at %d", a.Whole, a.Items[i].Step.Time)
						}
					}
				}
				if pages++; octets > 12<<20 { // 8 MiB, and to the end of a segment
					t.Errorf("an answer of %d octets", octets)
				}
				steps, ask.From = steps+len(a.Items), a.Next
			}
			if steps < updates+1 || states+bare-min(bare, 1) != updates || pages == 1 && bare == 0 {
				t.Errorf("journal of %d: %d steps, %d states, %d condensed, %d answers", keeps, steps, states, bare, pages)
			}
		}
	}
}

// A namespace that is created again reads neither steps nor removed Zones of its predecessor, archived or not.
func TestHistory_ofANamespaceMadeAgain_S7_14(t *testing.T) {
	t.Parallel()
	for _, keeps := range []int{5, 1000} {
		st := store.New(t)
		clock := &store.Clock{}
		s := st.Server(archiveAfter(keeps), func(c *ledger.Config) { c.Now = clock.Now })
		s.Run()
		ctx := t.Context()
		z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
		store.Must(s.CreateZone(store.Zone("team", "sub", "example.net.")))
		write := func() {
			store.Must(s.CreateRecord(ctx, recordAt("team", "www")))
			for i := range 20 {
				store.Must(s.UpdateRecord(ctx, "team", "www", func(r *v1alpha1.Record) { r.Spec.Values[0] = fmt.Sprint("10.0.0.", i) }))
			}
			must.Succeed(t, s.DeleteRecord(ctx, "team", "www"))
			st.Settle()
		}
		write()
		must.Succeed(t, s.DeleteZone("team", "sub"))
		st.Settle()
		clock.Pass(time.Minute)
		ask := history.Ask{Limit: 1000, NotBefore: clock.Now().Unix()}
		read := func(ask history.Ask) *history.Answer {
			return must.Get(s.Ledger.RecordHistory(ctx, ofRecords("team", z), ask))(t)
		}
		if a := read(ask); len(a.Items) != 0 || a.Whole != ask.NotBefore || a.Next != "" {
			t.Errorf("%d steps of the predecessor, whole since %d", len(a.Items), a.Whole)
		}
		if a := readRecords(t, s, ofRecords("team", z), history.Ask{Limit: 1000}); len(a.Items) != 22 {
			t.Errorf("%d steps without a bound", len(a.Items))
		}
		if a, of, err := s.Ledger.RemovedHistory(ctx, "team", "sub", ask); a != nil || of != nil || err != nil {
			t.Errorf("its removed zone: %+v, %+v, %v", a, of, err)
		}
		if _, of, err := s.Ledger.RemovedHistory(ctx, "team", "sub", history.Ask{Limit: 9}); of == nil || err != nil {
			t.Errorf("the removed zone without a bound: %+v, %v", of, err)
		}
		write()
		if a := read(ask); len(a.Items) != 22 || a.Items[21].Step.Time < ask.NotBefore {
			t.Errorf("%d steps of its own", len(a.Items))
		}
		if a := must.Get(s.Ledger.ZoneHistory(ctx, s.Zone("infra", "top"), ask))(t); len(a.Items) != 22 || a.Whole != ask.NotBefore {
			t.Errorf("%d steps of the zone, whole since %d", len(a.Items), a.Whole)
		}
	}
}

// Many namespaces archive steps between two sweeps of old history. Together they exceed the histories' part of etcd's
// quota, which is a tenth, by no more than a third.
func TestHistory_ofManyNamespacesAtOnce(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const all = 100 << 10
	st := store.New(t)
	clock := &store.Clock{} // does not advance, so only octets set the level
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now, c.Quota = clock.Now, func() int64 { return 10 * all } })
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	rnd := rand.New(rand.NewPCG(2, 2))
	sum := func() (octets int64) {
		prefix := layout.Keys{Prefix: st.Prefix}.Room("shares")
		for _, kv := range store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs {
			var share history.Share
			must.Succeed(t, json.Unmarshal(kv.Value, &share))
			octets += share.Octets
		}
		return octets
	}
	most := int64(0)
	for i := range 40 {
		for n := range 12 {
			name := fmt.Sprint("team", n)
			noise := makeNoise(rnd, 1000)
			if i == 0 {
				store.Must(s.CreateRecord(t.Context(), recordAt(name, name)))
			}
			store.Must(s.UpdateRecord(t.Context(), name, name, func(r *v1alpha1.Record) {
				r.Spec.Values, r.Annotations = []string{fmt.Sprint("10.0.0.", i)}, map[string]string{"note": noise}
			}))
		}
		st.Settle()
		most = max(most, sum())
	}
	if most > all*4/3 || sum() < all/2 {
		t.Errorf("up to %d octets, now %d, of %d", most, sum(), all)
	}
}

// While a Zone object is damaged, the sweep of expired history keeps the segments of this zone and deletes those of
// other zones. After the repair, the rest is deleted.
func TestHistory_isSweptBesideADamagedZone(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = clock.Now })
	for _, name := range []string{"damaged", "intact"} {
		store.Must(s.CreateZone(store.Zone("infra", name, name+".org.", store.Allow("", "*"))))
		for i := range 30 {
			store.Must(s.CreateRecord(t.Context(), store.Record(name, fmt.Sprint("r", i), fmt.Sprintf("r%d.%s.org.", i, name), "A",
				"192.0.2.1")))
		}
	}
	st.Settle()
	key := layout.Keys{Prefix: st.Prefix}.Zone("infra", "damaged")
	intact := store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].Value
	store.Must(st.Client.Client.Put(t.Context(), key, "damaged"))
	clock.Pass(history.DefaultRetention + 2*time.Hour)
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if stay, others := countKeys(t, st, "history/damaged"), countKeys(t, st, "history/intact"); stay == 0 || others != 0 {
		t.Errorf("%d segments of the damaged zone, %d of the other", stay, others)
	}
	store.Must(st.Client.Client.Put(t.Context(), key, string(intact)))
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if n := countKeys(t, st, "history/damaged"); n != 0 {
		t.Errorf("%d segments of the repaired zone", n)
	}
}

// An answer about a namespace's Records reads a bounded number of octets. A question for a name that never was is
// answered by empty pages, one after the other, and a question for all by pages that have each step once.
func TestHistory_readsABoundedPage(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const steps, octets = 260, 40_000 // together more than maxRead
	st := store.New(t)
	s := st.Server(archiveAfter(5))
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("", "*"))))
	rnd := rand.New(rand.NewPCG(8, 8))
	makeValues := func() (values []string) {
		for range octets / 4000 {
			values = append(values, `"`+strings.NewReplacer(`"`, "x", `\`, "y").Replace(makeNoise(rnd, 250))+`"`+
				strings.Repeat(` "`+strings.Repeat("z", 250)+`"`, 15))
		}
		return values
	}
	r := store.Record("team", "big", "big.example.org.", "TXT", "x")
	store.Must(s.CreateRecord(t.Context(), r))
	for range steps {
		store.Must(s.UpdateRecord(t.Context(), "team", "big", func(r *v1alpha1.Record) { r.Spec.RData, r.Spec.Values = "", makeValues() }))
	}
	archiveAll(t, st, s, "top")
	read := func(selects func(*history.Item) bool) (pages, items int, longest time.Duration) {
		of := ofRecords("team", z)
		of.Selects = selects
		for ask := (history.Ask{Limit: 1000}); ; {
			began := time.Now()
			a := must.Get(s.Ledger.RecordHistory(t.Context(), of, ask))(t)
			pages, items, longest = pages+1, items+len(a.Items), max(longest, time.Since(began))
			if ask.From = a.Next; ask.From == "" {
				return pages, items, longest
			}
		}
	}
	pages, items, longest := read(func(*history.Item) bool { return false })
	t.Logf("%d pages, the longest took %s", pages, longest)
	if pages < 2 || items != 0 {
		t.Errorf("a name that never was: %d pages with %d steps", pages, items)
	}
	if _, items, _ := read(func(*history.Item) bool { return true }); items != steps+1 {
		t.Errorf("%d steps, want %d", items, steps+1)
	}
}
