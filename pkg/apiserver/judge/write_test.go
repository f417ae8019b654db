// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
)

// stored fakes the ledger. It has Records by name, each in the namespace of its annotation, and the order of writes.
type stored struct {
	mu      sync.Mutex
	records map[law.Ref]*v1alpha1.Record
	written []law.Ref
	// transactions counts those that wrote Records, zone is the stored Zone.
	transactions int
	zone         *v1alpha1.Zone
	fails        int // calls of ChangeRecords to fail
	pages        int // read by Members
	// dies, if not nil, is called before and after each transaction with Records, and may end the goroutine.
	dies func()
}

func (s *stored) RunElected(ctx context.Context, run func(context.Context)) error {
	run(ctx)
	return nil
}

func (s *stored) Members(_ context.Context, _, from string, most int) (members []law.Ref, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	var all []law.Ref
	for ref := range s.records {
		if ref.Name >= from {
			all = append(all, ref)
		}
	}
	slices.SortFunc(all, func(a, b law.Ref) int { return compareNames(a.Name, b.Name) })
	if len(all) > most {
		return all[:most], all[most].Name, nil
	}
	return all, "", nil
}

func compareNames(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (s *stored) MembersAt(_ context.Context, _ string, owner name.Rel) (members []law.Ref, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, record := range s.records {
		if record.Status.FQDN == owner.String()+".example.org." {
			members = append(members, ref)
		}
	}
	return members, nil
}

func (s *stored) ChangeRecords(_ context.Context, namespace string, names []string, change func(*v1alpha1.Record) bool) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails > 0 {
		s.fails--
		return 0, errors.New("etcd is away")
	}
	if s.dies != nil {
		s.dies()
		defer s.dies()
	}
	for _, at := range names {
		ref := law.Ref{Namespace: namespace, Name: at}
		record := s.records[ref]
		if record == nil {
			continue
		}
		if record = record.DeepCopy(); change(record) {
			s.records[ref], n = record, n+1
			s.written = append(s.written, ref)
		}
	}
	if n > 128 {
		return n, errors.New("the ledger would write several transactions")
	}
	if n > 0 {
		s.transactions++
	}
	return n, nil
}

func (s *stored) ChangeZone(_ context.Context, _, _ string, change func(*v1alpha1.Zone) bool) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	zone := s.zone.DeepCopy()
	if zone == nil || !change(zone) {
		return false, nil
	}
	s.zone = zone
	return true, nil
}

func (s *stored) RaiseSerial(context.Context, law.Ref, zones.Ahead) (bool, error) { return false, nil }

// newLeader returns a leader of a zone at serial 100 that the class main has confirmed up to a serial.
func newLeader(t *testing.T, of *stored, confirmed int64) *leader {
	t.Helper()
	informer := func(of apiruntime.Object) cache.SharedIndexInformer {
		return cache.NewSharedIndexInformer(&cache.ListWatch{}, of, 0, cache.Indexers{})
	}
	x := &objects.Index{Zones: informer(&v1alpha1.Zone{}), Classes: informer(&v1alpha1.DNSClass{}),
		Deliveries: informer(&v1alpha1.Delivery{}), Clusters: informer(&bind9.Bind9Cluster{})}
	must.Succeed(t, x.Prepare())
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "z", UID: "u"}}
	zone.Spec.DNSClassRefs = []v1alpha1.DNSClassReference{{Name: "main"}}
	zone.Status = v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 100, SettledSerial: 100}
	must.Succeed(t, x.Zones.GetStore().Add(zone))
	must.Succeed(t, x.Classes.GetStore().Add(&v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "main"},
		Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"team"}}}}))
	l := &leader{Judge: New(Config{Ledger: of, Registry: metrics.NewKubeRegistry(),
		Announce: func(*v1alpha1.Zone, string, string, string) {}}), index: x,
		frozen:      &FrozenZones{List: func() []cache.ObjectName { return nil }},
		revokeLimit: rate.NewLimiter(revokeRate, burst), otherLimit: rate.NewLimiter(otherRate, burst), tracker: newTracker(),
		causes: newCauseLimit(), zoneLimit: rate.NewLimiter(zoneRate, burst),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second))}
	t.Cleanup(l.queue.ShutDown)
	l.confirmSerial(t, confirmed)
	return l
}

func (l *leader) confirmSerial(t *testing.T, serial int64) {
	t.Helper()
	one := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "d"}}
	one.Spec = v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: "z", UID: "u"},
		ClassRef: v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "main"}}
	one.Status = v1alpha1.DeliveryStatus{FQDN: "example.org.", Serial: serial, Hash: "h",
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDelivered}}}
	must.Succeed(t, l.index.Deliveries.GetStore().Add(one))
}

// addRecord stores a Record in the zone, and tracks the Record.
func (s *stored) addRecord(l *leader, namespace, object string, serial int64, status metav1.ConditionStatus, reason string) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: object, UID: types.UID(namespace + object), Generation: 1}
	record := &v1alpha1.Record{ObjectMeta: meta, Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: object + ".example.org.", Serial: serial,
		ZoneRef: &v1alpha1.AdoptingZone{Namespace: "team", Name: "z", UID: "u"}, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: 1, LastTransitionTime: metav1.Now()}}}}
	s.mu.Lock()
	s.records[law.Ref{Namespace: namespace, Name: object}] = record
	s.mu.Unlock()
	l.trackRecord(record.DeepCopy(), false)
}

func (s *stored) countReady(status metav1.ConditionStatus) (n int) {
	for _, record := range s.records {
		if c := meta.FindStatusCondition(record.Status.Conditions, v1alpha1.ConditionReady); c.Status == status {
			n++
		}
	}
	return n
}

// A Record becomes Ready when the Delivery of its zone has confirmed the Record's serial, and not earlier. Records
// whose Ready is already right are not written. If etcd refuses a write, the next turn writes that Record.
func TestTurn_confirmsByTheDelivery_S6_18(t *testing.T) {
	s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
	l := newLeader(t, s, 50)
	for i := range 10 {
		s.addRecord(l, "team", fmt.Sprint("early", i), 50, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		s.addRecord(l, "team", fmt.Sprint("late", i), 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		s.addRecord(l, "team", fmt.Sprint("was", i), 7, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	}
	s.fails = 1
	if err := l.processZone(t.Context(), "u"); err == nil {
		t.Error("no error while etcd is away")
	}
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if s.countReady(metav1.ConditionTrue) != 20 || len(s.written) != 10 {
		t.Errorf("%d are Ready, %d written", s.countReady(metav1.ConditionTrue), len(s.written))
	}
	l.confirmSerial(t, 51)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if s.countReady(metav1.ConditionTrue) != 30 || len(s.written) != 20 {
		t.Errorf("at the next serial %d are Ready, %d written", s.countReady(metav1.ConditionTrue), len(s.written))
	}
}

// A Delivery has the serials of servers when they were asked last. A server without the serial settled since lags, so
// its refused NOTIFY explains the delay (S7.12).
func TestReadFacts_namesARefusedNotify_S7_12(t *testing.T) {
	for settled, want := range map[int64]bool{100: true, 50: false} {
		l := newLeader(t, &stored{records: map[law.Ref]*v1alpha1.Record{}}, 50)
		one, zone := l.index.DeliveriesByUID("u")[0], l.index.ZoneByUID("u")
		one.Status.Servers = []v1alpha1.DeliveryServer{{Name: "ns", Serial: 50, State: v1alpha1.ServerCurrent}}
		one.Status.Notify = []v1alpha1.DeliveryNotify{{Server: "ns", Answer: "REFUSED"}}
		zone.Status.SettledSerial = settled
		if got := l.readFacts(zone).Classes[0].isDelayedByNotify(); got != want {
			t.Errorf("settled at %d, and ns has 50: %v", settled, got)
		}
	}
}

// The first failure of a class at a zone and the end of the failures each have an Event of the Zone; a failure that
// another follows, and a Delivery that is only found, have none.
func TestAnnounceDelivery_oncePerFault(t *testing.T) {
	l := newLeader(t, &stored{records: map[law.Ref]*v1alpha1.Record{}}, 50)
	var got []string
	l.config.Announce = func(zone *v1alpha1.Zone, kind, reason, message string) {
		got = append(got, fmt.Sprint(zone.Name, " ", kind, " ", reason, ": ", message))
	}
	well := l.index.DeliveriesByUID("u")[0]
	failed, other := well.DeepCopy(), well.DeepCopy()
	failed.Status.Error = &v1alpha1.DeliveryError{Reason: "ServerUnreachable", Message: "its server does not answer"}
	other.Status.Error = &v1alpha1.DeliveryError{Reason: "ServerError", Message: "its server failed"}
	for _, step := range [][2]*v1alpha1.Delivery{{nil, failed}, {well, failed}, {failed, other}, {other, well}, {well, well}, {failed, nil}} {
		l.announceDelivery(step[0], step[1])
	}
	want := []string{"z Warning ServerUnreachable: main: its server does not answer",
		"z Normal Delivered: main: the fault is over, serial 50 is delivered"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A server killed at any step of a confirmation leaves no Record Ready before its serial is confirmed, and the next
// server, which knows only the stored Records, makes the others Ready.
func TestTurn_killedAtEachStepAnotherGoesOn_S6_13(t *testing.T) {
	const early, late = 700, 30
	s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
	first := newLeader(t, s, 50)
	for i := range early {
		s.addRecord(first, fmt.Sprint("team", i%2), fmt.Sprint("early", i), 50, metav1.ConditionUnknown, v1alpha1.ReasonPending)
	}
	for i := range late {
		s.addRecord(first, "team0", fmt.Sprint("late", i), 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		s.addRecord(first, "team0", fmt.Sprint("wrong", i), 51, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	}
	killed, left := 0, 0
	s.dies = func() {
		if left--; left == 0 {
			killed++
			runtime.Goexit()
		}
	}
	for whole := false; !whole; {
		if killed > 100 {
			t.Fatalf("after 100 kills %d Records are Ready", s.countReady(metav1.ConditionTrue))
		}
		l := newLeader(t, s, 50)
		for _, record := range s.records {
			l.trackRecord(record.DeepCopy(), false)
		}
		left = 1 + killed // each server comes a step further
		done := make(chan struct{})
		go func() {
			defer close(done)
			for l.workNext(t.Context()) {
				if whole = l.queue.Len() == 0; whole {
					return
				}
			}
		}()
		<-done
		for ref, record := range s.records {
			isLate := record.Status.Serial == 51 && ref.Name[0] == 'l'
			if isLate && objects.ReadyOf(record.Status.Conditions).Status == metav1.ConditionTrue {
				t.Fatalf("after %d kills %s is Ready", killed, ref.Name)
			}
		}
	}
	if n := s.countReady(metav1.ConditionTrue); n != early || killed < early/pageRecords || len(s.written) != early+late {
		t.Errorf("after %d kills %d Records are Ready, by %d writes", killed, n, len(s.written))
	}
	s.dies = nil
	l := newLeader(t, s, 51)
	for _, record := range s.records {
		l.trackRecord(record.DeepCopy(), false)
	}
	for l.workNext(t.Context()) && l.queue.Len() > 0 {
	}
	if n := s.countReady(metav1.ConditionTrue); n != early+2*late {
		t.Errorf("at the next serial %d are Ready", n)
	}
}

// The elected server writes Ready of Records in pages, one page of each namespace in turn, latest changes first. So a
// tenant's bulk of 3,000 Records delays the single Record of another tenant by one page at most.
func TestTurn_takesNamespacesInTurn(t *testing.T) {
	s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
	l := newLeader(t, s, 50)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	for i := range 3000 {
		s.addRecord(l, "bulk", fmt.Sprint("r", i), int64(51+i%20), metav1.ConditionUnknown, v1alpha1.ReasonPending)
	}
	s.addRecord(l, "small", "www", 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
	l.confirmSerial(t, 100)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if at := slices.Index(s.written, law.Ref{Namespace: "small", Name: "www"}); at < 0 || at > pageRecords {
		t.Errorf("written as number %d of %d", at, len(s.written))
	}
	if n := len(s.written); n > turnRecords+pageRecords {
		t.Errorf("%d Records in a turn", n)
	}
	latest := int64(100)
	for _, ref := range s.written {
		if at := s.records[ref].Status.Serial; ref.Namespace == "bulk" && at > latest {
			t.Fatalf("serial %d after %d", at, latest)
		} else if ref.Namespace == "bulk" {
			latest = at
		}
	}
}

// If the confirmed serial goes back, Records may be Ready although no server has them. These are corrected before
// Records whose Ready changes without having been wrong, and both at a limited rate (S6.13, S7.4).
func TestTurn_takesWrongRecordsFirst_S6_13(t *testing.T) {
	s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
	l := newLeader(t, s, 100)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	for i := range 20 {
		s.addRecord(l, "team", fmt.Sprint("true", i), 50, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	}
	l.confirmSerial(t, 40)
	for i := range 20 {
		s.addRecord(l, "team", fmt.Sprint("false", i), 50, metav1.ConditionFalse, string(delivery.ReasonServerError))
	}
	s.written = nil
	l.revokeLimit, l.otherLimit = rate.NewLimiter(0, 15), rate.NewLimiter(0, 0)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if n := len(s.written); n != 15 || s.countReady(metav1.ConditionTrue) != 5 {
		t.Errorf("%d written, %d are still wrongly Ready", n, s.countReady(metav1.ConditionTrue))
	}
	l.revokeLimit, l.otherLimit = rate.NewLimiter(0, 100), rate.NewLimiter(0, 100)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if s.countReady(metav1.ConditionUnknown) != 40 {
		t.Errorf("%d of 40 wait for the serial", s.countReady(metav1.ConditionUnknown))
	}
}

// A class refuses RRsets that were served, more than a Delivery lists: those beyond the list have hashes alone. Each of
// their Records loses Ready, also the Record of another namespace in an RRset that a new Record has joined. Records of
// other RRsets are not written (S6.13).
func TestTurn_takesReadyFromRRsetsBeyondTheList_S6_13(t *testing.T) {
	for what, joined := range map[string]bool{"of served RRsets": false, "of an RRset that a Record joins": true} {
		s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
		l := newLeader(t, s, 50)
		must.Succeed(t, l.processZone(t.Context(), "u"))
		for i := range 2 * turnRecords {
			s.addRecord(l, "team", fmt.Sprintf("r%04d", i), 50, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
		}
		must.Succeed(t, l.processZone(t.Context(), "u"))
		if joined {
			s.addRecord(l, "other", "r2047", 50, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		}
		s.pages = 0
		one := l.index.DeliveriesByUID("u")[0].DeepCopy()
		one.Status.FailedRecords = 1
		key := must.Get(delivery.ParseRRsetKey("r2047.example.org. A"))(t)
		one.Status.RefusedDigests = binary.BigEndian.AppendUint64(nil, key.Digest())
		must.Succeed(t, l.index.Deliveries.GetStore().Update(one))
		for range 3 {
			must.Succeed(t, l.processZone(t.Context(), "u"))
		}
		for ref := range s.records {
			if ready := objects.ReadyOf(s.records[ref].Status.Conditions); (ready.Status == metav1.ConditionTrue) != (ref.Name != "r2047") {
				t.Errorf("%s: %s/%s is Ready=%s", what, ref.Namespace, ref.Name, ready.Status)
			}
		}
		if joined && s.pages > 0 || len(s.written) > 2 {
			t.Errorf("%s: %d Records are written, and %d pages read", what, len(s.written), s.pages)
		}
	}
}

// A class that fails makes a Record wait for Stalled, two minutes later. The class recovers at once, and its servers
// stay silent: Ready names the class within 45 seconds all the same (S7.12).
func TestTurn_namesTheCauseOfARecordThatFailedBefore_S7_12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
		l := newLeader(t, s, 50)
		l.queue.Add("u")
		defer l.startWorker(t)()
		report := func(status metav1.ConditionStatus, reason string) {
			one := l.index.DeliveriesByUID("u")[0].DeepCopy()
			one.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason}}
			must.Succeed(t, l.index.Deliveries.GetStore().Update(one))
			l.queue.Add("u")
			passTime(time.Second)
			// The first Record tracked wakes the worker, which writes.
			for _, record := range s.listRecords() {
				l.trackRecord(record.DeepCopy(), false)
			}
		}
		s.addRecord(l, "team", "www", 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		synctest.Wait() // the judgement of this first Pending comes before that of the second
		report(metav1.ConditionFalse, string(delivery.ReasonConflict))
		if s.countReasons()[string(delivery.ReasonConflict)] != 1 {
			t.Fatalf("%v", s.countReasons())
		}
		report(metav1.ConditionUnknown, v1alpha1.ReasonPending)
		if s.countReasons()[v1alpha1.ReasonPending] != 1 {
			t.Fatalf("%v", s.countReasons())
		}
		passTime(45 * time.Second)
		if s.countReasons()[v1alpha1.ReasonAwaitsClass] != 1 {
			t.Errorf("46 seconds after the class was well again: %v", s.countReasons())
		}
	})
}

// If no class is in force, the write of the content itself sets Ready=True with the reason NoClass. The elected server
// may see this Record before it sees the new Zone. It then leaves Ready alone, because otherwise it would write the
// Record twice.
func TestTrack_waitsForTheZone_S6_13(t *testing.T) {
	s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
	l := newLeader(t, s, 100)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	s.addRecord(l, "team", "new", 101, metav1.ConditionTrue, v1alpha1.ReasonNoClass)
	must.Succeed(t, l.processZone(t.Context(), "u"))
	if len(s.written) != 0 {
		t.Errorf("written: %v", s.written)
	}
}

// kubectl wait does not take a condition of an older generation.
func TestIsOpen(t *testing.T) {
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.RecordStatus{
		ZoneRef:    &v1alpha1.AdoptingZone{UID: "u1"},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2}},
	}}
	if isOpen(record) {
		t.Error("it is Ready")
	}
	record.Generation = 3
	if !isOpen(record) {
		t.Error("its Ready is of an older generation")
	}
}

// startWorker processes the queue until the end of the bubble.
func (l *leader) startWorker(t *testing.T) (stop func()) {
	t.Helper()
	go func() {
		for l.workNext(t.Context()) {
		}
	}()
	return func() { l.queue.ShutDown(); synctest.Wait() }
}

func passTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *stored) listRecords() []*v1alpha1.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.records))
}

func (s *stored) countReasons() map[string]int {
	counts := map[string]int{}
	for _, record := range s.listRecords() {
		counts[objects.ReadyOf(record.Status.Conditions).Reason]++
		if objects.StalledOf(record.Status.Conditions) != nil {
			counts[v1alpha1.ConditionStalled]++
		}
	}
	return counts
}

// S7.12: when no controller works, 40,000 Pending Records cost at most 60 transactions: the latest of each namespace
// get the cause, and the Zone has it. It is taken back as far as it was written.
func TestTurn_namesACauseInFewTransactions_S7_12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
		l := newLeader(t, s, 50)
		zone := l.index.ZoneByUID("u")
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDelegated, Status: metav1.ConditionTrue})
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionServable, Status: metav1.ConditionTrue})
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown,
			Reason: v1alpha1.ReasonPending})
		s.zone = zone.DeepCopy()
		var life heartbeat.Life
		l.lives = func() Processes { return Processes{Controller: life} }
		l.queue.Add("u")
		defer l.startWorker(t)()
		passTime(time.Second)
		for i := range 39_999 {
			s.addRecord(l, "bulk", fmt.Sprint("r", i), int64(51+i%40), metav1.ConditionUnknown, v1alpha1.ReasonPending)
		}
		s.addRecord(l, "small", "www", 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		passTime(20 * time.Second)
		if len(s.written) != 0 {
			t.Fatalf("%d Records are written while a controller works", len(s.written))
		}
		sync := func(queued time.Duration) {
			must.Succeed(t, l.index.Zones.GetStore().Update(s.zone.DeepCopy()))
			for _, ref := range s.written {
				l.trackRecord(s.records[ref].DeepCopy(), false)
			}
			s.written = nil
			l.queue.Add("u")
			passTime(queued)
		}
		life = heartbeat.Life{Ended: time.Now()}
		for second := range 15 {
			sync(time.Second)
			if n := s.transactions; n > 8+4*(second+1) {
				t.Errorf("%d transactions in %d seconds", n, second+1)
			}
		}
		if s.records[law.Ref{Namespace: "small", Name: "www"}].Status.Conditions[0].Reason != v1alpha1.ReasonNoController {
			t.Error("the bulk of another namespace leaves a Record without the cause")
		}
		if c := objects.ReadyOf(s.zone.Status.Conditions); c.Reason != v1alpha1.ReasonNoController {
			t.Errorf("the Zone says %s", c.Reason)
		}
		for range 15 {
			sync(time.Minute)
		}
		counts := s.countReasons()
		named, stalled := counts[v1alpha1.ReasonNoController], counts[v1alpha1.ConditionStalled]
		if s.transactions > 60 || named < 25*pageRecords || stalled != named {
			t.Errorf("%d transactions, %v", s.transactions, counts)
		}
		if objects.StalledOf(s.zone.Status.Conditions) == nil {
			t.Error("the Zone is not Stalled")
		}
		life, s.transactions = heartbeat.Life{}, 0
		for range 30 {
			sync(time.Second)
		}
		counts = s.countReasons()
		if counts[v1alpha1.ReasonPending] != 40_000 || counts[v1alpha1.ConditionStalled] != 0 || s.transactions > 60 {
			t.Errorf("taken back in %d transactions: %v", s.transactions, counts)
		}
		conditions := s.zone.Status.Conditions
		if objects.ReadyOf(conditions).Reason != v1alpha1.ReasonPending || objects.StalledOf(conditions) != nil {
			t.Errorf("the Zone says %+v", s.zone.Status.Conditions)
		}
	})
}

// Ready=Unknown gets a cause, such as Paused, and the number of Records written for causes is limited. An owner that
// pauses a large zone uses up the limit of that zone only, so Records of other zones still get their cause (S7.12).
func TestTurn_limitsCausesOfAnOwnerByZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stored{records: map[law.Ref]*v1alpha1.Record{}}
		l := newLeader(t, s, 50)
		l.index.ZoneByUID("u").Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
		l.queue.Add("u")
		defer l.startWorker(t)()
		passTime(time.Second)
		for i := range 10_000 {
			s.addRecord(l, "bulk", fmt.Sprint("r", i), 51, metav1.ConditionUnknown, v1alpha1.ReasonPending)
		}
		passTime(time.Minute)
		counts := s.countReasons()
		paused := counts[v1alpha1.ReasonPaused]
		if paused < causeRecords-pageRecords || paused > causeRecords+pageRecords || l.causes.Tokens() != causeRecords {
			t.Errorf("%v; %v Records are left for others", counts, l.causes.Tokens())
		}
	})
}
