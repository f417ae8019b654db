// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// says is the Ready of a Record, as "status reason".
func (w *world) says(record string) string {
	w.Helper()
	one, err := w.api.Records("default").Get(w.Context(), record, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	ready := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return ""
	}
	return string(ready.Status) + " " + ready.Reason
}

func (w *world) patch(zone, patch string) {
	w.Helper()
	if _, err := w.api.Zones("default").Patch(w.Context(), zone, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// S6.7: the shipped program takes Ready back when the classes of a zone change, from all of its Records at a bounded
// rate, and a restart changes nothing of that.
func TestReady_followsTheClasses_S6_7(t *testing.T) {
	const records = 200
	dir := t.TempDir()
	w, h := startIn(t, dir), newHook(t)
	dead := newHook(t)
	dead.Close()
	for _, name := range []string{"deleted", "dropped", "moved", "redirected"} {
		w.class(name, h, nil)
		w.zone(name, name+".example.", name)
		if err := w.record(name, name, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	w.class("dead", dead, nil)
	w.class("many", h, nil)
	w.zone("many", "many.example.", "many")
	all(t, records, func(i int) error { return w.record(fmt.Sprint("m", i), "many", "192.0.2.2") })
	w.settle()

	before := w.writes()
	if err := w.api.DNSClasses().Delete(w.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.patch("dropped", `{"spec":{"dnsClassRefs":[]}}`)
	w.patch("moved", `{"spec":{"dnsClassRefs":[{"name":"dead"}]}}`)
	if _, err := w.api.DNSClasses().Patch(w.Context(), "redirected", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"webhook":{"server":%q}}}`, dead.URL), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"deleted": "False DNSClassNotFound", "dropped": "True NoClass", "moved": "False ServerUnreachable", "redirected": "False ServerUnreachable"}
	for record, ready := range want {
		eventually(t, record+" says "+ready, func() bool { return w.says(record) == ready })
	}
	began := time.Now()
	w.patch("many", `{"spec":{"dnsClassRefs":[{"name":"none"}]}}`)
	eventually(t, "every Record says that its class is not there", func() bool {
		list, err := w.api.Records("default").List(w.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range list.Items {
			if ready := meta.FindStatusCondition(list.Items[i].Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == "DNSClassNotFound" {
				n++
			}
		}
		return n == records+1
	})
	t.Logf("%d Records were told in %v; written since: %v", records, time.Since(began).Round(100*time.Millisecond), since(before, w.writes()))
	if more := since(before, w.writes()); more["records/status"] > records+20 {
		t.Errorf("%d writes for %d Records", more["records/status"], records)
	}

	w.up.stop()
	w = startIn(t, dir)
	before = w.writes()
	for record, ready := range want {
		eventually(t, record+" says "+ready+" after a restart", func() bool { return w.says(record) == ready })
	}
	if more := since(before, w.writes()); more["records/status"] > 10 {
		t.Errorf("a restart wrote %d Records", more["records/status"])
	}
}
