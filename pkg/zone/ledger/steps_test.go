// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// populateZone creates a settled zone, and n records of team-a that refer to it. No server runs the outbox.
func populateZone(t *testing.T, st *store.Store, s *store.Server, n int) {
	t.Helper()
	stop := s.Run()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	stop()
	fillZone(t, s, n, func(i int) *v1alpha1.Record {
		r := store.Record("team-a", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d", i), "A", "192.0.2.1")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
		return r
	})
}

func withdrawRules(t *testing.T, s *store.Server) {
	t.Helper()
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-b", "*")}
	}))
}

// A client that writes beside a long cascade waits for a single run of its steps. The test counts the serials between
// two writes of the client.
func TestCascade_leavesClientsTheirTurn(t *testing.T) {
	notUnderRace(t)
	st := store.New(t)
	s := st.Server(stopClock)
	n := scaleTo(1500, 400)
	populateZone(t, st, s, n)
	withdrawRules(t, s)
	s.Run()
	var between []int64
	last := int64(0)
	for i := 0; ; i++ {
		name := fmt.Sprintf("b-%d", i)
		r := must.Get(s.CreateRecord(t.Context(), store.Record("team-b", name, name+".example.org.", "A", "192.0.2.2")))(t)
		if last > 0 {
			between = append(between, r.Status.Serial-last)
		}
		last = r.Status.Serial
		if i%8 == 0 && meta.IsStatusConditionTrue(s.Zone("infra", "example").Status.Conditions, v1alpha1.ConditionSettled) {
			break
		}
	}
	slices.Sort(between)
	if len(between) < 8 || between[len(between)/2] > 100 {
		t.Errorf("%d writes among %d steps, between two of them mostly %d steps", len(between), n, between[len(between)/2])
	}
	t.Logf("%d writes among %d steps", len(between), n)
	st.Settle()
}

// A second server starts while the first runs a long cascade. The second server sees the progress and leaves the work
// to the first, so few steps are done twice.
func TestCascade_oneServerAtATime(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	slow := func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "cascade-step" {
				time.Sleep(250 * time.Millisecond) // many more follow
			}
		}
	}
	servers := []*store.Server{st.Server(slow), st.Server(slow)}
	const goes, each = 16, 16
	populateZone(t, st, servers[0], goes*each)
	steps := func(i int) int64 { return servers[i].Ledger.Stats().CascadeSteps.Load() / each }
	already := steps(0) + steps(1)
	withdrawRules(t, servers[0])
	servers[0].Run()
	store.Eventually(t, "it is at work", func() bool { return steps(0) > 4 })
	servers[1].Run()
	st.Settle()
	if all := steps(0) + steps(1) - already; all > goes+12 {
		t.Errorf("%d goes for the work of %d: both did it", all, goes)
	}
	t.Logf("%d and %d goes", steps(0), steps(1))
}

func TestCascade_goesOnBehindItsCursor_I4(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	const n = 320
	slow := st.Server(func(c *ledger.Config) {
		c.OnFault = func(point string) {
			if point == "cascade-step" {
				time.Sleep(150 * time.Millisecond)
			}
		}
	})
	populateZone(t, st, slow, n)
	store.Must(slow.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-b", "*")}
		z.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: time.Hour} // decided records stay
	}))
	var item law.Work
	read := func() bool {
		item = law.Work{}
		r := must.Get(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Room("outbox"), clientv3.WithPrefix()))(t)
		must.Succeed(t, json.Unmarshal(r.Kvs[0].Value, &item))
		return item.Cursor != nil
	}
	stop := slow.Run()
	store.Eventually(t, "the item has a cursor", read)
	stop()
	read()
	decided := 0
	for _, r := range slow.ListRecords("team-a") {
		if at := r.CreationTimestamp.Unix(); at < item.Cursor.Created || at == item.Cursor.Created && string(r.UID) <= item.Cursor.UID {
			decided++
		}
	}
	next := st.Server()
	next.Run()
	st.Settle()
	if steps := next.Ledger.Stats().CascadeSteps.Load(); decided == 0 || steps != int64(n-decided) {
		t.Errorf("of %d records %d stand before the cursor, and the next server decides %d", n, decided, steps)
	}
	for _, r := range next.ListRecords("team-a") {
		if r.Status.EndsAt == nil {
			t.Fatalf("%s was not decided anew", r.Name)
		}
	}
}
