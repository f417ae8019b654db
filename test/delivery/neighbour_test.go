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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

// posted is what a request posts, which stays readable; the zero Record for any other.
func posted(r *http.Request) protocol.Record {
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

// Attack 8: records that the provider answers with an error, in front of a neighbour's in the canonical order, do not
// keep that one from the provider, nor from being Ready; also where they are more than a Delivery lists.
func TestNeighbour_isNotHeldUpByWhatTheProviderChokesOn(t *testing.T) {
	for _, poisonous := range []int{60, 300} {
		t.Run(fmt.Sprint(poisonous), func(t *testing.T) {
			h := newHook(t)
			h.set(func(r *http.Request) *protocol.Error {
				if record := posted(r); len(record.Values) == 1 && record.Values[0] == "192.0.2.66" {
					return protocol.Refuse(protocol.CodeServerError, "it chokes")
				}
				return nil
			})
			w := start(t)
			w.class("hook", h, nil)
			w.zone("c1", "c1.example.", "hook")
			w.settle()
			all(t, poisonous, func(n int) error { return w.record(fmt.Sprintf("%03d", n), "c1", "192.0.2.66") })
			w.ready("a", "c1", h)
			w.ready("www", "c1", h) // by now they were refused
		})
	}
}

// ready writes a record and waits until it is at the provider and Ready.
func (w *world) ready(name, zone string, h *hook) {
	w.Helper()
	address := "192.0.2." + map[string]string{"a": "1", "www": "2"}[name]
	began := time.Now()
	if err := w.record(name, zone, address); err != nil {
		w.Fatal(err)
	}
	eventually(w.T, "the neighbour's record is at the provider", func() bool { return h.has(address) > 0 })
	arrived := time.Since(began)
	eventually(w.T, "the neighbour's record is Ready", func() bool {
		record, err := w.api.Records("default").Get(w.Context(), name, metav1.GetOptions{})
		return err == nil && isReady(record.Status.Conditions)
	})
	w.Logf("%s: at the provider after %s, Ready after %s", name, arrived.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
}

// Sources 3.12: a zone with name servers is Ready at a server that takes A and CNAME alone, where the class skips the
// NS at the apex; where it does not, the server's refusal stands.
func TestApexNS_atAServerThatTakesNone(t *testing.T) {
	h := newHook(t)
	h.set(func(r *http.Request) *protocol.Error {
		if record := posted(r); record.Type != "" && record.Type != "A" && record.Type != "CNAME" {
			return protocol.Refuse(protocol.CodeInvalidRecord, "A and CNAME alone")
		}
		return nil
	})
	w := start(t)
	w.class("all", h, nil)
	w.class("hosts", h, func(spec *v1alpha1.DNSClassSpec) { spec.Webhook.ApexNS = v1alpha1.ApexNSSkip })
	w.zone("one", "one.example.", "hosts")
	w.zone("two", "two.example.", "all")
	for _, zone := range []string{"one", "two"} {
		if err := w.record("www-"+zone, zone, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	says := func(zone string, want metav1.ConditionStatus, reason string) {
		t.Helper()
		eventually(t, zone+" is "+reason, func() bool {
			now, err := w.api.Zones("default").Get(w.Context(), zone, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, condition := range now.Status.Conditions {
				if condition.Type == v1alpha1.ConditionReady {
					return condition.Status == want && condition.Reason == reason
				}
			}
			return false
		})
	}
	says("one", metav1.ConditionTrue, v1alpha1.ReasonDelivered)
	says("two", metav1.ConditionFalse, "ValidationFailed")
}
