// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

type setWrite func(context.Context, *store.Server) error

func createLater(r *v1alpha1.Record) setWrite {
	return func(ctx context.Context, s *store.Server) error {
		_, err := s.CreateRecord(ctx, r)
		return err
	}
}

func changeLater(ns, name string, change func(*v1alpha1.Record)) setWrite {
	return func(ctx context.Context, s *store.Server) error {
		_, err := s.UpdateRecord(ctx, ns, name, change)
		return err
	}
}

func setValuesLater(ns, name string, values ...string) setWrite {
	return changeLater(ns, name, func(r *v1alpha1.Record) { r.Spec.Values = values })
}

func deleteLater(ns, name string) setWrite {
	return func(ctx context.Context, s *store.Server) error { return s.DeleteRecord(ctx, ns, name) }
}

// inSet admits the writes of a change set in order, again if their objects move, and commits them.
func inSet(ctx context.Context, s *store.Server, writes ...setWrite) (*ledger.Set, []error) {
	set := s.Ledger.NewSet(len(writes))
	return set, runSet(ctx, s, set, writes)
}

func runSet(ctx context.Context, s *store.Server, set *ledger.Set, writes []setWrite) []error {
	errs := make([]error, len(writes))
	admit := func(i int) {
		if errs[i] = writes[i](set.InSet(ctx), itemOf(s, set, i)); errs[i] != nil {
			set.Refuse()
		}
	}
	for i := range writes {
		admit(i)
	}
	for moved := set.Commit(); len(moved) > 0; moved = set.Commit() {
		for _, i := range moved {
			admit(i)
		}
	}
	for i := range errs {
		errs[i] = cmp.Or(errs[i], set.ItemErr(i), set.Err())
	}
	return errs
}

// itemOf returns a server whose writes of Records are item i of the set.
func itemOf(s *store.Server, set *ledger.Set, i int) *store.Server {
	item := *s
	item.Records = set.Item(i, s.Records)
	return &item
}

// exampleOrg returns a server with the zone example.org. of namespace platform, open to namespace team, and records at
// the given names.
func exampleOrg(t *testing.T, st *store.Store, names ...string) *store.Server {
	s := st.Server(stopClock)
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*", "@"))))
	for _, name := range names {
		store.Must(s.CreateRecord(t.Context(), store.Record("team", name, name+".example.org.", "A", "192.0.2.1")))
	}
	return s
}

func joinErrors(errs []error) string {
	var lines []string
	for i, err := range errs {
		lines = append(lines, fmt.Sprintf("%d: %v", i, err))
	}
	return strings.Join(lines, "\n")
}

// Each set has a serial of its own. A refused set leaves nothing to the sets after it, and makes none of them fail.
func TestSet_smallOnesShareATransaction_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	g := &gate{}
	s := st.Server(stopClock, func(c *ledger.Config) { c.OnFault = g.passPoint })
	store.Must(s.CreateZone(store.Zone("platform", "example-org", "example.org.", store.Allow("", "*", "@"))))
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "old", "old.example.org.", "A", "192.0.2.1")))
	create := func(name, at, rtype, data string) setWrite {
		return createLater(store.Record("team", name, at+".example.org.", rtype, data))
	}
	alone := func(w setWrite) func() error { return func() error { return w(t.Context(), s) } }
	together := func(requires []v1alpha1.ChangeSetPrerequisite, writes ...setWrite) func() error {
		return func() error {
			_, err := inSetWith(t.Context(), s, requires, writes...)
			return err
		}
	}
	free := []v1alpha1.ChangeSetPrerequisite{requireExists("lease.example.org.", "", false)}
	taken := []v1alpha1.ChangeSetPrerequisite{requireExists("old.example.org.", "", false)}
	g.holdAt("before-commit")
	first := make(chan error, 1)
	go func() { first <- alone(create("first", "first", "A", "192.0.2.1"))() }()
	<-g.reached
	tests := []struct {
		what, refusal string
		write         func() error
	}{
		{"a lease", "", together(free, create("a", "lease", "A", "192.0.2.1"), create("b", "lease", "TXT", "x"))},
		{"a write by itself", "", alone(create("c", "c", "A", "192.0.2.1"))},
		{"a lease of a name that the batch has taken", "prerequisite", together(free, create("d", "lease", "A", "192.0.2.1"))},
		{"a set of which an item is refused", "CNAME", together(nil, create("e", "e", "A", "192.0.2.1"),
			create("f", "old", "CNAME", "a"))},
		{"an unmet prerequisite", "prerequisite", together(taken, create("g", "e", "A", "192.0.2.1"))},
		{"a name that refused sets did not get", "", alone(create("h", "e", "CNAME", "www.example.net."))},
		{"an exchange", "", together(nil, deleteLater("team", "old"), create("i", "old", "CNAME", "www.example.net."))},
		{"a set of one", "", together(nil, create("j", "j", "A", "192.0.2.1"))},
	}
	errs := make([]error, len(tests))
	var all sync.WaitGroup
	for i, test := range tests {
		all.Go(func() { errs[i] = test.write() })
		store.Eventually(t, "it waits at the zone", func() bool { return s.Ledger.Waiting("platform", "example-org") == i+1 })
	}
	serial, sent := s.Zone("platform", "example-org").Status.Serial, s.Ledger.Stats().Transactions.Load()
	g.holdAt("")
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	all.Wait()
	for i, test := range tests {
		if err := errs[i]; (err == nil) != (test.refusal == "") || err != nil && !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%s: %v, want %q", test.what, err, test.refusal)
		}
	}
	if n := s.Ledger.Stats().Transactions.Load() - sent; n != 2 {
		t.Errorf("%d transactions, want that of the first write and one of all that waited", n)
	}
	if now := s.Zone("platform", "example-org").Status.Serial; now != serial+6 { // with the first
		t.Errorf("from serial %d to %d, want 6 steps", serial, now)
	}
	var names []string
	for _, r := range s.ListRecords("team") {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "a b c first h i j" {
		t.Errorf("Records %s", got)
	}
	st.MustBeClean()
}

// The creations, updates and deletions of a change set are one etcd transaction and one serial. Each object still has a
// resourceVersion of its own (S10.2).
func TestSet_isOneSerial_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := exampleOrg(t, st, "a", "b", "c", "d")
	before := s.Zone("platform", "example-org")
	set, errs := inSet(t.Context(), s,
		createLater(store.Record("team", "new", "new.example.org.", "A", "192.0.2.9")), setValuesLater("team", "a", "192.0.2.2"),
		deleteLater("team", "b"),
		changeLater("team", "c", func(r *v1alpha1.Record) { r.Labels = map[string]string{"x": "y"} }),
		changeLater("team", "d", func(*v1alpha1.Record) {}))
	if errors.Join(errs...) != nil || set.NothingWritten() {
		t.Fatalf("unwritten %t: %s", set.NothingWritten(), joinErrors(errs))
	}
	keys, revisions := layout.Keys{Prefix: st.Prefix}, map[int64]bool{}
	for _, key := range []string{keys.Zone("platform", "example-org"), keys.Record("team", "new"), keys.Record("team", "a"), keys.Record("team", "c")} {
		revisions[store.Must(st.Client.Client.Get(t.Context(), key)).Kvs[0].ModRevision] = true
	}
	if len(revisions) != 1 {
		t.Errorf("%d transactions, want one", len(revisions))
	}
	after := s.Zone("platform", "example-org")
	if after.Status.Serial != before.Status.Serial+1 || after.Status.ContentGeneration != before.Status.ContentGeneration+1 {
		t.Errorf("from serial %d to %d", before.Status.Serial, after.Status.Serial)
	}
	if ref, serial := set.CommittedZone(); serial != after.Status.Serial || ref.UID != after.UID || ref.Name != "example-org" {
		t.Errorf("the set says %v at %d", ref, serial)
	}
	unchanged, errs := inSet(t.Context(), s, changeLater("team", "a", func(*v1alpha1.Record) {}))
	if ref, serial := unchanged.CommittedZone(); errs[0] != nil || ref.UID != after.UID || serial != 0 {
		t.Errorf("a set that changes nothing says %v at %d: %v", ref, serial, errs[0])
	}
	versions := map[string]bool{}
	for _, r := range s.ListRecords("team") {
		versions[r.ResourceVersion] = true
		if r.Name != "c" && r.Name != "d" && r.Status.Serial != after.Status.Serial {
			t.Errorf("%s has serial %d", r.Name, r.Status.Serial)
		}
	}
	if len(versions) != 4 {
		t.Errorf("four objects have %d versions", len(versions))
	}
}

// A change set that removes many RRsets and creates them again under other object names is no mass deletion. A set that
// removes too many is one, and the serial before it stays delivered (S10.2).
func TestSet_isOneContentForMassDeletions_S7_5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	exampleOrg(t, st)
	var reported atomic.Int64
	now := time.Now()
	s := st.Server(func(c *ledger.Config) {
		c.Now, c.OnHold = func() time.Time { return now }, func(*v1alpha1.Zone) { reported.Add(1) }
	})
	store.Must(s.UpdateZone("platform", "example-org", func(z *v1alpha1.Zone) { z.Spec.Limits = nil }))
	s.Run()
	st.Settle()
	var first, second, gone []setWrite
	for i := range 20 {
		store.Must(s.CreateRecord(t.Context(), store.Record("platform", fmt.Sprintf("r%d", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
		first = append(first, createLater(store.Record("platform", fmt.Sprintf("s%d", i), fmt.Sprintf("r%d.example.org.", i), "A",
			"192.0.2.2")), deleteLater("platform", fmt.Sprintf("r%d", i)))
		if i < 5 {
			second = append(second, createLater(store.Record("platform", fmt.Sprintf("t%d", i), fmt.Sprintf("t%d.example.org.", i), "A",
				"192.0.2.2")))
		}
		gone = append(gone, deleteLater("platform", fmt.Sprintf("s%d", i)))
	}
	now = now.Add(30 * time.Minute) // a period later
	if _, errs := inSet(t.Context(), s, first...); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	before := s.Zone("platform", "example-org").Status
	if before.SettledSerial != before.Serial || reported.Load() != 0 {
		t.Fatalf("held at %d of %d, told %d times", before.SettledSerial, before.Serial, reported.Load())
	}
	if _, errs := inSet(t.Context(), s, append(second, gone...)...); errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if after := s.Zone("platform", "example-org").Status; after.SettledSerial != before.Serial || after.Serial != before.Serial+1 || reported.Load() != 1 {
		t.Errorf("%d is delivered of %d, want %d; told %d times", after.SettledSerial, after.Serial, before.Serial, reported.Load())
	}
}

// A set whose request has ended writes nothing, and blocks no later write.
func TestSet_endsWithItsRequest_S10_4(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a")
	ctx, cancel := context.WithCancel(t.Context())
	set, errs := inSet(ctx, s, setValuesLater("team", "a", "192.0.2.2"), func(context.Context, *store.Server) error {
		cancel()
		return nil
	})
	if errors.Join(errs...) == nil || !set.NothingWritten() || s.Record("team", "a").Spec.Values[0] != "192.0.2.1" {
		t.Errorf("unwritten %t: %s", set.NothingWritten(), joinErrors(errs))
	}
	if err := setValuesLater("team", "a", "192.0.2.5")(t.Context(), s); err != nil {
		t.Error(err)
	}
}

// The first of two writes of a change set begins with an outdated object, which contradicts the second write. The set
// must begin again with the first write, and must not report the contradiction as damage.
func TestSet_beginsAgainWhereAnEarlierObjectHasChanged_S10_2(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "a", "b")
	rename := func(to string) func(*v1alpha1.Record) {
		return func(r *v1alpha1.Record) { r.Spec.DomainName = to + ".example.org." }
	}
	_, errs := inSet(t.Context(), s, changeLater("team", "a", rename("c")), func(ctx context.Context, item *store.Server) error {
		if s.Record("team", "b").Spec.DomainName == "b.example.org." { // b takes the name of a
			store.Must(s.UpdateRecord(t.Context(), "team", "a", rename("e")))
			store.Must(s.UpdateRecord(t.Context(), "team", "b", rename("a")))
		}
		return changeLater("team", "b", rename("d"))(ctx, item)
	})
	if errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if a, b := s.Record("team", "a").Status.FQDN, s.Record("team", "b").Status.FQDN; a != "c.example.org." || b != "d.example.org." {
		t.Errorf("a is at %s, and b at %s", a, b)
	}
}

// A change set at new names is decided without a read, like a lone Record: the server assumes that keys missing in its
// cache are absent, and the transaction compares this. If the assumption is wrong, the set is read and decided again,
// and refused if a rule demands it.
func TestSet_comparesWhatItTakesForAbsent_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	exampleOrg(t, st, "taken", "other")
	create := func(name, at, rtype, data string) setWrite {
		return createLater(store.Record("team", name, at+".example.org.", rtype, data))
	}
	free, inUse := requireExists("taken.example.org.", "", false), requireExists("taken.example.org.", "", true)
	for what, test := range map[string]struct {
		requires []v1alpha1.ChangeSetPrerequisite
		writes   []setWrite
		guessed  bool
		refusal  string
	}{
		"new names": {writes: []setWrite{create("a", "new", "A", "192.0.2.1"), create("b", "new", "TXT", "x")}, guessed: true},
		"a lease": {requires: []v1alpha1.ChangeSetPrerequisite{requireExists("lease.example.org.", "", false)}, guessed: true,
			writes: []setWrite{create("c", "lease", "A", "192.0.2.1"), create("d", "lease", "TXT", "x")}},
		"beside what stands": {writes: []setWrite{create("e", "taken", "TXT", "x")}},
		"not beside it": {refusal: "CNAME",
			writes: []setWrite{create("f", "free", "A", "192.0.2.1"), create("g", "other", "CNAME", "www.example.net.")}},
		"a name in use that is to be free": {requires: []v1alpha1.ChangeSetPrerequisite{free}, refusal: "prerequisite",
			writes: []setWrite{create("h", "third", "A", "192.0.2.1")}},
		"a name in use that is to be": {requires: []v1alpha1.ChangeSetPrerequisite{inUse},
			writes: []setWrite{create("i", "fourth", "A", "192.0.2.1")}},
	} {
		s := st.Server(stopClock) // with an empty cache
		first := fmt.Sprintf("first%d", s.Zone("platform", "example-org").Status.Serial)
		store.Must(s.CreateRecord(t.Context(), store.Record("team", first, first+".example.org.", "A", "192.0.2.1")))
		serial, stats := s.Zone("platform", "example-org").Status.Serial, s.Ledger.Stats()
		reads, conflicts := stats.Reads.Load(), stats.Conflicts.Load()
		set, err := inSetWith(t.Context(), s, test.requires, test.writes...)
		written := s.Zone("platform", "example-org").Status.Serial == serial+1
		if written != (test.refusal == "") || set.NothingWritten() == written || (err == nil) != written || err != nil && !strings.Contains(err.Error(), test.refusal) {
			t.Errorf("%s: written %t, %v", what, written, err)
		}
		reads, conflicts = stats.Reads.Load()-reads, stats.Conflicts.Load()-conflicts
		if guessed := reads == 0 && conflicts == 0; guessed != test.guessed {
			t.Errorf("%s: %d reads, %d transactions whose compares did not hold", what, reads, conflicts)
		}
	}
}

// Each assumed absence costs a compare, so a change set at deep names may exceed etcd's limit of operations by compares
// alone. The server must then read the keys instead, and write the set.
func TestSet_readsWhereGuessesAreTooMany_S10_4(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = 60 }), "/registry/kubizone")
	s := exampleOrg(t, st)
	var writes []setWrite
	for i := range 3 {
		deep := strings.Repeat(fmt.Sprintf("l%d.", i), 12) + "example.org."
		writes = append(writes, createLater(store.Record("team", fmt.Sprint("r", i), deep, "A", "192.0.2.1")))
	}
	if _, errs := inSet(t.Context(), s, writes...); errors.Join(errs...) != nil {
		t.Error(joinErrors(errs))
	}
}

// A change set with more operations than etcd accepts is refused before any write. The error of each item is 413, and
// recommends a larger --max-txn-ops.
func TestSet_saysWhatEtcdTakes_S10_4(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = 40 }), "/registry/kubizone")
	s := exampleOrg(t, st)
	set := func(n int) (writes []setWrite) {
		for i := range n {
			writes = append(writes, createLater(store.Record("team", fmt.Sprintf("r%d-%d", n, i), fmt.Sprintf("r%d-%d.example.org.", n, i),
				"A", "192.0.2.1")))
		}
		return writes
	}
	_, errs := inSet(t.Context(), s, set(20)...)
	for _, err := range errs {
		if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "more than etcd accepts;") ||
			!strings.Contains(err.Error(), "--max-txn-ops=512") {
			t.Fatal(joinErrors(errs))
		}
	}
	if len(s.ListRecords("team")) != 0 {
		t.Error("something was written")
	}
	if _, errs := inSet(t.Context(), s, set(5)...); errors.Join(errs...) != nil {
		t.Error(joinErrors(errs))
	}
}

// A Warning names hosts, for example of an MX, that are missing in the zone. The lookup costs a change set neither
// reads nor compares, so the set may have as many Records as one with hosts in other zones (S10.4).
func TestSet_looksUpHostsForNothing_S5_14(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = embed.DefaultMaxTxnOps }), "/registry/kubizone")
	s := exampleOrg(t, st, "first")
	reads := func(zone string) int64 {
		var writes []setWrite
		for i := range 40 {
			name := fmt.Sprintf("%s%d", zone[len(zone)-3:], i)
			writes = append(writes, createLater(store.Record("team", name, name+".example.org.", "MX",
				fmt.Sprintf("10 a.in%d.%s.", i, zone), fmt.Sprintf("20 b.in%d.%s.", i, zone))))
		}
		received, before := &warned{}, s.Ledger.Stats().Reads.Load()
		if _, errs := inSet(warning.WithWarningRecorder(t.Context(), received), s, writes...); errors.Join(errs...) != nil {
			t.Fatalf("%s: %v", zone, errs[0])
		}
		if absent := strings.Count(fmt.Sprint(received.texts), "has no record there"); (absent == 80) != (zone == "example.org") {
			t.Errorf("%s: %d Warnings: %q", zone, absent, received.texts)
		}
		return s.Ledger.Stats().Reads.Load() - before
	}
	if elsewhere, here := reads("example.net"), reads("example.org"); here > elsewhere+2 {
		t.Errorf("%d reads, and %d where no host is in the zone", here, elsewhere)
	}
}

// A change set with dozens of NS Records at new names needs few reads to find data below them. Data below an NS,
// whether stored before or written by the same set, is still found and causes a Warning.
func TestSet_readsBelowAllCutsTogether(t *testing.T) {
	t.Parallel()
	st := store.On(t, store.Fresh(t, func(c *embed.Config) { c.MaxTxnOps = 1024 }), "/registry/kubizone")
	s := exampleOrg(t, st, "first")
	cut := func(name string) setWrite {
		return createLater(store.Record("platform", name, name+".example.org.", "NS", "ns.example.net."))
	}
	host := func(name string) setWrite {
		return createLater(store.Record("platform", "host-"+name, "www."+name+".example.org.", "A", "192.0.2.1"))
	}
	write := func(writes ...setWrite) (received *warned, reads int64) {
		received, reads = &warned{}, s.Ledger.Stats().Reads.Load()
		if _, errs := inSet(warning.WithWarningRecorder(t.Context(), received), s, writes...); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		return received, s.Ledger.Stats().Reads.Load() - reads
	}
	write(host("stored"))
	cuts := []setWrite{cut("stored"), host("written"), cut("written")}
	for i := range 50 {
		cuts = append(cuts, cut(fmt.Sprint("new", i)))
	}
	received, reads := write(cuts...)
	if reads > 8 {
		t.Errorf("%d reads for %d cuts", reads, len(cuts)-1)
	}
	for name, want := range map[string]bool{"stored": true, "written": true, "new7": false} {
		if got := slices.ContainsFunc(received.texts, func(text string) bool { return strings.Contains(text, name) }); got != want {
			t.Errorf("a Warning names %s: %v, want %v: %q", name, got, want, received.texts)
		}
	}
}

// A host that the same set creates causes no Warning, whatever the order of the writes.
func TestSet_warnsOfNoHostThatItBrings_S5_14(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t), "first")
	received := &warned{}
	_, errs := inSet(warning.WithWarningRecorder(t.Context(), received), s,
		createLater(store.Record("team", "a", "a.example.org.", "CNAME", "b.example.org.")),
		createLater(store.Record("team", "b", "b.example.org.", "CNAME", "c.example.org.")),
		createLater(store.Record("team", "mail", "mail.example.org.", "MX", "10 host.example.org.")),
		createLater(store.Record("team", "host", "host.example.org.", "A", "192.0.2.1")))
	if errors.Join(errs...) != nil {
		t.Fatal(joinErrors(errs))
	}
	if len(received.texts) != 1 || !strings.Contains(received.texts[0], "names c.example.org., and zone example.org. has no record there") {
		t.Errorf("Warnings %q; want that of c.example.org.", received.texts)
	}
}

// A change set that is too large for an etcd with 512 operations is refused with 413. The error must not recommend
// --max-txn-ops=512, which is set already, and the refusal must not shrink the batches of other writers. As many
// Records at short names fit into one transaction.
func TestSet_tooLargeNarrowsNoBatches_S10_4(t *testing.T) {
	t.Parallel()
	s := exampleOrg(t, store.New(t))
	before := s.Ledger.Ops()
	set := func(owner string) (writes []setWrite) {
		for i := range v1alpha1.MaxChangeSetItems {
			writes = append(writes, createLater(store.Record("team", fmt.Sprintf("r%d", i), fmt.Sprintf(owner+".example.org.", i), "A",
				"192.0.2.1")))
		}
		return writes
	}
	_, errs := inSet(t.Context(), s, set("a%[1]d.b%[1]d.c%[1]d.d%[1]d.e%[1]d.f%[1]d.g%[1]d.h%[1]d")...)
	if !apierrors.IsRequestEntityTooLargeError(errs[0]) || !strings.Contains(errs[0].Error(), "more than etcd accepts;") || strings.Contains(errs[0].Error(), "--max-txn-ops") {
		t.Errorf("%v: want 413 without a larger --max-txn-ops", errs[0])
	}
	if after := s.Ledger.Ops(); after != before {
		t.Errorf("batches have at most %d operations, and had %d before the set", after, before)
	}
	serial := s.Zone("platform", "example-org").Status.Serial
	_, errs = inSet(t.Context(), s, set("r%[1]d")...)
	if errors.Join(errs...) != nil || s.Zone("platform", "example-org").Status.Serial != serial+1 {
		t.Errorf("as many Records at short names: %s", joinErrors(errs))
	}
}

// A change set writes the NS of a child zone, and the parent must follow in a second transaction. That transaction
// takes the parent's lock first, so the set must release the child's lock before. Otherwise both would wait for each
// other until the timeout.
func TestSet_paysWithoutLocks_S10_4(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s := st.Server(stopClock, func(c *ledger.Config) { c.OnFault = g.passPoint })
	top := store.Zone("platform", "top", "example.org.", store.Allow("", "*"))
	top.Spec.Delegations[0].Zones = []string{"*"}
	store.Must(s.CreateZone(top))
	store.Must(s.CreateZone(store.Zone("team", "dev", "dev.example.org.", store.Allow("", "*", "@"))))
	g.holdAt("before-commit")
	var set sync.WaitGroup
	set.Go(func() {
		if _, errs := inSet(withDeadline(t), s, createLater(store.Record("team", "ns", "dev.example.org.", "NS",
			"ns8.example.net."))); errs[0] != nil {
			t.Error(errs[0])
		}
	})
	<-g.reached
	if !s.Ledger.Locked("team", "dev") {
		t.Error("the set is committed without the lock of its zone")
	}
	g.holdAt("before-commit")
	<-g.reached
	if !s.Ledger.Locked("platform", "top") || s.Ledger.AwaitUnlocked(withDeadline(t), "team", "dev") != nil {
		t.Error("the parent is paid without its lock, or under the child's")
	}
	g.holdAt("")
	set.Wait()
}

// Sets that write the same value to two Records run beside single writes, batches and other sets, on two servers. In
// the end, both Records have the value and serial of the same set, and no write is lost.
func TestRace_setsAreWhole_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{exampleOrg(t, st, "left", "right", "count"), st.Server(stopClock)}
	ctx := withDeadline(t)
	var wrote atomic.Int64
	runParallel(8, func(w int) {
		s := servers[w%2]
		for i := range scaleTo(60, 12) {
			value := fmt.Sprintf("192.0.%d.%d", w+1, i+1)
			if w < 4 {
				_, errs := inSet(ctx, s, setValuesLater("team", "left", value), setValuesLater("team", "right", value),
					createLater(store.Record("team", fmt.Sprintf("s%d-%d", w, i), fmt.Sprintf("s%d-%d.example.org.", w, i), "A", value)))
				if errors.Join(errs...) != nil {
					t.Error(joinErrors(errs))
				}
			} else if _, err := s.CreateRecord(ctx, store.Record("team", fmt.Sprintf("r%d-%d", w, i), fmt.Sprintf("r%d-%d.example.org.", w, i), "A", value)); err != nil {
				t.Error(err)
			}
			wrote.Add(1)
		}
	})
	if l, r := pickFirst(servers).Record("team", "left"), pickFirst(servers).Record("team",
		"right"); l.Spec.Values[0] != r.Spec.Values[0] || l.Status.Serial != r.Status.Serial {
		t.Errorf("left is %v at %d, right %v at %d", l.Spec.Values, l.Status.Serial, r.Spec.Values, r.Status.Serial)
	}
	if have := len(pickFirst(servers).ListRecords("team")); int64(have) != wrote.Load()+3 {
		t.Errorf("%d records, want %d", have, wrote.Load()+3)
	}
}

func pickFirst(servers []*store.Server) *store.Server { return servers[0] }

// A server has not yet read the wildcard *.b, and assumes it empty in the first try of a set that creates a Record
// there and moves another away. The next try reads it.
func TestSet_movesFromAWildcardThatItWrites_S10_1(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	s := exampleOrg(t, st)
	store.Must(s.CreateRecord(t.Context(), store.Record("team", "old", "*.b.example.org.", "TXT", "x")))
	_, errs := inSet(t.Context(), st.Server(stopClock),
		createLater(store.Record("team", "new", "*.b.example.org.", "A", "192.0.2.1")),
		changeLater("team", "old", func(r *v1alpha1.Record) { r.Spec.DomainName = "b.example.org." }))
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	st.Settle()
}
