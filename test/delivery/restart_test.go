// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

// S8.2 (attack 5): a provider that cannot list what it has is told what went while nothing was delivered, also by a server
// that was started since, and after more changes than the journal keeps of a zone that nobody waits for.
func TestRestart_withdrawsWhatWentMeanwhile_S8_2(t *testing.T) {
	dir, h := t.TempDir(), newHook(t)
	w := startIn(t, dir)
	var mu sync.Mutex
	var removed []string
	h.set(func(r *http.Request) *protocol.Error {
		if r.Method == http.MethodDelete {
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, r.URL.Path)
		}
		return nil
	})
	w.class("hook", h, nil)
	w.zone("example", "example.org.", "hook")
	for name, data := range map[string]string{"www": "192.0.2.1", "old": "192.0.2.2"} {
		if err := w.record(name, "example", data); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	pause := func(w *world, paused bool) {
		t.Helper()
		if _, err := w.api.DNSClasses().Patch(t.Context(), "hook", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%t}}`, paused), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	pause(w, true)
	if err := w.api.Records("default").Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const changes = 250
	for i := range changes {
		w.change("www", fmt.Sprintf("198.51.100.%d", i))
	}
	w.up.stop()

	w = startIn(t, dir)
	pause(w, false)
	eventually(t, "the last change is delivered", func() bool { return h.has(fmt.Sprintf("198.51.100.%d", changes-1)) > 0 })
	w.settle()
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(removed, []string{"/records/A/example.org/old"}) {
		t.Errorf("removed at the provider: %v, want old.example.org, and it alone", removed)
	}
}
