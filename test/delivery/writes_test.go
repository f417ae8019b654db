// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
)

// For a change, the controller makes at most two writes beside those of the changed Records (S6.13, design:
// Delivery).
func TestWrites_perChange(t *testing.T) {
	w, h := startWorld(t), newHook(t)
	w.makeClass("hook", h, nil)
	w.makeZone("example", "example.org.", "hook")
	must.Succeed(t, w.makeRecord("www", "example", "192.0.2.1"))
	w.waitForAllReady()

	for round := range 5 {
		data := fmt.Sprintf("192.0.2.%d", 10+round)
		before, confirmed := w.countWrites(), w.countConfirmed()
		w.changeRecord("www", data)
		w.waitForAllReady()
		more := subtractCounts(before, w.countWrites())
		if local := sumCounts(more) - more["records"]; more["records"] != 1 || local > 2 || more["deliveries/status"] != 1 {
			t.Errorf("one changed record: %v; %d beside the change itself, want at most 2", more, local)
		}
		if n := w.countConfirmed() - confirmed; n != 1 {
			t.Errorf("one changed record: the Ready of %v Records was written", n)
		}
		if n := h.countValue(data); n != 1 {
			t.Errorf("%s was posted %d times", data, n)
		}
	}

	// A hundred changes, made while a delivery is in flight, are delivered as one.
	const burst = 100
	runAll(t, burst, func(i int) error { return w.makeRecord(fmt.Sprint("r", i), "example", "192.0.2.99") })
	w.waitForAllReady()
	release, posted := make(chan struct{}), h.countValue("192.0.2.100")
	var once sync.Once
	entered := make(chan struct{})
	h.setBefore(func(*http.Request) *protocol.Error {
		once.Do(func() { close(entered) })
		<-release
		return nil
	})
	before := w.countWrites()
	w.changeRecord("www", "192.0.2.200")
	<-entered
	runAll(t, burst, func(i int) error { w.changeRecord(fmt.Sprint("r", i), "192.0.2.100"); return nil })
	h.setBefore(nil)
	close(release)
	w.waitForAllReady()
	more := subtractCounts(before, w.countWrites())
	if local := sumCounts(more) - more["records"]; more["records"] != burst+1 || more["deliveries/status"] > 3 || local > 2*3 {
		t.Errorf("a burst of %d while one is in flight: %v", burst, more)
	}
	if n := h.countValue("192.0.2.100") - posted; n != burst {
		t.Errorf("%d RRsets were posted for %d changes", n, burst)
	}
	t.Logf("one change of a burst of %d: %v", burst, more)

	// Undisturbed, the changes need several deliveries, yet each Record is written once.
	before, confirmed := w.countWrites(), w.countConfirmed()
	runAll(t, burst, func(i int) error { w.changeRecord(fmt.Sprint("r", i), "192.0.2.101"); return nil })
	w.waitForAllReady()
	if more := subtractCounts(before, w.countWrites()); more["records"] != burst || more["records/status"] > 0 {
		t.Errorf("a burst of %d: %v", burst, more)
	}
	if n := w.countConfirmed() - confirmed; n > burst {
		t.Errorf("a burst of %d: the Ready of Records was written %v times", burst, n)
	}

	// The metrics of the same server match the deliveries.
	counted := map[string]float64{}
	for _, s := range w.readMetrics() {
		if s.labelOf("class") == "hook" {
			counted[strings.TrimPrefix(s.name, "kubizone_delivery_")+" "+s.labelOf("method")+s.labelOf("provider")+
				s.labelOf("reason")] += s.value
		}
	}
	for what, want := range map[string]float64{"zones ": 1, "failing ": 0, "queue_depth ": 0, "oldest_change_seconds ": 0,
		"secondaries_behind ": 0, "paused_seconds ": 0} {
		if got, there := counted[what]; !there || got != want {
			t.Errorf("metric %s: %v, there: %v, want %v", what, got, there, want)
		}
	}
	if counted["calls_total Deliverwebhook"] < 7 || counted["lag_seconds_count "] < 7 {
		t.Errorf("what was counted: %v", counted)
	}
}

// countConfirmed returns how many times the server has written the Ready of a Record after its content.
func (w *world) countConfirmed() (n float64) {
	for _, s := range w.readMetrics() {
		if s.name == "kubizone_records_confirmed_total" {
			n += s.value
		}
	}
	return n
}

// A class whose server does not answer must not delay a healthy class. Each change of the healthy class would
// otherwise wait for a call's timeout.
func TestSlowClass_holdsUpNoOther(t *testing.T) {
	w, healthy, slow := startWorld(t), newHook(t), newHook(t)
	var ended atomic.Int32
	stop := make(chan struct{})
	defer close(stop)
	slow.setBefore(func(r *http.Request) *protocol.Error {
		select {
		case <-r.Context().Done(): // the caller's ten seconds are over
			ended.Add(1)
		case <-stop:
		}
		return &protocol.Error{Code: protocol.CodeServerError, Message: "late"}
	})
	w.makeClass("healthy", healthy, nil)
	w.makeClass("slow", slow, func(spec *v1alpha1.DNSClassSpec) { spec.Webhook.TimeoutSeconds = ptr.To[int32](10) })
	const zones, rounds = 10, 5
	for i := range zones {
		w.makeZone(fmt.Sprint("z", i), fmt.Sprintf("z%d.example.", i), "healthy", "slow")
		must.Succeed(t, w.makeRecord(fmt.Sprint("r", i), fmt.Sprint("z", i), "192.0.2.1"))
	}
	waitUntil(t, "the first delivery", func() bool { return healthy.countValue("192.0.2.1") == zones })
	waitUntil(t, "calls of the slow one", func() bool { return slow.countCalls() > 1 })
	before := ended.Load()
	for round := range rounds {
		data := fmt.Sprintf("192.0.2.%d", 10+round)
		for i := range zones {
			w.changeRecord(fmt.Sprint("r", i), data)
		}
		waitUntil(t, "a round is delivered", func() bool { return healthy.countValue(data) == zones })
	}
	if calls := ended.Load() - before; calls >= zones*rounds/2 {
		t.Errorf("%d calls of the slow class ended while the healthy one delivered %d changes", calls, zones*rounds)
	}
}
