// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// archiveAfter has a server archive all but the last steps.
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

// recordsIn returns the states of the Records in a zone, by namespace and name.
func recordsIn(t testing.TB, s *store.Server, z *v1alpha1.Zone, namespaces ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, ns := range namespaces {
		for _, r := range s.ListRecords(ns) {
			if r.Status.ZoneRef != nil && r.Status.ZoneRef.UID == z.UID {
				out[ns+"/"+r.Name] = stateText(t, must.Get(history.Pack(&r, &r.Spec, history.MaxState))(t))
			}
		}
	}
	return out
}

func stateText(t testing.TB, packed []byte) string {
	t.Helper()
	return string(must.Get(history.Unpack(packed))(t))
}

// undoItem is the twin of a revert: it leads from the Records after a step to those before it.
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

// The Records before any step follow from the present ones and the steps since, whatever wrote, whether a step is in
// the journal or archived, and on any page.
func TestHistory_leadsBackToEveryStep(t *testing.T) {
	t.Parallel()
	for seed := range uint64(scaleTo(40, 8)) {
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

// BenchmarkCreate_archived is BenchmarkCreate with the usual journal, whose steps are archived meanwhile.
func BenchmarkCreate_archived(b *testing.B) {
	st := store.On(b, store.Fresh(b), "/registry/kubizone")
	s := st.Server(archiveAfter(0))
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("team", "*"))))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("r", i)
		store.Must(s.CreateRecord(b.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
}

var _ = time.Second
