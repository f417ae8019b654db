// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// readIdleTime returns the idle time and the number of zones. pkg/delivery/controller/class tests ten minutes of 1,000
// zones under a simulated clock.
func readIdleTime(t *testing.T) (time.Duration, int) {
	text, set := os.LookupEnv("KUBIZONE_TEST_IDLE")
	if !set {
		return 5 * time.Second, 30
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KUBIZONE_TEST_IDLE: %v", err)
	}
	return d, 1000
}

// While delivered zones do not change, no object is written, no secondary is notified, and the provider gets only
// health checks.
func TestIdle_nothingIsDone(t *testing.T) {
	idle, zones := readIdleTime(t)
	secondary := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer secondary.Close()
	var notified atomic.Int64
	go func() {
		packet := make([]byte, 4096)
		for {
			n, from, err := secondary.ReadFrom(packet)
			if err != nil {
				return
			}
			notified.Add(1)
			if n >= 12 {
				packet[2] |= 0x80 // a response; without an error code it ends the retries
				packet[3] &= 0xf0
				_, _ = secondary.WriteTo(packet[:n], from)
			}
		}
	}()
	w, h := startWorld(t, "--transfer-to", secondary.LocalAddr().String()), newHook(t)
	w.makeClass("hook", h, func(spec *v1alpha1.DNSClassSpec) { n := int32(10_000); spec.RequestsPerSecond = &n })
	runAll(t, zones, func(i int) error { w.makeZone(fmt.Sprint("z", i), fmt.Sprintf("z%d.example.", i), "hook"); return nil })
	w.waitForAllReady()
	if notified.Load() == 0 {
		t.Error("nobody was notified of new zones: the count below would prove nothing")
	}
	// Three seconds without a NOTIFY end the effects of the last change.
	for last := int64(-1); last != notified.Load(); time.Sleep(3 * time.Second) {
		last = notified.Load()
	}
	deliveries, err := w.api.Deliveries("default").List(w.Context(), metav1.ListOptions{})
	if err != nil || len(deliveries.Items) != zones {
		t.Fatalf("%d Deliveries, %v", len(deliveries.Items), err)
	}
	before, calls, reported := w.countWrites(), h.countCalls(), notified.Load()
	time.Sleep(idle)
	more := subtractCounts(before, w.countWrites())
	checks := 1 + int(idle/(10*time.Minute))
	health := more["dnsclasses/status"]
	delete(more, "dnsclasses/status")
	if len(more) != 0 || health > checks {
		t.Errorf("written in %s: %v, and %d results of health checks, which are made every ten minutes", idle, more, health)
	}
	if came := h.countCalls() - calls; came > checks {
		t.Errorf("the provider was asked %d times in %s; its health is asked every ten minutes, and what it cannot list is not compared", came, idle)
	}
	if came := notified.Load() - reported; came != 0 {
		t.Errorf("%d NOTIFYs in %s", came, idle)
	}
	after := must.Get(w.api.Deliveries("default").List(w.Context(), metav1.ListOptions{}))(t)
	was := map[string]string{}
	for _, one := range deliveries.Items {
		was[one.Name] = one.ResourceVersion
	}
	for _, one := range after.Items {
		if was[one.Name] != one.ResourceVersion {
			t.Errorf("%s was written", one.Name)
		}
	}
	t.Logf("%d zones, idle for %s: %d health checks", zones, idle, health)
}
