// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/store"
)

// scaleTo returns full in the long form, and otherwise small. Under the race detector, where `make test-race` passes
// -short, it returns a quarter of small, because steps cost four times as much, and few collisions suffice to find a
// race.
func scaleTo(full, small int) int {
	switch {
	case rig.Long():
		return full
	case testing.Short():
		return (small + 3) / 4
	}
	return small
}

// notUnderRace skips tests with sequential clients, controls, and kills of a server at each point. TestRace_*,
// TestCrash_* and cascades beside clients keep their concurrency.
func notUnderRace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: one step at a time, which the race detector learns nothing from")
	}
}

// stopClock makes each change of a definition advance the serial by one (S6.8).
func stopClock(c *ledger.Config) {
	now := time.Now()
	c.Now = func() time.Time { return now }
}

func runParallel(n int, work func(worker int)) {
	var wg sync.WaitGroup
	for w := range n {
		wg.Go(func() { work(w) })
	}
	wg.Wait()
}

// withDeadline ends a load that hangs. Sixteen workers write for seconds alone, and for minutes beside other packages.
func withDeadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// mixture is the load of the race tests: 40 % creations, 20 % updates, 20 % deletions, and 20 % increments of shared
// counters, by 16 workers on two servers. Every acknowledged write changes a definition once.
type mixture struct {
	t       *testing.T
	servers []*store.Server
	zones   int
	acked   []atomic.Int64 // by zone
	added   []atomic.Int64 // increments by zone
	errors  atomic.Int64
	// tolerate permits writes to fail, as they may without guards.
	tolerate bool
}

const counters = 8

func zoneName(z int) string { return fmt.Sprintf("z%d", z) }

func newMixture(t *testing.T, servers []*store.Server, zones int) *mixture {
	m := &mixture{t: t, servers: servers, zones: zones, acked: make([]atomic.Int64, zones), added: make([]atomic.Int64, zones)}
	for z := range zones {
		store.Must(servers[0].CreateZone(store.Zone("infra", zoneName(z), zoneName(z)+".test.", store.Allow("", "*"))))
		for c := range counters {
			store.Must(servers[0].CreateRecord(t.Context(), store.Record("infra", fmt.Sprintf("%s-counter-%d", zoneName(z), c), fmt.Sprintf("counter-%d.%s.test.", c, zoneName(z)), "TXT", "0")))
		}
	}
	return m
}

func (m *mixture) runMixture(workers, writes int) {
	ctx := withDeadline(m.t)
	runParallel(workers, func(w int) {
		s, rnd := m.servers[w%len(m.servers)], rand.New(rand.NewPCG(uint64(w), 1))
		type mine struct {
			name string
			zone int
		}
		var have []mine
		for i := range writes {
			var err error
			var zone int
			switch p := rnd.IntN(10); {
			case p < 4 || len(have) == 0:
				zone = rnd.IntN(m.zones)
				x := mine{fmt.Sprintf("r-%d-%d", w, i), zone}
				// A third of a worker's records share owner names.
				owner := x.name
				if i%3 == 0 {
					owner = fmt.Sprintf("shared-%d-%d", w, rnd.IntN(4))
				}
				r := store.Record(fmt.Sprintf("team-%d", w), x.name, fmt.Sprintf("%s.%s.test.", owner, zoneName(zone)), "TXT", "created "+x.name)
				if i%4 == 0 {
					ttl := int32(30 + i%3)
					r.Spec.TTL = &ttl
				}
				if _, err = s.CreateRecord(ctx, r); err == nil {
					have = append(have, x)
				}
			case p < 6:
				x := have[rnd.IntN(len(have))]
				zone = x.zone
				_, err = s.UpdateRecord(ctx, fmt.Sprintf("team-%d", w), x.name, func(r *v1alpha1.Record) { r.Spec.Values = []string{fmt.Sprintf("updated %s %d", x.name, i)} })
			case p < 8:
				j := rnd.IntN(len(have))
				x := have[j]
				zone = x.zone
				if err = s.DeleteRecord(ctx, fmt.Sprintf("team-%d", w), x.name); err == nil {
					have = append(have[:j], have[j+1:]...)
				}
			default:
				zone = rnd.IntN(m.zones)
				_, err = s.UpdateRecord(ctx, "infra", fmt.Sprintf("%s-counter-%d", zoneName(zone), rnd.IntN(counters)), func(r *v1alpha1.Record) {
					n, _ := strconv.Atoi(strings.Trim(r.Spec.Values[0], `"`))
					r.Spec.Values = []string{strconv.Itoa(n + 1)}
				})
				if err == nil {
					m.added[zone].Add(1)
				}
			}
			if err != nil {
				if m.errors.Add(1); !m.tolerate {
					m.t.Errorf("worker %d, write %d: %v", w, i, err)
					return
				}
				continue
			}
			m.acked[zone].Add(1)
		}
	})
}

// findFaults compares the acknowledged writes with the zones, and describes the differences.
func (m *mixture) findFaults(before []*v1alpha1.Zone) (faults []string) {
	s := m.servers[0]
	for z := range m.zones {
		after := s.Zone("infra", zoneName(z))
		acked := m.acked[z].Load()
		if got := after.Status.ContentGeneration - before[z].Status.ContentGeneration; got != acked {
			faults = append(faults, fmt.Sprintf("zone %d: %d steps for %d acknowledged changes", z, got, acked))
		}
		if got := after.Status.Serial - before[z].Status.Serial; got != acked {
			faults = append(faults, fmt.Sprintf("zone %d: the serial grew by %d with %d acknowledged changes", z, got, acked))
		}
		var sum int64
		for c := range counters {
			n, _ := strconv.Atoi(strings.Trim(s.Record("infra", fmt.Sprintf("%s-counter-%d", zoneName(z), c)).Spec.Values[0], `"`))
			sum += int64(n)
		}
		if sum != m.added[z].Load() {
			faults = append(faults, fmt.Sprintf("zone %d: the counters say %d after %d increments", z, sum, m.added[z].Load()))
		}
	}
	return faults
}

func (m *mixture) readZones() (zones []*v1alpha1.Zone) {
	for z := range m.zones {
		zones = append(zones, m.servers[0].Zone("infra", zoneName(z)))
	}
	return zones
}

// waitForBatches makes every other server wait for full batches, whatever the speed of the disk.
func waitForBatches(server int) func(*ledger.Config) {
	if server%2 == 1 {
		return ledger.SlowCommit(-1)
	}
	return func(*ledger.Config) {}
}

func testMixture(t *testing.T, servers, zones, writes int, change ...func(*store.Store)) {
	st := store.New(t, change...)
	var all []*store.Server
	for i := range servers {
		all = append(all, st.Server(stopClock, waitForBatches(i), ledger.CheckCovered))
	}
	m := newMixture(t, all, zones)
	m.servers[0].Run()
	st.Settle()
	before := m.readZones()
	started := time.Now()
	m.runMixture(16, writes)
	elapsed := time.Since(started)
	for _, f := range m.findFaults(before) {
		t.Error(f)
	}
	r := st.Fsck()
	if !r.Clean() {
		t.Errorf("fsck: %s", store.Text(r))
	}
	var n int64
	for z := range m.acked {
		n += m.acked[z].Load()
	}
	var sent, lost, batches int64
	for _, s := range all {
		x := s.Ledger.Stats()
		sent, lost, batches = sent+x.Transactions.Load(), lost+x.Conflicts.Load(), batches+x.Batches.Load()
		if n := x.UncoveredFacts.Load(); n > 0 {
			t.Errorf("%d facts were written beside their zone", n)
		}
	}
	if zones == 1 && batches == 0 {
		t.Error("no batch: this test did not see what it is about")
	}
	t.Logf("%d changes in %v (%.0f/s), %d transactions, %d of them batches, %d lost; %d journal steps replayed", n, elapsed.Round(time.Millisecond),
		float64(n)/elapsed.Seconds(), sent, batches, lost, r.Steps)
}

func TestRace_oneSerialForEachChangeOfOneZone_I3(t *testing.T) {
	t.Parallel()
	testMixture(t, 2, 1, scaleTo(500, 60))
}
func TestRace_oneSerialForEachChangeOf16Zones_I3(t *testing.T) {
	t.Parallel()
	testMixture(t, 2, 16, scaleTo(250, 60))
}
func TestRace_threeServersOnOneZone_I3(t *testing.T) {
	t.Parallel()
	testMixture(t, 3, 1, scaleTo(100, 40))
}
func TestRace_underEncryption_I3(t *testing.T) {
	t.Parallel()
	testMixture(t, 2, 1, scaleTo(100, 40), store.Encrypted(makeTransformer("one")))
}

func TestRace_oneRecordForTwoZones_I5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server(waitForBatches(1))}
	for _, z := range []string{"a", "b"} {
		store.Must(servers[0].CreateZone(store.Zone("infra", z, z+".test.", store.Allow("", "*"))))
	}
	store.Eventually(t, "both servers know both zones", func() bool {
		return servers[1].Ledger.Knows("", "a.test.") && servers[1].Ledger.Knows("", "b.test.")
	})
	ctx := withDeadline(t)
	const names, writers = 40, 16
	var won atomic.Int64
	runParallel(writers, func(w int) {
		zone := []string{"a", "b"}[w%2]
		for i := range names {
			name := fmt.Sprintf("r-%d-%d", w/4, i)
			_, err := servers[w/2%2].CreateRecord(ctx, store.Record("team", name, name+"."+zone+".test.", "A", "192.0.2.1"))
			if err == nil {
				won.Add(1)
			} else if !storage.IsExist(err) {
				t.Errorf("%s in %s: %v", name, zone, err)
			}
		}
	})
	if won.Load() != names*writers/4 {
		t.Errorf("%d records were made under %d names", won.Load(), names*writers/4)
	}
	servers[0].Run()
	st.Settle()
}

func TestRace_withoutTheCompareOfZonesTheDamageIsSeen(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	st := store.New(t)
	st.Damaged = true
	drop := ledger.DropCompares("zone")
	m := newMixture(t, []*store.Server{st.Server(stopClock, drop), st.Server(stopClock, drop)}, 1)
	m.tolerate = true
	stop := m.servers[0].Run()
	st.Settle()
	stop()
	before := m.readZones()
	m.runMixture(16, 60)
	faults, r := m.findFaults(before), st.Fsck()
	if len(faults) == 0 || r.Clean() {
		t.Errorf("two servers wrote one zone without comparing its revision, and the test saw: %v; fsck: %s", faults, store.Text(r))
	}
	t.Logf("seen: %v, and %d findings of fsck", faults, r.Damage.Total)
}

func TestRace_noRecordComesInAfterItsDelegationWent_I5(t *testing.T) {
	t.Parallel()
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server(waitForBatches(1))}
	servers[0].Run()
	var inside, outside, refused int
	flips := scaleTo(5, 2)
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"), store.Allow("team-a", "*"))))
	type interval struct{ deny, allow int64 }
	var intervals []interval
	var mu sync.Mutex
	var adopted []int64
	done, ctx := make(chan struct{}), withDeadline(t)
	var wg sync.WaitGroup
	var created atomic.Int64
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				r, err := servers[w%2].CreateRecord(ctx, store.Record("team-a", fmt.Sprintf("r-%d-%d", w, i), fmt.Sprintf("r-%d-%d.example.org.", w, i), "A", "192.0.2.1"))
				mu.Lock()
				switch {
				case err == nil && r.Status.ZoneRef != nil:
					adopted = append(adopted, parseRevision(r.ResourceVersion))
					created.Add(1)
				case apierrors.IsForbidden(err):
					refused++
				default:
					t.Errorf("neither in nor refused: %v, %+v", err, r.Status)
				}
				mu.Unlock()
			}
		})
	}
	for range flips {
		seen := created.Load()
		store.Eventually(t, "records come in", func() bool { return created.Load() >= seen+20 })
		z := store.Must(servers[0].UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:1] }))
		x := interval{deny: parseRevision(z.ResourceVersion)}
		mu.Lock()
		before := refused
		mu.Unlock()
		store.Eventually(t, "refusals", func() bool { mu.Lock(); defer mu.Unlock(); return refused >= before+20 })
		z = store.Must(servers[1].UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = append(z.Spec.Delegations, store.Allow("team-a", "*")) }))
		x.allow = parseRevision(z.ResourceVersion)
		intervals = append(intervals, x)
	}
	seen := created.Load()
	store.Eventually(t, "records come in again", func() bool { return created.Load() >= seen+20 })
	z := store.Must(servers[0].UpdateZone("infra", "example", func(z *v1alpha1.Zone) { z.Spec.Delegations = z.Spec.Delegations[:1] }))
	intervals = append(intervals, interval{deny: parseRevision(z.ResourceVersion), allow: 1 << 62})
	time.Sleep(50 * time.Millisecond) // let them try after the withdrawal
	close(done)
	wg.Wait()
	for _, rev := range adopted {
		leaked := false
		for _, x := range intervals {
			leaked = leaked || rev >= x.deny && rev < x.allow
		}
		if leaked {
			inside++
		} else {
			outside++
		}
	}
	if inside > 0 {
		t.Errorf("%d records came in at a revision where their delegation was withdrawn", inside)
	}
	t.Logf("%d records while allowed, %d refusals", outside, refused)
	st.Settle()
	for _, r := range servers[0].ListRecords("team-a") {
		if r.Status.ZoneRef != nil {
			t.Fatalf("record %s is still adopted after the cascade (S2.5)", r.Name)
		}
	}
}

func parseRevision(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// A write that has lost a race keeps its place in the queue, so all writes of a zone finish.
func TestRace_zoneWritesFinishUnderLoad(t *testing.T) { testZoneWrites(t, 8, 2, scaleTo(200, 40)) }

// Writes of a zone also finish while another server makes its batches as large as possible.
func TestRace_zoneWritesFinishUnderTheLoadOfAnotherServer(t *testing.T) {
	testZoneWrites(t, 64, 1, scaleTo(60, 20))
}

// testZoneWrites writes a zone n times through the first of two servers, or through both, while other clients write
// records through the second, or both.
func testZoneWrites(t *testing.T, writers, both, n int) {
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server(waitForBatches(1))}
	servers[0].Run()
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	st.Settle()
	done, ctx := make(chan struct{}), withDeadline(t)
	var wg sync.WaitGroup
	var writes atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprintf("r-%d", w)
				var err error
				if i == 0 {
					_, err = servers[1-w%both].CreateRecord(ctx, store.Record("infra", name, name+".example.org.", "TXT", "0"))
				} else {
					_, err = servers[1-w%both].UpdateRecord(ctx, "infra", name, func(r *v1alpha1.Record) { r.Spec.Values = []string{strconv.Itoa(i)} })
				}
				if err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				writes.Add(1)
			}
		})
	}
	store.Eventually(t, "all of them write", func() bool { return writes.Load() >= int64(2*writers) || t.Failed() })
	var elapsed, worst time.Duration
	for i := range n {
		if both == 1 { // the other server continues meanwhile
			time.Sleep(20 * time.Millisecond)
		}
		begin := time.Now()
		_, err := servers[i%both].WriteZone(ctx, "infra", "example", func(z *v1alpha1.Zone) {
			if z.Annotations == nil {
				z.Annotations = map[string]string{}
			}
			z.Annotations["count"] = strconv.Itoa(i)
			if i%4 >= 2 {
				ttl := int32(300 + i)
				z.Spec.TTL = &ttl
				z.Generation++
			}
		})
		if err != nil {
			t.Fatalf("write %d of the zone: %v", i, err)
		}
		elapsed += time.Since(begin)
		worst = max(worst, time.Since(begin))
	}
	close(done)
	wg.Wait()
	if worst > 10*time.Second {
		t.Errorf("one write of the zone took %v", worst)
	}
	t.Logf("%d writes of the zone beside %d of records: mean %v, worst %v", n, writes.Load(), (elapsed / time.Duration(n)).Round(time.Microsecond), worst.Round(time.Microsecond))
}

// Two servers write a zone at full speed, and neither keeps the other from writing. The longest waits are only logged,
// because they depend on the machine.
func TestRace_neitherServerStarves(t *testing.T) {
	for try := 1; ; try++ { // a busy machine may stop a server for most of a try
		if starved := findStarving(t); starved == "" {
			return
		} else if try == 3 {
			t.Fatal(starved)
		} else {
			t.Log(starved)
		}
	}
}

func findStarving(t *testing.T) string {
	st := store.New(t)
	servers := []*store.Server{st.Server(), st.Server(waitForBatches(1))}
	store.Must(servers[0].CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	ctx := withDeadline(t)
	var mu sync.Mutex
	var elapsed [2][]time.Duration
	until := time.Now().Add(time.Second)
	if rig.Long() {
		until = until.Add(2 * time.Second)
	}
	runParallel(16, func(w int) {
		name := fmt.Sprintf("r-%d", w)
		for i := 0; time.Now().Before(until); i++ {
			var err error
			began := time.Now()
			if i == 0 {
				_, err = servers[w%2].CreateRecord(ctx, store.Record("infra", name, name+".example.org.", "TXT", "0"))
			} else {
				_, err = servers[w%2].UpdateRecord(ctx, "infra", name, func(r *v1alpha1.Record) { r.Spec.Values = []string{strconv.Itoa(i)} })
			}
			if err != nil {
				t.Errorf("writer %d: %v", w, err)
				return
			}
			mu.Lock()
			elapsed[w%2] = append(elapsed[w%2], time.Since(began))
			mu.Unlock()
		}
	})
	var each [2]string
	for i := range each {
		slices.Sort(elapsed[i])
		n, stats := len(elapsed[i]), servers[i].Ledger.Stats()
		each[i] = fmt.Sprintf("%d writes, p50 %v, p99 %v, %d of %d decisions lost", n, elapsed[i][n/2].Round(time.Microsecond), elapsed[i][n*99/100].Round(time.Microsecond), stats.Conflicts.Load(), stats.Transactions.Load())
	}
	servers[0].Run()
	st.Settle()
	t.Log(strings.Join(each[:], "; "))
	all := slices.Sorted(slices.Values(slices.Concat(elapsed[0], elapsed[1])))
	if a, b := len(elapsed[0]), len(elapsed[1]); 5*min(a, b) < a+b {
		return fmt.Sprintf("%d and %d writes: each should have a fifth at least", a, b)
	}
	p50, p99 := all[len(all)/2], all[len(all)*99/100]
	t.Logf("p99 ÷ p50: %.1f", float64(p99)/float64(p50))
	return ""
}

// The facts of a zone are evicted from the cache while writes wait in its queue, and another server has written the
// zone. The waiting writes must be decided on the stored zone, and all must succeed.
func TestRace_zoneForgottenBesideItsQueue(t *testing.T) {
	t.Parallel()
	st, g := store.New(t), &gate{}
	s, other := st.Server(func(c *ledger.Config) { c.OnFault = g.passPoint }), st.Server()
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.", store.Allow("", "*"))))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	written := make(chan error, 3)
	write := func(i int) {
		name := fmt.Sprint("r", i)
		_, err := s.CreateRecord(ctx, store.Record("team-a", name, name+".example.org.", "A", "192.0.2.1"))
		written <- err
	}
	g.holdAt("before-commit")
	go write(0)
	<-g.reached
	go write(1)
	go write(2)
	store.Eventually(t, "both wait", func() bool { return s.Ledger.Waiting("infra", "example") == 2 })
	g.holdAt("before-commit")
	<-g.reached
	store.Must(other.CreateRecord(t.Context(), store.Record("team-a", "other", "other.example.org.", "A", "192.0.2.2")))
	s.Ledger.Forget(time.Now().Add(time.Minute))
	g.holdAt("")
	for range 3 {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	st.MustBeClean()
}

// A cascade decides a pending zone and would leave the zone unchanged, but another server has changed the zone
// meanwhile. The cascade must not write the older copy back.
func TestRace_aCascadeLeavesAPendingZoneOfAnotherServer(t *testing.T) {
	st := store.New(t)
	s, other := st.Server(), st.Server()
	child := store.Zone("team", "child", "child")
	child.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: "example"}
	store.Must(s.CreateZone(child))
	changed := store.Must(other.UpdateZone("team", "child", func(z *v1alpha1.Zone) { z.Spec.DomainName = "kid" }))
	store.Must(s.CreateZone(store.Zone("infra", "example", "example.org.")))
	s.Ledger.ProcessOutbox(t.Context())
	st.Settle()
	if z := s.Zone("team", "child"); z.Spec.DomainName != "kid" || z.ResourceVersion != changed.ResourceVersion {
		t.Errorf("the zone is %q at version %s, not kid at %s", z.Spec.DomainName, z.ResourceVersion, changed.ResourceVersion)
	}
}
