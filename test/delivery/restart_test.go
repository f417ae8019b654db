// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
)

// A provider cannot list its records, so it must be told of each deletion. Records deleted while no delivery runs are
// still withdrawn later, by a server started meanwhile, and after more changes than the journal would keep without a
// Delivery (S8.4, attack 5).
func TestRestart_withdrawsWhatWentMeanwhile_S8_4(t *testing.T) {
	dir, h := t.TempDir(), newHook(t)
	w := startIn(t, dir)
	var mu sync.Mutex
	var removed []string
	h.setBefore(func(r *http.Request) *protocol.Error {
		if r.Method == http.MethodDelete {
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, r.URL.Path)
		}
		return nil
	})
	w.makeClass("hook", h, nil)
	w.makeZone("example", "example.org.", "hook")
	for name, data := range map[string]string{"www": "192.0.2.1", "old": "192.0.2.2"} {
		must.Succeed(t, w.makeRecord(name, "example", data))
	}
	w.waitForAllReady()
	pause := func(w *world, paused bool) {
		t.Helper()
		must.Get(w.api.DNSClasses().Patch(t.Context(), "hook", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused),
			metav1.PatchOptions{}))(t)
	}
	pause(w, true)
	must.Succeed(t, w.api.Records("default").Delete(t.Context(), "old", metav1.DeleteOptions{}))
	const changes = 250
	for i := range changes {
		w.changeRecord("www", fmt.Sprintf("198.51.100.%d", i))
	}
	w.up.stopProgram()

	w = startIn(t, dir)
	pause(w, false)
	waitUntil(t, "the last change is delivered", func() bool { return h.countValue(fmt.Sprintf("198.51.100.%d", changes-1)) > 0 })
	w.waitForAllReady()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(removed, []string{"/records/A/example.org/old"}) {
		t.Errorf("removed at the provider: %v, want old.example.org, and it alone", removed)
	}
}

// S3.5, S8.4 (attack 5): a zone that ended while no delivery ran is removed from a provider that cannot list, even if
// server and controller were started later.
func TestRestart_withdrawsAZoneThatEndedMeanwhile_S3_7(t *testing.T) {
	dir, h := t.TempDir(), newHook(t)
	w := startIn(t, dir)
	var mu sync.Mutex
	var removed []string
	h.setBefore(func(r *http.Request) *protocol.Error {
		if r.Method == http.MethodDelete {
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, r.URL.Path)
		}
		return nil
	})
	patch := func(w *world, zone, text string) {
		t.Helper()
		must.Get(w.api.Zones("default").Patch(t.Context(), zone, types.MergePatchType, []byte(text), metav1.PatchOptions{}))(t)
	}
	pause := func(w *world, paused bool) {
		t.Helper()
		must.Get(w.api.DNSClasses().Patch(t.Context(), "hook", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused),
			metav1.PatchOptions{}))(t)
	}
	w.makeClass("hook", h, nil)
	w.makeZone("example", "example.org.", "hook")
	patch(w, "example", `{"spec":{"delegations":[{"namespace":"default","zones":["kids"],"records":[{"pattern":"*"}]}],"withdrawalGracePeriod":"0s"}}`)
	w.makeZone("kids", "kids.example.org.", "hook")
	for name, data := range map[string]string{"www": "192.0.2.1", "old": "192.0.2.2"} {
		must.Succeed(t, w.makeRecord(name, "kids", data))
	}
	w.waitForAllReady()
	pause(w, true)
	must.Succeed(t, w.api.Records("default").Delete(t.Context(), "old", metav1.DeleteOptions{}))
	patch(w, "example", `{"spec":{"delegations":[{"namespace":"default","records":[{"pattern":"*"}]}]}}`)
	waitUntil(t, "the zone ended and its Record is released", func() bool {
		zone := must.Get(w.api.Zones("default").Get(t.Context(), "kids", metav1.GetOptions{}))(t)
		record := must.Get(w.api.Records("default").Get(t.Context(), "www", metav1.GetOptions{}))(t)
		return zone.Status.FQDN == "" && record.Status.ZoneRef == nil
	})
	w.up.stopProgram()

	w = startIn(t, dir)
	pause(w, false)
	waitUntil(t, "the zone is withdrawn", func() bool {
		zone := must.Get(w.api.Zones("default").Get(t.Context(), "kids", metav1.GetOptions{}))(t)
		return len(zone.Finalizers) == 0
	})
	mu.Lock()
	defer mu.Unlock()
	var kids []string
	for _, path := range removed {
		if strings.Contains(path, "kids.example.org") {
			kids = append(kids, path)
		}
	}
	slices.Sort(kids)
	if want := []string{"/records/A/kids.example.org/old", "/records/A/kids.example.org/www", "/records/NS/kids.example.org/@"}; !slices.Equal(kids, want) {
		t.Errorf("removed at the provider: %v, want %v", kids, want)
	}
}
