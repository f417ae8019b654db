// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
)

// readPosted returns the Record posted by a request and keeps the body readable; zero for any other request.
func readPosted(r *http.Request) protocol.Record {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return protocol.Record{}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var asked protocol.Request
	if json.Unmarshal(body, &asked) != nil {
		return protocol.Record{}
	}
	return asked.Record
}

// A tenant writes Records that make the provider fail, at names before another tenant's in canonical order. The other
// Record is delivered and Ready nevertheless, even if there are more failures than a Delivery lists (attack 8).
func TestNeighbour_isNotHeldUpByWhatTheProviderChokesOn(t *testing.T) {
	const poisonous = 300
	h := newHook(t)
	h.setBefore(func(r *http.Request) *protocol.Error {
		if record := readPosted(r); len(record.Values) == 1 && record.Values[0] == poison {
			return protocol.Refuse(protocol.CodeServerError, "it chokes")
		}
		return nil
	})
	w := startWorld(t)
	w.makeClass("hook", h, nil)
	w.makeZone("c1", "c1.example.", "hook")
	w.waitForAllReady()
	runAll(t, poisonous, func(n int) error { return w.makeRecord(fmt.Sprintf("%03d", n), "c1", poison) })
	w.waitForReady("a", "c1", h)
	w.waitForReady("www", "c1", h) // by now the provider has refused the others
}

func (w *world) waitForReady(name, zone string, h *hook) {
	w.Helper()
	address := "192.0.2." + map[string]string{"a": "1", "www": "2"}[name]
	began := time.Now()
	must.Succeed(w, w.makeRecord(name, zone, address))
	waitUntil(w.T, "the neighbour's record is at the provider", func() bool { return h.countValue(address) > 0 })
	arrived := time.Since(began)
	waitUntil(w.T, "the neighbour's record is Ready", func() bool {
		record, err := w.api.Records("default").Get(w.Context(), name, metav1.GetOptions{})
		return err == nil && isReady(record.Status.Conditions)
	})
	w.Logf("%s: at the provider after %s, Ready after %s", name, arrived.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// Some DNS providers take A and CNAME only. There a zone with name servers is Ready if its class skips the apex NS, and
// otherwise reports the refusal. With such a class, a zone without name servers is Servable too.
func TestApexNS_atAServerThatTakesNone_S6_15(t *testing.T) {
	h := newHook(t)
	h.setBefore(func(r *http.Request) *protocol.Error {
		if record := readPosted(r); record.Type != "" && record.Type != "A" && record.Type != "CNAME" {
			return protocol.Refuse(protocol.CodeInvalidRecord, "A and CNAME alone")
		}
		return nil
	})
	w := startWorld(t)
	w.makeClass("all", h, nil)
	w.makeClass("hosts", h, func(spec *v1alpha1.DNSClassSpec) { spec.Webhook.ApexNS = v1alpha1.ApexNSSkip })
	w.makeZone("one", "one.example.", "hosts")
	w.makeZone("two", "two.example.", "all")
	w.makeZone("three", "three.example.", "hosts")
	must.Get(w.api.Zones("default").Patch(w.Context(), "three", types.MergePatchType, []byte(`{"spec":{"nameServers":[]}}`),
		metav1.PatchOptions{}))(t)
	for _, zone := range []string{"one", "two", "three"} {
		must.Succeed(t, w.makeRecord("www-"+zone, zone, "192.0.2.1"))
	}
	expect := func(zone, condition string, want metav1.ConditionStatus, reason string) {
		t.Helper()
		waitUntil(t, zone+": "+condition+" is "+reason, func() bool {
			now := must.Get(w.api.Zones("default").Get(w.Context(), zone, metav1.GetOptions{}))(t)
			of := meta.FindStatusCondition(now.Status.Conditions, condition)
			return of != nil && of.Status == want && of.Reason == reason
		})
	}
	expect("one", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	expect("two", v1alpha1.ConditionReady, metav1.ConditionFalse, "ValidationFailed")
	expect("three", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	expect("three", v1alpha1.ConditionServable, metav1.ConditionTrue, v1alpha1.ReasonClassNameServers)
	skip := func(skip v1alpha1.ApexNS) {
		patch := fmt.Sprintf(`{"spec":{"webhook":{"apexNS":%q}}}`, skip)
		must.Get(w.api.DNSClasses().Patch(w.Context(), "hosts", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
	}
	skip(v1alpha1.ApexNSDeliver)
	expect("three", v1alpha1.ConditionServable, metav1.ConditionFalse, v1alpha1.ReasonNoNameServers)
	expect("three", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotDelegatedOrServable)
	skip(v1alpha1.ApexNSSkip)
	expect("three", v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	expect("three", v1alpha1.ConditionServable, metav1.ConditionTrue, v1alpha1.ReasonClassNameServers)
}
