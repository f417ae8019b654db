// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

type namespaces struct{ sync.Map }

func (n *namespaces) setTerminating(namespace string, terminates bool) {
	n.Store(namespace, terminates)
}

func (n *namespaces) configureNamespaces(c *ledger.Config) {
	c.IsTerminating = func(namespace string) bool {
		terminates, _ := n.Load(namespace)
		return terminates == true
	}
}

// waitForCascades waits for cascades and cuts to complete, but not for objects in a terminating namespace.
func waitForCascades(t *testing.T, st *store.Store) {
	t.Helper()
	keys := layout.Keys{Prefix: st.Prefix}
	store.Eventually(t, "the cascades are through", func() bool {
		r := st.Fsck()
		if !r.Clean() {
			t.Fatalf("fsck: %s", store.Text(r))
		}
		for _, f := range r.Pending.List {
			_, is := strings.CutPrefix(f.Key, keys.Room("outbox"))
			if is || strings.HasPrefix(f.Key, keys.Room("debts")) {
				return false
			}
		}
		return true
	})
}

func makeReferringRecord(ns, name string) *v1alpha1.Record {
	r := store.Record(ns, name, name, "TXT", ns)
	r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
	return r
}

// Objects of a terminating namespace are released like others, but not adopted until the namespace is back.
func TestCascade_releasesAndNeverTakesInWhatIsInATerminatingNamespace_S2_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	known := &namespaces{}
	s := st.Server(known.configureNamespaces)
	s.Run()
	ctx := withDeadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	for _, name := range []string{"r1", "r2", "r3"} {
		store.Must(s.CreateRecord(ctx, makeReferringRecord("team-a", name)))
	}
	store.Must(s.CreateRecord(ctx, makeReferringRecord("team-b", "b1")))
	waiting := store.Record("team-a", "waits", "www.example.edu.", "A", "192.0.2.1")
	store.Must(s.CreateRecord(ctx, waiting))
	pending := store.Zone("team-a", "kid", "kid", store.Allow("", "*"))
	pending.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "edu"}
	store.Must(s.CreateZone(pending))
	st.Settle()
	known.setTerminating("team-a", true)

	count := func(n int64) {
		t.Helper()
		if z := s.Zone("infra", "example"); z.Status.EntryCount != n+3 || z.Status.SettledSerial != z.Status.Serial {
			t.Fatalf("entryCount %d, want %d of records; serial %d, settled %d", z.Status.EntryCount, n, z.Status.Serial, z.Status.SettledSerial)
		}
	}
	must.Succeed(t, s.DeleteRecord(ctx, "team-a", "r1"))
	count(3)

	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("infra", "*")} }))
	waitForCascades(t, st)
	for _, r := range []*v1alpha1.Record{s.Record("team-a", "r2"), s.Record("team-b", "b1")} {
		if r.Status.ZoneRef != nil {
			t.Errorf("%s/%s outlives its rule", r.Namespace, r.Name)
		}
	}
	count(0)
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("", "*")} }))
	waitForCascades(t, st)
	if r := s.Record("team-b", "b1"); r.Status.ZoneRef == nil {
		t.Error("a rule that came back does not count")
	}
	count(1)

	store.Must(s.CreateZone(store.Zone("infra", "edu", "example.edu.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	waitForCascades(t, st)
	if r := s.Record("team-a", "waits"); r.Status.ZoneRef != nil {
		t.Error("what waits in a terminating namespace was adopted")
	}
	if z := s.Zone("team-a", "kid"); z.Status.FQDN != "" {
		t.Error("a zone that waits in a terminating namespace stands")
	}

	// When the namespace is created again after a forced finalization, the remaining objects are decided again.
	known.setTerminating("team-a", false)
	st.Settle()
	for _, name := range []string{"waits", "r2", "r3"} {
		if r := s.Record("team-a", name); r.Status.ZoneRef == nil {
			t.Errorf("%s was forgotten", name)
		}
	}
	if z := s.Zone("team-a", "kid"); z.Status.FQDN != "kid.example.edu." {
		t.Errorf("the zone that waited was forgotten: %+v", z.Status)
	}
}

// Two servers learn about namespaces at different times, while zones above their records are created and deleted and
// change their rules. In the end, the rules in force must decide.
func TestCascade_namespacesComeAndGo_S2_6(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	ctx := withDeadline(t)
	known := []*namespaces{{}, {}}
	servers := []*store.Server{st.Server(known[0].configureNamespaces), st.Server(known[1].configureNamespaces)}
	for _, s := range servers {
		s.Run()
	}
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.DelegationRule{Zones: []string{"*"}})))
	for i := range 24 {
		r := makeReferringRecord(fmt.Sprintf("team-%d", i%3), fmt.Sprintf("r%d", i))
		if i%2 == 0 {
			r.Spec.DomainName += ".dev"
		}
		store.Must(servers[0].CreateRecord(ctx, r))
	}
	working, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	var changes atomic.Int64
	for i, s := range servers {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(2, uint64(i)))
			for working.Err() == nil {
				known[i].setTerminating(fmt.Sprintf("team-%d", rnd.IntN(3)), rnd.IntN(2) == 0)
				var err error
				switch rnd.IntN(4) {
				case 0:
					_, err = s.CreateZone(store.Zone("infra", "dev", "dev.example.org.", store.Allow("", "*")))
				case 1:
					err = s.DeleteZone("infra", "dev")
				case 2:
					_, err = s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
						z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow(fmt.Sprintf("team-%d", rnd.IntN(3)), "*", "*.dev"), {Zones: []string{"*"}}}
					})
				case 3:
					err = s.DeleteRecord(ctx, fmt.Sprintf("team-%d", rnd.IntN(3)), fmt.Sprintf("r%d", rnd.IntN(24)))
				}
				if err == nil {
					changes.Add(1)
				} else if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !storage.IsExist(err) && !storage.IsNotFound(err) {
					t.Errorf("%v", err)
				}
				time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond)
			}
		})
	}
	want := int64(scaleTo(60, 20))
	store.Eventually(t, "enough has changed", func() bool { return changes.Load() > want })
	cancel()
	all.Wait()
	report := func(terminates bool) {
		for _, k := range known {
			for i := range 3 {
				k.setTerminating(fmt.Sprintf("team-%d", i), terminates)
			}
		}
	}
	report(true)
	store.Must(servers[0].UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.DelegationRule{store.Allow("team-1", "*", "*.dev"), {Zones: []string{"*"}}}
	}))
	waitForCascades(t, st)
	report(false)
	st.Settle()
}
