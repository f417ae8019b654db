// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/alertrig"
)

// The annotation of a Zone restores a record missing at the provider, even beside a refused record, and after a
// restart. A record that cannot be repaired is reported.
func TestDrift_isRepairedOnRequest(t *testing.T) {
	dir, h := t.TempDir(), newHook(t)
	h.existing = map[string]protocol.Record{}
	refused := map[string]bool{"192.0.2.66": true}
	h.setBefore(func(r *http.Request) *protocol.Error {
		record := readPosted(r)
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(record.Values) == 1 && refused[record.Values[0]] {
			return protocol.Refuse(protocol.CodeInvalidRecord, "not this one")
		}
		return nil
	})
	const www = "/records/A/example.org/www"
	has := func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		_, exists := h.existing[www]
		return exists
	}
	lose := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.existing, www)
	}
	w := startIn(t, dir)
	w.makeClass("hook", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.DriftInterval = &metav1.Duration{Duration: validation.MaxDriftInterval}
	})
	w.makeZone("example", "example.org.", "hook")
	for name, data := range map[string]string{"www": "192.0.2.1", "poison": "192.0.2.66"} {
		must.Succeed(t, w.makeRecord(name, "example", data))
	}
	delivery := func() v1alpha1.Delivery {
		list := must.Get(w.api.Deliveries("default").List(t.Context(), metav1.ListOptions{}))(t)
		if len(list.Items) != 1 {
			return v1alpha1.Delivery{}
		}
		return list.Items[0]
	}
	waitUntil(t, "www is delivered beside what is refused", func() bool { return has() && delivery().Status.FailedRecords == 1 })
	ask := func(request string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationVerifyRequestedAt, request)
		must.Get(w.api.Zones("default").Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	}
	done := func(request string) {
		t.Helper()
		waitUntil(t, "the request "+request+" is carried out", func() bool { return delivery().Status.LastVerifyRequest == request })
	}

	scrape := func() alertrig.Series {
		series := alertrig.Series{}
		series.AddScrape("kubizone-apiserver", "up", w.readText())
		return series
	}
	state, begin := alertrig.State{Before: scrape()}, time.Now()
	alertrig.State{Now: state.Before}.ExpectOf(t, "KubizoneProviderDrift")
	lose()
	ask("first")
	done("first")
	state.Now, state.Apart = scrape(), time.Since(begin)
	state.ExpectOf(t, "KubizoneProviderDrift", "KubizoneProviderDrift hook")
	if one := delivery(); !has() || meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionDrifted) || one.Status.FailedRecords != 1 || len(one.Status.Drift) > 0 {
		t.Errorf("has it: %t, %+v", has(), one.Status)
	}

	w.up.End()
	lose()
	w = startIn(t, dir)
	ask("second")
	done("second")
	if !has() {
		t.Error("not mended after a restart")
	}

	h.mu.Lock()
	refused["192.0.2.1"] = true
	h.mu.Unlock()
	lose()
	ask("third")
	done("third")
	drifted := meta.FindStatusCondition(delivery().Status.Conditions, v1alpha1.ConditionDrifted)
	if drifted == nil || drifted.Status != metav1.ConditionTrue || len(delivery().Status.Drift) != 1 || delivery().Status.Drift[0] != "www.example.org. A" {
		t.Errorf("what cannot be mended: %+v", delivery().Status)
	}
	h.mu.Lock()
	clear(refused)
	h.mu.Unlock()
	ask("fourth")
	done("fourth")
	if one := delivery(); !has() || meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionDrifted) || one.Status.FailedRecords != 0 {
		t.Errorf("has it: %t, %+v", has(), one.Status)
	}
	if _, err := w.api.Zones("default").Patch(t.Context(), "example", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%065d"}}}`, v1alpha1.AnnotationVerifyRequestedAt, 1), metav1.PatchOptions{}); err == nil {
		t.Error("a request of 65 octets was taken")
	}
}
