// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

func countRestarts(t *testing.T, registry metrics.KubeRegistry, reason string) int {
	t.Helper()
	families := must.Get(registry.Gather())(t)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "kubizone_feed_restarts_total" && metric.GetLabel()[0].GetValue() == reason {
				return int(metric.GetCounter().GetValue())
			}
		}
	}
	return 0
}

// history contains every reported state of zones.
type history struct {
	mutex   sync.Mutex
	hash    map[string]string // uid and serial
	settled map[string]bool
}

func joinSerial[T ~int64 | ~uint32](uid string, serial T) string { return fmt.Sprint(uid, " ", serial) }

func (h *history) recordHistory(t *testing.T, s *server) {
	t.Helper()
	list := must.Get(s.KubizoneV1alpha1().Zones("").List(t.Context(), metav1.ListOptions{}))(t)
	take := func(zone *v1alpha1.Zone) {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		h.hash[joinSerial(string(zone.UID), zone.Status.Serial)] = zone.Status.Hash
		h.settled[joinSerial(string(zone.UID), zone.Status.SettledSerial)] = true
	}
	for i := range list.Items {
		take(&list.Items[i])
	}
	events := must.Get(s.KubizoneV1alpha1().Zones("").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if zone, ok := event.Object.(*v1alpha1.Zone); ok && event.Type != watch.Deleted {
				take(zone)
			}
		}
	}()
}

// writeAgain retries a write that is refused during background work. A refused write changes nothing.
func writeAgain(t *testing.T, one func() error) {
	t.Helper()
	err := one()
	for tries := 0; apierrors.IsTimeout(err) && tries < 3; tries++ {
		err = one()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Each state of the Set was settled and had the server's hash, and the last state is the server's (S7.2).
func TestFeed_isAlwaysAtASettledState_S7_2(t *testing.T) {
	s := newServer(t)
	s.makeZone("a", "org", v1alpha1.ZoneSpec{DomainName: "example.org."})
	s.makeZone("a", "dev", v1alpha1.ZoneSpec{DomainName: "dev", ZoneRef: &v1alpha1.ZoneReference{Name: "org"}})
	s.makeZone("a", "net", v1alpha1.ZoneSpec{DomainName: "example.net."})
	reported := &history{hash: map[string]string{}, settled: map[string]bool{}}
	reported.recordHistory(t, s)
	f := s.startFeed(s.readAddress().String(), nil)
	registry := f.registry
	f.waitForSync(t)

	events, end := f.Subscribe()
	defer end()
	type state struct{ at, hash string }
	var seen []state
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for event := range events {
			if snapshot, ok := f.Settled(event.Zone.UID); ok {
				if err := snapshot.Prove(); err != nil {
					t.Error(err)
				}
				seen = append(seen, state{joinSerial(snapshot.Zone().UID, snapshot.Serial()), snapshot.Hash()})
			}
		}
	}()

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	zones, records := s.KubizoneV1alpha1().Zones("a"), s.KubizoneV1alpha1().Records("a")
	patch := func(name, text string) {
		writeAgain(t, func() error {
			_, err := zones.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{})
			return err
		})
	}
	there := map[string]bool{}
	for range 150 {
		switch n := draw.IntN(100); {
		case n < 60:
			id := fmt.Sprint("r", draw.IntN(60))
			zone := []string{"org", "dev", "net"}[draw.IntN(3)]
			spec := v1alpha1.RecordSpec{DomainName: "n" + id[1:], ZoneRef: &v1alpha1.ZoneReference{Name: zone}, Type: "A",
				Values: []string{fmt.Sprintf("192.0.2.%d", draw.IntN(250)), fmt.Sprintf("198.51.100.%d", draw.IntN(250))}}
			if draw.IntN(3) == 0 {
				spec.TTL = ptr.To(int32(draw.IntN(5000)))
			}
			if there[id] {
				writeAgain(t, func() error { return records.Delete(t.Context(), id, metav1.DeleteOptions{}) })
			} else {
				s.makeRecord("a", id, spec)
			}
			there[id] = !there[id]
		case n < 75:
			patch("org", fmt.Sprintf(`{"spec":{"ttl":%d}}`, 100+draw.IntN(1000)))
		case n < 85:
			patch("dev", fmt.Sprintf(`{"spec":{"expire":%d}}`, 3000000+draw.IntN(3)))
		case n < 95:
			patch("net", fmt.Sprintf(`{"spec":{"contact":"dns%d@example.net"}}`, draw.IntN(3)))
		default:
			patch("dev", fmt.Sprintf(`{"spec":{"nameServers":[{"name":"ns%d","addresses":["192.0.2.%d"]}]}}`, draw.IntN(9), draw.IntN(250)))
		}
	}
	s.waitEqual(f, nil)
	// Records leave and return with their rule. Both changes settle later.
	for _, pattern := range []string{"n1*", "*"} {
		patch("org", fmt.Sprintf(`{"spec":{"delegations":[{"zones":["*"],"records":[{"pattern":%q}]}]}}`, pattern))
		s.waitEqual(f, nil)
	}
	end()
	<-watched
	reported.mutex.Lock()
	defer reported.mutex.Unlock()
	known := 0
	for _, state := range seen {
		if !reported.settled[state.at] {
			t.Errorf("uid and serial %s was in the Set, and never settled", state.at)
		}
		if hash, ok := reported.hash[state.at]; ok {
			known++
			if hash != state.hash {
				t.Errorf("uid and serial %s had hash %s in the Set, %s at the server", state.at, state.hash, hash)
			}
		}
	}
	if known < 20 {
		t.Errorf("%d states of %d could be compared", known, len(seen))
	}
	for _, reason := range []string{"misfit", "trimmed"} {
		if n := countRestarts(t, registry, reason); n > 0 {
			t.Errorf("%d restarts for %s while nothing was wrong", n, reason)
		}
	}
}

// A feed is in sync when all zones are in, and until then its error names a server that is absent. While the API server
// is away later, the primary continues to serve its zones. If a zone meanwhile has more changes than the
// server's journal keeps (410), only that zone is read again.
func TestFeed_outlivesTheServerAndStartsAgainWhereItHasForgotten(t *testing.T) {
	s := newServer(t)
	b := behindBalancer(t, s)
	s.makeZone("a", "org", v1alpha1.ZoneSpec{DomainName: "example.org."})
	s.makeZone("a", "net", v1alpha1.ZoneSpec{DomainName: "example.net."})
	for i := range 60 {
		s.makeZone("a", fmt.Sprint("z", i), v1alpha1.ZoneSpec{DomainName: fmt.Sprintf("z%d.example.", i)})
	}
	b.Set()
	waitReady(t, b, 0)
	f := s.startFeed(b.Addr.String(), nil)
	registry := f.registry
	time.Sleep(300 * time.Millisecond)
	if err := f.feed.Check(); err == nil || !strings.Contains(err.Error(), "not listed yet") {
		t.Errorf("without a server: %v", err)
	}
	b.Set(s.readAddress())
	f.waitForSync(t)
	if all := slices.Collect(f.All()); len(all) != 62 {
		t.Errorf("in sync with %d zones of 62", len(all))
	}
	s.waitEqual(f, nil)
	org, ok := f.Find("", name.MustParse("example.org."))
	if !ok {
		t.Fatal("example.org. is not in")
	}

	b.Set()
	waitReady(t, b, 0)
	s.Stop()
	s.startServer()
	for i := range 200 { // more than the journal keeps
		s.makeRecord("a", fmt.Sprint("r", i), v1alpha1.RecordSpec{DomainName: fmt.Sprintf("r%d.example.org.", i), Type: "TXT", RData: `"while away"`})
	}
	s.Stop()
	if still, ok := f.Settled(org.Zone().UID); !ok || still != org {
		t.Error("the zone changed while its server was away")
	}
	s.startServer()
	b.Set(s.readAddress())
	s.waitEqual(f, nil)
	if n := countRestarts(t, registry, "trimmed"); n != 1 {
		t.Errorf("%d zones were read anew, want the one that has gone on", n)
	}
	if n := countRestarts(t, registry, "misfit"); n > 0 {
		t.Errorf("%d misfits", n)
	}
	s.makeRecord("a", "after", v1alpha1.RecordSpec{DomainName: "after.example.net.", Type: "TXT", RData: `"back"`})
	s.waitEqual(f, nil)
}

// A zone that is deleted and created again under the same object name is another zone with another UID, and replaces
// the former in the Set. A deleted zone leaves the Set. A feed has only the zones of its interest.
func TestFeed_zonesComeGoAndAreRenamed_S8_4(t *testing.T) {
	s := newServer(t)
	f := s.startFeed(s.readAddress().String(), nil)
	f.waitForSync(t) // no zones
	first := s.makeZone("a", "org", v1alpha1.ZoneSpec{DomainName: "example.org."})
	s.makeRecord("a", "www", v1alpha1.RecordSpec{DomainName: "www", ZoneRef: &v1alpha1.ZoneReference{Name: "org"}, Type: "A", RData: "192.0.2.1"})
	s.waitEqual(f, nil)

	zones := s.KubizoneV1alpha1().Zones("a")
	must.Succeed(t, zones.Delete(t.Context(), "org", metav1.DeleteOptions{}))
	second := s.makeZone("a", "org", v1alpha1.ZoneSpec{DomainName: "example.org."})
	s.waitEqual(f, nil)
	if _, ok := f.ByUID(string(first.UID)); ok || first.UID == second.UID {
		t.Error("the zone of before is still there")
	}
	s.makeZone("a", "inside", v1alpha1.ZoneSpec{DomainName: "example.org.", View: "inside"})
	isInside := func(zone *v1alpha1.Zone) bool { return zone.Status.View == "inside" }
	inside := s.startFeed(s.readAddress().String(), isInside)
	inside.waitForSync(t)
	s.waitEqual(inside, isInside)
	if _, ok := inside.Find("", name.MustParse("example.org.")); ok {
		t.Error("a zone of another view is in")
	}

	must.Succeed(t, zones.Delete(t.Context(), "org", metav1.DeleteOptions{}))
	must.Succeed(t, zones.Delete(t.Context(), "inside", metav1.DeleteOptions{}))
	s.waitEqual(f, nil)
	for snapshot := range f.All() {
		t.Errorf("%s stayed", snapshot)
	}
}
