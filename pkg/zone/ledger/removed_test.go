// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// The history of a removed zone keeps its Delegations, including those that its user deleted a moment before, or after
// the removal.
func TestRemoved_keepsDelegations(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	s.Ctx = genericapirequest.WithUser(s.Ctx, &user.DefaultInfo{Name: "owner"})
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("infra", "*"))))
	create := func(name string) {
		store.Must(s.CreateDelegation(store.Delegation("infra", name, "top", []string{"team"}, "*."+name)))
	}
	for _, name := range []string{"long-gone", "gone", "stays", "again", "after"} {
		create(name)
	}
	must.Succeed(t, s.DeleteDelegation("infra", "long-gone"))
	clock.Pass(11 * time.Minute)
	must.Succeed(t, s.DeleteDelegation("infra", "again"))
	create("again")
	must.Succeed(t, s.DeleteDelegation("infra", "gone"))
	must.Succeed(t, s.DeleteZone("infra", "top"))
	must.Succeed(t, s.DeleteDelegation("infra", "after"))
	s.Run()
	st.Settle()

	a, of, err := s.Ledger.RemovedHistoryOf(t.Context(), "infra", "example.org.", history.Ask{Limit: 1})
	must.Succeed(t, err)
	if of == nil || of.Name != "top" || of.Zone != string(z.UID) || len(a.Items) != 1 || a.Items[0].Removed == nil {
		t.Fatalf("%+v, %+v", of, a)
	}
	var names []string
	for _, d := range a.Items[0].Removed.Delegations {
		names = append(names, d.Name)
		if !strings.Contains(string(d.State), `"pattern":"*.`+d.Name+`"`) {
			t.Errorf("%s was %s", d.Name, d.State)
		}
	}
	if want := []string{"after", "again", "gone", "stays"}; !slices.Equal(names, want) {
		t.Errorf("Delegations %q, want %q", names, want)
	}
	if n := countKeys(t, st, "archived/"+string(z.UID)+"/@"); n > 0 {
		t.Errorf("%d keys of Delegations are left", n)
	}
	for _, other := range []string{"team", ""} {
		_, of, err := s.Ledger.RemovedHistoryOf(t.Context(), other, "example.org.", history.Ask{Limit: 1})
		if must.Succeed(t, err); (of != nil) != (other == "") {
			t.Errorf("namespace %q finds %+v", other, of)
		}
	}
	clock.Pass(history.DefaultRetention + 2*time.Hour)
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if _, of, err := s.Ledger.RemovedHistoryOf(t.Context(), "", "example.org.", history.Ask{Limit: 1}); err != nil || of != nil {
		t.Errorf("found after its retention: %+v, %v", of, err)
	}
	if n := countKeys(t, st, "archived"); n > 0 {
		t.Errorf("%d keys are left", n)
	}
	st.Settle()
}

// A server stops between two writes of the sweep that deletes the history of a removed zone. No segment may remain
// without its zone's archive key, even if the retention is shorter than an hour.
func TestRemoved_expiresWholeHistories(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	var ends atomic.Bool
	s := st.Server(archiveAfter(5), func(c *ledger.Config) {
		c.Now = clock.Now
		c.OnFault = func(at string) {
			if at == "expire" && ends.Load() {
				runtime.Goexit()
			}
		}
	})
	s.Run()
	z := store.Zone("infra", "top", "example.org.", store.Allow("", "*"))
	z.Spec.HistoryRetention = &metav1.Duration{Duration: 10 * time.Minute}
	store.Must(s.CreateZone(z))
	for i := range 20 {
		store.Must(s.CreateRecord(t.Context(), recordAt("team", fmt.Sprint("r", i))))
	}
	must.Succeed(t, s.DeleteZone("infra", "top"))
	st.Settle()
	if countKeys(t, st, "history") == 0 {
		t.Fatal("nothing is archived")
	}
	clock.Pass(11 * time.Minute)
	ends.Store(true)
	var sweep sync.WaitGroup
	sweep.Go(func() { _ = s.Ledger.SweepHistory(t.Context()) })
	sweep.Wait()
	st.MustBeClean()
	ends.Store(false)
	must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
	if n := countKeys(t, st, "archived") + countKeys(t, st, "history"); n > 0 {
		t.Errorf("%d keys are left", n)
	}
	st.Settle()
}

// A zone keeps a key for the history of each deleted Delegation. There are at most as many keys as the zone had
// Delegations at once, and none after ten minutes. A sweep keeps an unreadable key: it is damage, which fsck reports.
func TestRemoved_boundsDelegations(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	clock := &store.Clock{}
	s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	z := store.Must(s.CreateZone(store.Zone("infra", "top", "example.org.", store.Allow("infra", "*"))))
	most := 0
	for i := range 30 {
		for j := range 3 {
			store.Must(s.CreateDelegation(store.Delegation("infra", fmt.Sprint("d", i, "-", j), "top", []string{"team"}, "*")))
		}
		for j := range 3 {
			must.Succeed(t, s.DeleteDelegation("infra", fmt.Sprint("d", i, "-", j)))
		}
		most = max(most, countKeys(t, st, "archived/"+string(z.UID)+"/@"))
	}
	if most != 3 {
		t.Errorf("%d keys for a zone that had three Delegations", most)
	}
	s.Run()
	st.Settle()
	damaged := layout.Keys{Prefix: st.Prefix}.LeftDelegations(string(z.UID)) + "9"
	store.Must(st.Client.Client.Put(t.Context(), damaged, "damage"))
	for _, want := range []int{4, 1} {
		must.Succeed(t, s.Ledger.SweepHistory(t.Context()))
		if n := countKeys(t, st, "archived/"+string(z.UID)+"/@"); n != want {
			t.Errorf("%d keys at %s, want %d", n, clock.Now(), want)
		}
		clock.Pass(11 * time.Minute)
	}
	store.Must(st.Client.Client.Delete(t.Context(), damaged))
	st.Settle()
}
