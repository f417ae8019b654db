// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// namespaces is what one server has heard of namespaces that terminate.
type namespaces struct{ sync.Map }

func (n *namespaces) set(namespace string, terminates bool) { n.Store(namespace, terminates) }

func (n *namespaces) config(c *ledger.Config) {
	c.Terminating = func(namespace string) bool {
		terminates, _ := n.Load(namespace)
		return terminates == true
	}
}

// through waits until nothing is owed but a decision about what was left in namespaces that terminate.
func through(t *testing.T, st *store.Store, left ...string) {
	t.Helper()
	layout := ledger.Layout{Prefix: st.Prefix}
	store.Eventually(t, "the cascades are through", func() bool {
		r := st.Fsck()
		if !r.Clean() {
			t.Fatalf("fsck: %s", store.Text(r))
		}
		for _, f := range r.Owed.List {
			item, is := strings.CutPrefix(f.Key, layout.Room("outbox"))
			of, isLeft := strings.CutPrefix(item, ledger.LeftID(""))
			if is && !(isLeft && slices.Contains(left, of)) || strings.HasPrefix(f.Key, layout.Room("debts")) {
				return false
			}
		}
		return true
	})
}

func referring(ns, name string) *v1alpha1.Record {
	r := store.Record(ns, name, name, "TXT", ns)
	r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
	return r
}

// While a namespace terminates its zone is renamed, withdraws what it delegates and is removed: each time others are
// decided anew, its records stay as they are, and leave the zone one by one as they are removed (S2.8).
func TestCascade_leavesAloneWhatIsInATerminatingNamespace_S2_8(t *testing.T) {
	st := store.New(t)
	known := &namespaces{}
	s := st.Server(known.config)
	s.Run()
	ctx := deadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	for _, name := range []string{"r1", "r2", "r3", "r4"} {
		store.Must(s.CreateRecord(ctx, referring("team-a", name)))
	}
	for _, name := range []string{"b1", "b2"} {
		store.Must(s.CreateRecord(ctx, referring("team-b", name)))
	}
	waiting := store.Record("team-a", "waits", "www.example.edu.", "A", "192.0.2.1")
	store.Must(s.CreateRecord(ctx, waiting))
	pending := store.Zone("team-a", "kid", "kid", store.Allow("", "*"))
	pending.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "edu"}
	store.Must(s.CreateZone(pending))
	st.Settle()
	known.set("team-a", true)

	count := func(n int64) {
		t.Helper()
		if z := s.Zone("infra", "example"); z.Status.EntryCount != n+3 || z.Status.SettledSerial != z.Status.Serial {
			t.Fatalf("entryCount %d, want %d of records; serial %d, settled %d", z.Status.EntryCount, n, z.Status.Serial, z.Status.SettledSerial)
		}
	}
	untouched := func(version string) {
		t.Helper()
		if r := s.Record("team-a", "r3"); r.Status.ZoneRef == nil || r.ResourceVersion != version {
			t.Fatalf("the record was written: %s after %s, %+v", r.ResourceVersion, version, r.Status)
		}
	}
	version := s.Record("team-a", "r3").ResourceVersion

	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = "example.net." }))
	through(t, st, "team-a")
	if r := s.Record("team-b", "b1"); r.Status.FQDN != "b1.example.net." {
		t.Errorf("the record of a namespace that stays is %s", r.Status.FQDN)
	}
	untouched(version)
	count(6)
	if err := s.DeleteRecord(ctx, "team-a", "r1"); err != nil {
		t.Fatal(err)
	}
	count(5)

	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.Delegation{store.Allow("infra", "*")} }))
	through(t, st, "team-a")
	if r := s.Record("team-b", "b1"); r.Status.ZoneRef != nil {
		t.Error("what was withdrawn from a namespace that stays is in the zone")
	}
	untouched(version)
	count(3)
	if err := s.DeleteRecord(ctx, "team-a", "r2"); err != nil {
		t.Fatal(err)
	}
	count(2)

	store.Must(s.CreateZone(store.Zone("infra", "edu", "example.edu.", store.Allow("", "*"), v1alpha1.Delegation{Zones: []string{"*"}})))
	through(t, st, "team-a")
	if r := s.Record("team-a", "waits"); r.Status.ZoneRef != nil {
		t.Error("what waits in a terminating namespace was adopted")
	}
	if z := s.Zone("team-a", "kid"); z.Status.FQDN != "" {
		t.Error("a zone that waits in a terminating namespace stands")
	}

	if err := s.DeleteZone("infra", "example"); err != nil {
		t.Fatal(err)
	}
	through(t, st, "team-a")
	untouched(version)
	if err := s.DeleteRecord(ctx, "team-a", "r3"); err != nil {
		t.Fatal(err)
	}
	through(t, st, "team-a")

	// Without the item that remembers them they would be damage.
	item := ledger.Layout{Prefix: st.Prefix}.Room("outbox") + ledger.LeftID("team-a")
	kv, err := st.Client.Client.Get(ctx, item)
	if err != nil || len(kv.Kvs) != 1 {
		t.Fatalf("the item: %v, %v", kv, err)
	}
	if _, err := st.Client.Client.Delete(ctx, item); err != nil {
		t.Fatal(err)
	}
	if r := st.Fsck(); r.Damage.Total != 3 {
		t.Errorf("with the item lost, want the record of a removed zone, the one that waits and the zone that waits: %s", store.Text(r))
	}
	if _, err := st.Client.Client.Put(ctx, item, string(kv.Kvs[0].Value)); err != nil {
		t.Fatal(err)
	}

	// The namespace was finalized by force and made again: what is still there is decided anew.
	known.set("team-a", false)
	st.Settle()
	if r := s.Record("team-a", "waits"); r.Status.ZoneRef == nil {
		t.Error("what waited was forgotten")
	}
	if r := s.Record("team-a", "r4"); r.Status.ZoneRef != nil {
		t.Error("a record stands in a zone that was removed")
	}
	if z := s.Zone("team-a", "kid"); z.Status.FQDN != "kid.example.edu." {
		t.Errorf("the zone that waited was forgotten: %+v", z.Status)
	}
}

// A record with a finalizer that is being deleted stays where it is, and is no damage, whatever becomes of its zone; but
// not below a zone that is made over it, where it could be at odds with that zone's name servers (S2.8, S5.7).
func TestCascade_leavesAloneWhatIsBeingDeleted_S2_8(t *testing.T) {
	st := store.New(t)
	s := st.Server()
	s.Run()
	ctx := deadline(t)
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.Delegation{Zones: []string{"*"}})))
	store.Must(s.CreateRecord(ctx, referring("team-a", "r1")))
	alias := referring("team-a", "alias")
	alias.Spec.DomainName, alias.Spec.Type, alias.Spec.Values = "ns1.sub", "CNAME", []string{"elsewhere.example."}
	store.Must(s.CreateRecord(ctx, alias))
	for _, name := range []string{"r1", "alias"} {
		store.Must(s.UpdateRecord(ctx, "team-a", name, func(r *v1alpha1.Record) {
			now := metav1.Now()
			r.DeletionTimestamp, r.Finalizers = &now, []string{"example.com/slow"}
		}))
	}
	st.Settle()
	store.Must(s.CreateZone(store.Zone("infra", "sub", "sub.example.org.", store.Allow("infra", "*"))))
	st.Settle()
	if r := s.Record("team-a", "alias"); r.Status.ZoneRef != nil {
		t.Error("a CNAME stands beside the address of a delegated zone's name server")
	}
	if err := s.DeleteZone("infra", "sub"); err != nil {
		t.Fatal(err)
	}
	st.Settle()
	if r := s.Record("team-a", "alias"); r.Status.ZoneRef != nil {
		t.Error("a record that is being deleted was adopted")
	}
	store.Must(s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.DomainName, z.Spec.Delegations = "example.net.", []v1alpha1.Delegation{store.Allow("infra", "*")}
	}))
	st.Settle()
	if r := s.Record("team-a", "r1"); r.Status.ZoneRef == nil {
		t.Error("a record that is being deleted was released")
	}
	if err := s.DeleteZone("infra", "example"); err != nil {
		t.Fatal(err)
	}
	st.Settle()
	for _, name := range []string{"r1", "alias"} {
		if err := s.DeleteRecord(ctx, "team-a", name); err != nil {
			t.Fatal(err)
		}
	}
	st.Settle()
}

// Two servers hear of namespaces that terminate, go and come again, each in its own time, while zones over their records
// come, go, are renamed and change their delegations: in the end everything is as the rules in force say (S2.8, I4, I5).
func TestCascade_namespacesComeAndGo_S2_8(t *testing.T) {
	st := store.New(t)
	ctx := deadline(t)
	known := []*namespaces{{}, {}}
	servers := []*store.Server{st.Server(known[0].config), st.Server(known[1].config)}
	for _, s := range servers {
		s.Run()
	}
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"), v1alpha1.Delegation{Zones: []string{"*"}})))
	for i := range 24 {
		r := referring(fmt.Sprintf("team-%d", i%3), fmt.Sprintf("r%d", i))
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
				known[i].set(fmt.Sprintf("team-%d", rnd.IntN(3)), rnd.IntN(2) == 0)
				var err error
				switch rnd.IntN(5) {
				case 0:
					_, err = s.CreateZone(store.Zone("infra", "dev", "dev.example.org.", store.Allow("", "*")))
				case 1:
					err = s.DeleteZone("infra", "dev")
				case 2:
					_, err = s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
						z.Spec.Delegations = []v1alpha1.Delegation{store.Allow(fmt.Sprintf("team-%d", rnd.IntN(3)), "*", "*.dev"), {Zones: []string{"*"}}}
					})
				case 3:
					_, err = s.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.DomainName = []string{"example.org.", "example.net."}[rnd.IntN(2)] })
				case 4:
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
	want := int64(scale(60, 20))
	store.Eventually(t, "enough has changed", func() bool { return changes.Load() > want })
	cancel()
	all.Wait()
	tell := func(terminates bool) {
		for _, k := range known {
			for i := range 3 {
				k.set(fmt.Sprintf("team-%d", i), terminates)
			}
		}
	}
	tell(true)
	store.Must(servers[0].UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = []v1alpha1.Delegation{store.Allow("team-1", "*", "*.dev"), {Zones: []string{"*"}}}
	}))
	through(t, st, "team-0", "team-1", "team-2")
	tell(false)
	st.Settle()
}

// A server that still believes that a namespace terminates leaves alone what another is deciding anew, since that knows
// better: what that was through with is decided once more (S2.8, I5).
func TestCascade_leftAloneWhileItIsDecidedAnew_S2_8(t *testing.T) {
	st := store.New(t)
	ctx := deadline(t)
	stale, fresh := &namespaces{}, &namespaces{}
	stale.set("team-a", true)
	fresh.set("team-a", true)
	var steps atomic.Int64
	halfway, goOn := make(chan struct{}), make(chan struct{})
	behind, ahead := st.Server(stale.config), st.Server(fresh.config, func(c *ledger.Config) {
		c.Fault = func(point string) {
			if point == "cascade-step" && steps.Add(1) == 2 {
				close(halfway)
				<-goOn
			}
		}
	})
	behind.Run()
	store.Must(behind.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	for i := range 40 { // more than are decided in one go
		store.Must(behind.CreateRecord(ctx, referring("team-a", fmt.Sprintf("r%d", i))))
	}
	allow := func(ns string) {
		store.Must(behind.UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = []v1alpha1.Delegation{store.Allow(ns, "*")} }))
		through(t, st, "team-a")
	}
	allow("team-a")
	fresh.set("team-a", false)
	ahead.Run()
	select {
	case <-halfway:
	case <-ctx.Done():
		t.Fatal("nobody decides anew what was left alone")
	}
	allow("infra")
	stale.set("team-a", false)
	close(goOn)
	st.Settle()
	for _, r := range behind.ListRecords("team-a") {
		if r.Status.ZoneRef != nil {
			t.Errorf("%s is in a zone that does not delegate it", r.Name)
		}
	}
}
