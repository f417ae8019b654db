// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

type brake struct {
	*testing.T
	*store.Store
	servers  []*store.Server
	clock    atomic.Int64 // ns
	reported atomic.Int64 // announced holds
	change   []func(*ledger.Config)
}

func newBrake(t *testing.T, servers, records int, change ...func(*ledger.Config)) *brake {
	return newBrakeOn(t, store.New(t), servers, records, change...)
}

func newBrakeOn(t *testing.T, st *store.Store, servers, records int, change ...func(*ledger.Config)) *brake {
	b := &brake{T: t, Store: st}
	b.clock.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano())
	b.change = append(change, func(c *ledger.Config) {
		c.Now = func() time.Time { return time.Unix(0, b.clock.Load()) }
		c.OnHold = func(*v1alpha1.Zone) { b.reported.Add(1) }
	})
	for range servers {
		b.servers = append(b.servers, b.Server(b.change...))
	}
	b.servers[0].Run()
	z := store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("team", "*"))
	z.Spec.Limits = nil
	store.Must(b.pickFirst().CreateZone(z))
	b.Settle()
	b.fillRecords("infra", "r", records)
	b.waitPeriods()
	return b
}

// waitPeriods lets three periods pass, after which all content counts in mass deletions.
func (b *brake) waitPeriods() { b.clock.Add(int64(30 * time.Minute)) }

func (b *brake) pickFirst() *store.Server { return b.servers[0] }

func (b *brake) fillRecords(namespace, prefix string, n int) {
	b.Helper()
	b.runEach(1, n, func(s *store.Server, i int) error {
		r := store.Record(namespace, fmt.Sprint(prefix, i), fmt.Sprint(prefix, i), "A", "192.0.2.1")
		r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
		_, err := s.CreateRecord(b.Context(), r)
		return err
	})
}

func (b *brake) runEach(from, to int, do func(*store.Server, int) error) {
	b.Helper()
	next := atomic.Int64{}
	next.Store(int64(from - 1))
	runParallel(16, func(int) {
		for i := int(next.Add(1)); i <= to && !b.Failed(); i = int(next.Add(1)) {
			if err := do(b.servers[i%len(b.servers)], i); err != nil {
				b.Error(err)
			}
		}
	})
	if b.Failed() {
		b.FailNow()
	}
}

func (b *brake) deleteRecords(namespace, prefix string, from, to int) {
	b.Helper()
	b.runEach(from, to, func(s *store.Server, i int) error {
		return s.DeleteRecord(b.Context(), namespace, fmt.Sprint(prefix, i))
	})
}

func (b *brake) getZone() *v1alpha1.Zone { return b.pickFirst().Zone("infra", "example") }

func (b *brake) expectHeld(held bool) *v1alpha1.Zone {
	b.Helper()
	z := b.getZone()
	c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionSettled)
	if is := c.Reason == v1alpha1.ReasonMassDeletion; is != held || held == (z.Status.SettledSerial == z.Status.Serial) {
		b.Fatalf("Settled=%s %s (%s), serial %d of which %d is settled; held is to be %t", c.Status, c.Reason, c.Message, z.Status.Serial, z.Status.SettledSerial, held)
	}
	return z
}

func (b *brake) publishDeletions(serial int64) {
	b.Helper()
	store.Must(b.pickFirst().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		if z.Annotations == nil {
			z.Annotations = map[string]string{}
		}
		z.Annotations[v1alpha1.AnnotationPublishDeletions] = fmt.Sprint(serial)
	}))
}

// The write of a child zone ends its parent's hold (S7.5). The grandparent counts the change before the answer, because
// no background worker runs.
func TestMassDeletion_putBackByAChild_S7_7(t *testing.T) {
	t.Parallel()
	st, clock := store.New(t), store.Clock{}
	s := st.Server(func(c *ledger.Config) { c.Now = clock.Now })
	stop := s.Run()
	create := func(z *v1alpha1.Zone) {
		t.Helper()
		if z.Spec.NameServers = nil; z.Name == "org" || z.Name == "example" { // the others are not held for their own last NS
			z.Spec.Limits = nil
		}
		z.Spec.Delegations = append(z.Spec.Delegations, v1alpha1.DelegationRule{Zones: []string{"*"}})
		store.Must(s.CreateZone(z))
	}
	ns := func(i int) *v1alpha1.Record {
		return store.Record("infra", fmt.Sprint("ns", i), fmt.Sprintf("c%d.example.org.", i), "NS", "ns.example.net.")
	}
	create(store.Zone("infra", "org", "org."))
	create(store.Zone("infra", "example", "example.org.", store.Allow("infra", "@", "*")))
	own := store.Record("infra", "ns", "example.org.", "NS", "ns.example.net.")
	store.Must(s.CreateRecord(t.Context(), own))
	store.Must(s.CreateRecord(t.Context(), store.Record("infra", "other", "example.org.", "NS", "ns2.example.net.")))
	for i := range 10 {
		create(store.Zone("infra", fmt.Sprint("c", i), fmt.Sprintf("c%d.example.org.", i), store.Allow("infra", "@")))
		store.Must(s.CreateRecord(t.Context(), ns(i)))
	}
	st.Settle()
	stop()
	clock.PassPeriods()
	entries := s.Zone("infra", "org").Status.EntryCount
	held := func(held bool) {
		t.Helper()
		if c := meta.FindStatusCondition(s.Zone("infra", "example").Status.Conditions, v1alpha1.ConditionSettled); c.Reason == v1alpha1.ReasonMassDeletion != held {
			t.Fatalf("Settled=%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	for i := range 10 {
		store.Must(0, s.DeleteRecord(t.Context(), "infra", ns(i).Name))
	}
	held(true)
	store.Must(0, s.DeleteRecord(t.Context(), "infra", own.Name))
	if n := s.Zone("infra", "org").Status.EntryCount; n != entries {
		t.Errorf("org. has %d entries, and had %d: it does not count what it counted", n, entries)
	}
	for i := range 10 {
		store.Must(s.CreateRecord(t.Context(), ns(i)))
		if c := meta.FindStatusCondition(s.Zone("infra", "example").Status.Conditions, v1alpha1.ConditionSettled); c.Reason != v1alpha1.ReasonMassDeletion {
			t.Logf("%d of 10 put back end the hold", i+1)
			break
		}
	}
	held(false)
	if n := s.Zone("infra", "org").Status.EntryCount; n != entries-1 {
		t.Errorf("org. has %d entries, and had %d, one of them example.org.'s NS, which is gone", n, entries)
	}
	if left := store.Must(st.Client.Client.Get(t.Context(), layout.Keys{Prefix: st.Prefix}.Room("debts"), clientv3.WithPrefix())); len(left.Kvs) > 0 {
		t.Errorf("%d pending cuts are left", len(left.Kvs))
	}
	st.MustBeClean()
}

// rowsOf returns the rows of a base. If undo is set, the rows are those of the delivered content.
func rowsOf(t *testing.T, base ledger.Base, undo bool) map[content.Row]bool {
	t.Helper()
	out := map[content.Row]bool{}
	for _, set := range base.RRsets {
		for _, data := range set.Data {
			out[content.Row{Owner: set.Owner, Type: set.Type, Data: data}] = true
		}
	}
	if !undo {
		return out
	}
	for _, step := range slices.Backward(base.UndeliveredSteps) {
		for _, row := range step.Added {
			if !out[row] {
				t.Errorf("step %d added %v, which is not there", step.N, row)
			}
			delete(out, row)
		}
		for _, row := range step.Removed {
			out[row] = true
		}
	}
	return out
}

// A server that starts during a hold gets the delivered state (S7.5), even if the changes exceed the journal: old steps
// are condensed to no more than the difference between the two contents. After the hold the journal is trimmed as
// usual, and nothing remains.
func TestMassDeletion_restart_S7_8(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	const bound = 16 << 10
	b := newBrake(t, 2, 200, func(c *ledger.Config) { c.JournalSteps = 10 }, ledger.JournalOctets(bound), ledger.SerialsEvery(200*time.Millisecond))
	b.deleteRecords("infra", "r", 1, 60)
	whole := rowsOf(t, followLedger(t, b.pickFirst()).bases["infra/example"], false)
	b.deleteRecords("infra", "r", 61, 61)
	z, before := b.expectHeld(true), followLedger(t, b.pickFirst()).bases["infra/example"]
	if z.Status.RRsetCount != 139 || b.reported.Load() != 1 {
		t.Fatalf("%d RRsets are left, %d holds were told", z.Status.RRsetCount, b.reported.Load())
	}
	b.deleteRecords("infra", "r", 62, 200)
	restarted := b.pickFirst()
	most := 0
	for day := range 5 {
		b.clock.Add(int64(24 * time.Hour))
		b.runEach(1, 100, func(s *store.Server, i int) error {
			r := store.Record("team", fmt.Sprint("t", day, "-", i), fmt.Sprintf("t%d.example.org.", i%10), "TXT", fmt.Sprint("v", day, "-", i, strings.Repeat("x", 100)))
			_, err := s.CreateRecord(t.Context(), r)
			return err
		})
		b.runEach(1, 100, func(s *store.Server, i int) error {
			return s.DeleteRecord(t.Context(), "team", fmt.Sprint("t", day, "-", i))
		})
		_, octets := journalOf(t, b.Store, string(z.UID))
		most = max(most, octets+condensedOf(b, string(z.UID)))
		restarted = b.Server(b.change...)
		base := followLedger(t, restarted).bases["infra/example"]
		if base.Settled || len(base.UndeliveredSteps) == 0 || base.UndeliveredSteps[0].From != serial.Serial(z.Status.SettledSerial) || base.Zone.SettledSerial != serial.Serial(z.Status.SettledSerial) {
			t.Fatalf("day %d: settled %t, %d steps since serial %d", day, base.Settled, len(base.UndeliveredSteps), base.Zone.SettledSerial)
		}
		if got := rowsOf(t, base, true); !maps.Equal(got, rowsOf(t, before, true)) || len(got) != len(whole) {
			t.Fatalf("day %d: %d rows are delivered, and %d were", day, len(got), len(whole))
		}
		b.MustBeClean()
	}
	t.Logf("%d octets of journal and of what was condensed at most, after 1,000 changes", most)
	if condensed := condensedOf(b, string(z.UID)); condensed == 0 || most > 8*bound {
		t.Errorf("%d octets of journal and of what was condensed at most, %d of the latter at the end", most, condensed)
	}
	if n := restarted.Ledger.HeldZones(); n != 1 {
		t.Errorf("%d zones are held, as the server that started says", n)
	}
	b.servers = append(b.servers, restarted)
	b.publishDeletions(z.Status.SettledSerial)
	b.expectHeld(false)
	b.fillRecords("team", "u", 60)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		keys, _ := journalOf(t, b.Store, string(z.UID))
		if len(keys) < 50 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys of the journal are left", len(keys))
		}
		b.fillRecords("team", fmt.Sprint("v", time.Now().UnixNano()), 1)
	}
	for deadline := time.Now().Add(time.Minute); condensedOf(b, string(z.UID)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was condensed is left")
		}
	}
}

func condensedOf(b *brake, uid string) (octets int) {
	for _, kv := range store.Must(b.Client.Client.Get(b.Context(), layout.Keys{Prefix: b.Prefix}.Room("condensed")+uid+"/", clientv3.WithPrefix())).Kvs {
		octets += len(kv.Value)
	}
	return octets
}

// A rule is removed, and a long cascade releases all Records of a tenant. The zone is held once, although the cascade
// commits in many steps. Servers that run, and servers that start during the hold, serve the former content, although
// the journal is shorter than the cascade. The return of the rule restores all of it (S7.5).
func TestMassDeletion_ofALongCascade_S7_7(t *testing.T) {
	t.Parallel()
	n := 300
	if rig.Long() {
		n = 10000
	}
	b := newBrake(t, 2, 30, ledger.JournalOctets(16<<10))
	b.fillRecords("team", "t", n)
	b.waitPeriods()
	was := followLedger(t, b.pickFirst()).bases["infra/example"]
	rules := func(delegations ...v1alpha1.DelegationRule) time.Duration {
		began := time.Now()
		store.Must(b.pickFirst().UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = delegations }))
		b.Settle()
		return time.Since(began)
	}
	elapsed := rules(store.Allow("infra", "*"))
	z := b.expectHeld(true)
	if z.Status.RRsetCount != 30 || z.Status.SettledSerial != int64(was.Zone.Serial) || b.reported.Load() != 1 {
		t.Errorf("%d RRsets are left, serial %d is delivered, %d holds were told", z.Status.RRsetCount, z.Status.SettledSerial,
			b.reported.Load())
	}
	_, octets := journalOf(t, b.Store, string(z.UID))
	t.Logf("%d records went in %v; %d octets of journal, and %d of what was condensed", n, elapsed, octets, condensedOf(b, string(z.UID)))
	for _, s := range []*store.Server{b.servers[1], b.Server(b.change...)} {
		base := followLedger(t, s).bases["infra/example"]
		if got := rowsOf(t, base, true); base.Settled || !maps.Equal(got, rowsOf(t, was, false)) {
			t.Errorf("settled %t, %d rows are delivered, and %d were", base.Settled, len(got), len(rowsOf(t, was, false)))
		}
	}
	t.Logf("they came back in %v", rules(store.Allow("infra", "*"), store.Allow("team", "*")))
	if z = b.expectHeld(false); int(z.Status.RRsetCount) != n+30 {
		t.Errorf("%d RRsets are back", z.Status.RRsetCount)
	}
}

// RRsets younger than ten minutes do not hold a zone when they are deleted. Instead, the client gets a single Warning
// when more than 30 % are gone.
func TestMassDeletion_ofYoungRRsets_S7_6(t *testing.T) {
	t.Parallel()
	b := newBrake(t, 1, 0)
	b.fillRecords("infra", "r", 26)
	b.clock.Add(int64(4 * time.Minute))
	received := &warned{}
	ctx := warning.WithWarningRecorder(t.Context(), received)
	for i := range 20 {
		must.Succeed(t, b.pickFirst().DeleteRecord(ctx, "infra", fmt.Sprint("r", i+1)))
	}
	const want = "S7.6: 8 of the 26 RRsets of zone example.org. are removed, more than 30 %, and name servers follow: a mass " +
		"deletion holds a zone for RRsets older than ten minutes only; recreate the Records if this is a mistake"
	if !slices.Equal(received.texts, []string{want}) {
		t.Errorf("the client is told %q, want %q", received.texts, want)
	}
	b.expectHeld(false)
	b.MustBeClean()
}

// If every class has name servers of its own, a zone needs none, and is not held for its last NS. A write of the
// condition Ready, such as the controller's after a class has changed, updates the condition Servable in both
// directions.
func TestServable_ofClassNameServers_S6_15(t *testing.T) {
	t.Parallel()
	var own atomic.Bool
	b := newBrake(t, 1, 0, func(c *ledger.Config) {
		c.HasNameServers = func(*v1alpha1.Zone) bool { return own.Load() }
		c.HasDefaultClass = func(string, string) bool { return true }
	})
	write := func(change func(*v1alpha1.Zone)) *v1alpha1.Zone {
		return store.Must(b.pickFirst().WriteZone(t.Context(), "infra", "example", change))
	}
	expect := func(want string) {
		t.Helper()
		c := meta.FindStatusCondition(b.getZone().Status.Conditions, v1alpha1.ConditionServable)
		if string(c.Status)+" "+c.Reason != want {
			t.Errorf("Servable is %s %s, want %s", c.Status, c.Reason, want)
		}
	}
	judge := func(status metav1.ConditionStatus) {
		write(func(z *v1alpha1.Zone) {
			ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: "Judged"}
			meta.SetStatusCondition(&z.Status.Conditions, ready)
		})
	}
	servers := func(of ...v1alpha1.NameServer) {
		write(func(z *v1alpha1.Zone) { z.Spec.NameServers = of })
	}
	servers(v1alpha1.NameServer{Name: "ns.example.net."})
	expect("True Servable")
	own.Store(true)
	judge(metav1.ConditionTrue)
	expect("True ClassNameServers")
	servers()
	b.expectHeld(false)
	expect("True ClassNameServers")
	own.Store(false)
	judge(metav1.ConditionFalse)
	expect("False NoNameServers")
	own.Store(true)
	judge(metav1.ConditionUnknown)
	expect("True ClassNameServers")
	ready := meta.FindStatusCondition(b.getZone().Status.Conditions, v1alpha1.ConditionReady)
	if ready.Status != metav1.ConditionUnknown || ready.Reason != "Judged" {
		t.Errorf("Ready is %s %s", ready.Status, ready.Reason)
	}
	b.MustBeClean()
}

// The deletion of the last NS at the apex holds a zone by itself. During the hold, the condition Settled is kept up to
// date: further deletions are named, and the NS no longer after a return.
func TestMassDeletion_lastNS_S7_6(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	b := newBrake(t, 2, 20)
	store.Must(b.pickFirst().UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Spec.Delegations = append(z.Spec.Delegations,
			store.Allow("infra", "@"))
	}))
	ns := store.Record("infra", "apex-ns", "@", "NS", "ns.example.net.")
	ns.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "example"}
	store.Must(b.pickFirst().CreateRecord(b.Context(), ns.DeepCopy()))
	store.Must(b.pickFirst().UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.NameServers = nil }))
	b.Settle()
	b.waitPeriods()
	before := b.getZone()
	expect := func(want string) {
		t.Helper()
		z := b.expectHeld(true)
		c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionSettled)
		want = fmt.Sprintf("the zone's own namespace has removed %s; or publishes the deletions: kubectl annotate zone example -n infra "+
			"--overwrite kubi.zone/publish-deletions=%d", want, before.Status.Serial)
		if want = strings.ReplaceAll(want, "SERIAL", fmt.Sprint(before.Status.Serial)); c.Message != want {
			t.Errorf("the condition says\n%s\nand not\n%s", c.Message, want)
		}
	}
	received := &warned{}
	must.Succeed(t, b.pickFirst().DeleteRecord(warning.WithWarningRecorder(b.Context(), received), "infra", "apex-ns"))
	if len(received.texts) != 1 || !strings.HasPrefix(received.texts[0], "S7.6: zone example.org. is held from now on: the zone's own ") {
		t.Errorf("the client is told %q", received.texts)
	}
	const stays, ofNS = ", so serial SERIAL stays delivered; the zone's owner puts back ", "an NS record at the apex, or spec.nameServers"
	expect("the last NS record at the apex" + stays + ofNS)
	b.deleteRecords("infra", "r", 1, 6)
	expect("the last NS record at the apex, and 7 of its 21 RRsets, more than 30 %" + stays + ofNS +
		", and RRsets until no more than 6 are missing")
	b.deleteRecords("infra", "r", 7, 7)
	store.Must(b.pickFirst().CreateRecord(b.Context(), ns.DeepCopy()))
	expect("7 of its 21 RRsets, more than 30 %" + stays + "RRsets until no more than 6 are missing")
	b.fillRecords("infra", "r", 1)
	b.expectHeld(false)
	b.MustBeClean()
}

// A damaged step of the journal hides the delivered content of a held zone, and stops no other zone.
func TestFollow_besideADamagedStepOfAHeldZone(t *testing.T) {
	t.Parallel()
	b := newBrakeOn(t, store.New(t, store.Unchecked), 1, 100)
	store.Must(b.pickFirst().CreateZone(store.Zone("infra", "other", "other.example.")))
	b.deleteRecords("infra", "r", 1, 90)
	z := b.expectHeld(true)
	journal := layout.Keys{Prefix: b.Prefix}.Journal(string(z.UID))
	r := store.Must(b.Client.Client.Get(t.Context(), journal, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey,
		clientv3.SortDescend)))
	store.Must(b.Client.Client.Put(t.Context(), string(r.Kvs[0].Key), strings.Repeat("\xff", 40)))
	after := followLedger(t, b.pickFirst())
	if base := after.bases["infra/example"]; len(after.bases) != 2 || base.Settled || len(base.UndeliveredSteps) > 0 {
		t.Errorf("%+v of %d zones", base, len(after.bases))
	}
}
