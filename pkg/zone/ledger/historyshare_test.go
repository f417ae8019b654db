// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

func makeNoise(rnd *rand.Rand, octets int) string {
	noise := make([]byte, octets)
	for k := range noise {
		noise[k] = byte('!' + rnd.IntN(90))
	}
	return string(noise)
}

// archiveAll writes to a zone until its earlier steps are archived.
func archiveAll(t testing.TB, st *store.Store, s *store.Server, name string) {
	t.Helper()
	z := s.Zone("infra", name)
	last, i := uint64(z.Status.ContentGeneration), int32(0)
	store.Eventually(t, "the steps of zone "+name+" are archived", func() bool {
		i++
		store.Must(s.UpdateZone("infra", name, func(z *v1alpha1.Zone) { z.Spec.TTL = new(1000 + i) }))
		return readArchived(t, st, z).Last >= last
	})
}

func readShare(t testing.TB, st *store.Store, account string) (share history.Share) {
	t.Helper()
	for _, kv := range store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Share(account))).Kvs {
		must.Succeed(t, json.Unmarshal(kv.Value, &share))
	}
	return share
}

// An owner who removes a tenant's Records from the zone and adopts them again pays for these steps. The tenant's own
// steps stay whole.
func TestHistory_ofStepsCausedByAnother_S7_13(t *testing.T) {
	t.Parallel()
	const quota = 4 << 20 // so 100 KiB for a namespace
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now, c.Quota = clock.Now, func() int64 { return quota } })
	s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("team", "*"))))
	rnd, ctx := rand.New(rand.NewPCG(3, 3)), t.Context()
	const records, updates = 8, 2
	for i := range records {
		r := store.Record("team", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")
		r.Annotations = map[string]string{"note": makeNoise(rnd, 4000)}
		store.Must(s.CreateRecord(ctx, r))
		for k := range updates {
			store.Must(s.UpdateRecord(ctx, "team", r.Name, func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprint("10.0.0.", k)} }))
		}
	}
	for range 5 {
		for _, rules := range [][]v1alpha1.DelegationRule{nil, {store.Allow("team", "*")}} {
			store.Must(s.UpdateZone("infra", "top", func(z *v1alpha1.Zone) { z.Spec.Delegations = rules }))
			st.Settle()
			clock.Pass(time.Minute)
		}
	}
	archiveAll(t, st, s, "top")
	must.Succeed(t, s.Ledger.SweepHistory(ctx))
	a := readRecords(t, s, ofRecords("team", s.Zone("infra", "top")), history.Ask{Limit: 10_000})
	own, caused := 0, 0
	for i := range a.Items {
		x := &a.Items[i]
		if x.Step.CausedBy != "" {
			caused++
			continue
		}
		if own++; x.Bare || x.Step.Record.Was != (len(x.Was) == 1) {
			t.Errorf("own step %d: condensed %t, %d states", x.Step.N, x.Bare, len(x.Was))
		}
	}
	share := readShare(t, st, "team")
	if at := clock.Now().Add(-history.DefaultRetention).Unix(); own != records*(1+updates) || caused == 0 || share.Whole > 0 ||
		a.Whole > at {
		t.Errorf("%d own steps, %d caused by others, share %+v, whole since %d", own, caused, share, a.Whole)
	}
	if paid := readShare(t, st, layout.Account("team", "infra")); paid.Octets == 0 || paid.Octets > quota/80 || paid.Whole == 0 {
		t.Errorf("infra pays %+v", paid)
	}
	st.Settle()
}

// A short historyRetention limits the answers about its own zone, but no others.
func TestHistory_ofZonesWithOtherRetentions_S7_13(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(archiveAfter(5), func(c *ledger.Config) { c.Now = clock.Now })
	retentions := map[string]*metav1.Duration{"short": {Duration: time.Hour}, "usual": nil, "none": {}}
	zones := []*v1alpha1.Zone{}
	for name, d := range retentions {
		z := store.Zone("infra", name, name+".org.", store.Allow("", "*"))
		z.Spec.HistoryRetention = d
		zones = append(zones, store.Must(s.CreateZone(z)))
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, "www."+name+".org.", "A", "192.0.2.1")))
	}
	const updates = 20
	for i := range updates {
		for name := range retentions {
			store.Must(s.UpdateRecord(t.Context(), "team", name, func(r *v1alpha1.Record) {
				r.Spec.Values = []string{fmt.Sprint("10.0.0.", i)}
			}))
		}
		clock.Pass(10 * time.Minute) // 200 minutes in all
	}
	st.Settle()
	read := func(zone string) *history.Answer {
		of := ofRecords("team", zones...)
		of.SelectsZone = func(h *history.Header) bool { return strings.HasPrefix(h.FQDN, zone) }
		return readRecords(t, s, of, history.Ask{Limit: 3})
	}
	for _, when := range []string{"before", "after"} {
		now := clock.Now()
		for _, tt := range []struct {
			zone  string
			steps int
			whole time.Duration
		}{{"usual", updates + 1, history.DefaultRetention}, {"short", 6, time.Hour}, {"", updates + 1 + 6, 10 * time.Minute}} {
			a := read(tt.zone)
			whole := now.Sub(time.Unix(a.Whole, 0))
			if n := len(a.Items); n < tt.steps-1 || n > tt.steps+10 || whole > tt.whole+time.Minute ||
				tt.zone != "" && whole < tt.whole-time.Minute {
				t.Errorf("%s the sweep, zone %q: %d steps, want %d, whole since %s, want %s", when, tt.zone, n, tt.steps, whole, tt.whole)
			}
		}
		must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	}

	// Steps that were never archived are missing for good, in the tenant's answer too.
	for _, d := range []*metav1.Duration{{}, nil} {
		store.Must(s.UpdateZone("infra", "usual", func(z *v1alpha1.Zone) { z.Spec.HistoryRetention = d }))
		archiveAll(t, st, s, "usual")
	}
	if a := read("usual"); a.Whole < clock.Now().Add(-11*time.Minute).Unix() { // the last of the 20 updates
		t.Errorf("after a time without history: whole since %s ago", clock.Now().Sub(time.Unix(a.Whole, 0)))
	}
	st.Settle()
}

// A namespace has former Records in many zones, too few in each for the zone to be archived. They are archived once
// they exceed the namespace's limit.
func TestHistory_ofStatesInManyZones_S7_13(t *testing.T) {
	t.Parallel()
	const zones, updates, room = 24, 3, 4 << 20 / 10 / 8
	st := store.New(t)
	rnd := rand.New(rand.NewPCG(4, 4))
	withQuota := func(quota int64) func(*ledger.Config) {
		return func(c *ledger.Config) { c.Quota = func() int64 { return quota } }
	}
	sum := func() (octets int) {
		prefix := layout.Keys{Prefix: st.Prefix}.Room("before")
		for _, kv := range store.Must(st.Client.Client.Get(t.Context(), prefix, clientv3.WithPrefix())).Kvs {
			octets += len(kv.Value)
		}
		return octets
	}
	write := func(s *store.Server, i int) {
		for range updates {
			store.Must(s.UpdateRecord(t.Context(), "team", fmt.Sprint("r", i), func(r *v1alpha1.Record) {
				r.Spec.Values, r.Annotations = []string{fmt.Sprint("10.0.0.", rnd.IntN(250))},
					map[string]string{"note": makeNoise(rnd, 4000)}
			}))
		}
	}
	for _, bounded := range []bool{false, true} {
		s := st.Server(archiveAfter(1000), withQuota(4<<30))
		if bounded {
			s = st.Server(archiveAfter(1000), withQuota(4<<20))
		}
		for i := range zones {
			if !bounded {
				name := fmt.Sprint("z", i, ".org.")
				store.Must(s.CreateZone(store.Zone("infra", fmt.Sprint("z", i), name, store.Allow("", "*"))))
				store.Must(s.CreateRecord(t.Context(), store.Record("team", fmt.Sprint("r", i), "www."+name, "A", "192.0.2.1")))
			}
			write(s, i)
		}
		if !bounded {
			if n := sum(); n < 2*room {
				t.Fatalf("%d octets of states; the test needs more", n)
			}
			continue
		}
		store.Eventually(t, "the states have room", func() bool {
			must.Succeed(t, s.Ledger.SweepStates(t.Context()))
			return sum() <= room/4+64<<10 // the share of a namespace is a quarter of all
		})
		st.Settle()
		for i := range zones {
			items := expectWhole(t, s, s.Zone("infra", fmt.Sprint("z", i)))
			for k := range items {
				if x := &items[k]; x.Step.Record != nil && x.Step.Record.Was && len(x.Was) == 0 && !x.Bare {
					t.Errorf("zone %d: step %d has no state", i, x.Step.N)
				}
			}
		}
	}
}
