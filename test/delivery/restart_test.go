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

// A provider cannot list its records, so it must be told of each deletion. What went while no delivery ran is withdrawn
// by a server and controller started later: a Record deleted before more changes than the journal would keep without a
// Delivery, and a zone that ended, with a Record deleted before (S3.5, S8.4, attack 5).
func TestRestart_withdrawsWhatWentMeanwhile_S3_7_S8_4(t *testing.T) {
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
	for zone, domain := range map[string]string{"calm": "example.com.", "example": "example.org."} {
		w.makeZone(zone, domain, "hook")
	}
	patch(w, "example", `{"spec":{"delegations":[{"namespace":"default","zones":["kids"],"records":[{"pattern":"*"}]}],"withdrawalGracePeriod":"0s"}}`)
	w.makeZone("kids", "kids.example.org.", "hook")
	for name, zone := range map[string]string{"www": "calm", "old": "calm", "kids-www": "kids", "kids-old": "kids"} {
		must.Succeed(t, w.makeRecord(name, zone, "192.0.2.1"))
	}
	w.waitForAllReady()
	pause(w, true)
	for _, name := range []string{"old", "kids-old"} {
		must.Succeed(t, w.api.Records("default").Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	const changes = 250
	for i := range changes {
		w.changeRecord("www", fmt.Sprintf("198.51.100.%d", i))
	}
	patch(w, "example", `{"spec":{"delegations":[{"namespace":"default","records":[{"pattern":"*"}]}]}}`)
	waitUntil(t, "the zone ended and its Record is released", func() bool {
		zone := must.Get(w.api.Zones("default").Get(t.Context(), "kids", metav1.GetOptions{}))(t)
		record := must.Get(w.api.Records("default").Get(t.Context(), "kids-www", metav1.GetOptions{}))(t)
		return zone.Status.FQDN == "" && record.Status.ZoneRef == nil
	})
	w.up.End()

	w = startIn(t, dir)
	pause(w, false)
	waitUntil(t, "the last change is delivered", func() bool { return h.countValue(fmt.Sprintf("198.51.100.%d", changes-1)) > 0 })
	waitUntil(t, "the zone is withdrawn", func() bool {
		zone := must.Get(w.api.Zones("default").Get(t.Context(), "kids", metav1.GetOptions{}))(t)
		return len(zone.Finalizers) == 0
	})
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(removed)
	want := []string{"/records/A/example.com/old", "/records/A/kids.example.org/kids-old", "/records/A/kids.example.org/kids-www",
		"/records/NS/kids.example.org/@"}
	ofZones := func(path string) bool {
		return strings.Contains(path, "example.com") || strings.Contains(path, "kids.example.org")
	}
	if got := slices.DeleteFunc(removed, func(path string) bool { return !ofZones(path) }); !slices.Equal(got, want) {
		t.Errorf("removed at the provider: %v, want %v", got, want)
	}
}
