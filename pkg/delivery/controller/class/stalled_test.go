// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/test/must"
)

func (r *readiness) theClass() *v1alpha1.DNSClass {
	r.Helper()
	return must.Get(r.client.KubizoneV1alpha1().DNSClasses().Get(r.Context(), "main", metav1.GetOptions{}))(r)
}

// stalledClass returns Stalled of the DNSClass, "" if absent.
func (r *readiness) stalledClass() string {
	r.Helper()
	if stalled := meta.FindStatusCondition(r.theClass().Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		return describeCondition(*stalled)
	}
	return ""
}

// readStalled returns Stalled of the Zone and of a Record, "" if absent.
func (r *readiness) readStalled(record string) (ofZone, ofRecord string) {
	r.Helper()
	zone := must.Get(r.client.KubizoneV1alpha1().Zones("team").Get(r.Context(), "z0", metav1.GetOptions{}))(r)
	one := must.Get(r.client.KubizoneV1alpha1().Records("team").Get(r.Context(), record, metav1.GetOptions{}))(r)
	if of := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionStalled); of != nil {
		ofZone = describeCondition(*of)
	}
	if of := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionStalled); of != nil {
		ofRecord = describeCondition(*of)
	}
	return ofZone, ofRecord
}

// S7.4: an object that waits for a person is Stalled after two minutes of the same reason, until the reason goes.
// Faults that are retried are never Stalled. A restarted controller keeps the condition.
func TestStalled_S7_4(t *testing.T) {
	for reason, want := range map[delivery.Reason]string{
		delivery.ReasonSecretNotFound: "True SecretNotFound", delivery.ReasonAuthenticationFailed: "True AuthenticationFailed", delivery.ReasonZoneNotFound: "True ZoneNotFound",
		delivery.ReasonServerUnreachable: "", delivery.ReasonServerError: "", delivery.ReasonRateLimited: "",
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReadiness(t, false)
				r.startController()
				passTime(time.Minute)
				r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = string(reason) })
				passTime(objects.StallAfter - 5*time.Second)
				if zone, record := r.readStalled("r0"); zone != "" || record != "" || r.stalledClass() != "" {
					t.Errorf("before it has stood so long: %q, %q, the DNSClass %q", zone, record, r.stalledClass())
				}
				passTime(10 * time.Second)
				for range 2 {
					if zone, record := r.readStalled("r0"); zone != want || record != want || r.stalledClass() != want {
						t.Errorf("%q, %q, the DNSClass %q, want %q", zone, record, r.stalledClass(), want)
					}
					r.stop()
					r.client.ClearActions()
					r.startController()
					passTime(10 * time.Second)
				}
				for _, action := range r.client.Actions() {
					if what := action.GetResource().Resource; action.GetVerb() == "patch" && (what == "records" || what == "zones") && action.GetSubresource() == "status" && want != "" {
						t.Errorf("%s was written though nothing changed", what)
					}
				}
				r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = "here" })
				passTime(10 * time.Minute)
				if zone, record := r.readStalled("r0"); zone != "" || record != "" || r.stalledClass() != "" {
					t.Errorf("when it is mended: %q, %q, the DNSClass %q", zone, record, r.stalledClass())
				}
				if zone, record := r.readConditions(); describeCondition(zone) != "True Delivered" ||
					describeCondition(record) != "True Delivered" {
					t.Errorf("when it is mended: the Zone says %s, the Record %s", describeCondition(zone), describeCondition(record))
				}
				r.stop()
			})
		})
	}
}

// Stalled says that an object waits for a person. The controller also derives Stalled from conditions of the API
// server: a Record without an enclosing zone, and a Zone without name servers, become Stalled after two minutes (S7.4).
func TestStalled_ofWhatTheServerSays_S7_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(t, false)
		waiting := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "early", UID: "early", ResourceVersion: "1", Generation: 1}}
		waiting.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionAdopted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoEnclosingZone, ObservedGeneration: 1, LastTransitionTime: metav1.Now()},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAdopted, ObservedGeneration: 1, LastTransitionTime: metav1.Now()},
		}
		must.Get(r.client.KubizoneV1alpha1().Records("team").Create(t.Context(), waiting, metav1.CreateOptions{}))(t)
		r.changeZone(func(zone *v1alpha1.Zone) {
			meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionServable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoNameServers, LastTransitionTime: metav1.Now()})
		})
		r.startController()
		passTime(objects.StallAfter - time.Second)
		if zone, record := r.readStalled("early"); zone != "" || record != "" {
			t.Errorf("before it has stood so long: %q, %q", zone, record)
		}
		passTime(2 * time.Second)
		if zone, record := r.readStalled("early"); zone != "True NoNameServers" || record != "True NoEnclosingZone" {
			t.Errorf("%q, %q", zone, record)
		}
		if zone, _ := r.readConditions(); describeCondition(zone) != "False NotDelegatedOrServable" {
			t.Errorf("the Zone says %s", describeCondition(zone))
		}
		r.stop()
	})
}

// A failing class becomes Stalled after two minutes. This is a single write; it keeps the time at which the fault was
// found, and while nothing changes, nothing more is written (S7.4).
func TestStalled_ofAClassIsWrittenOnce_S7_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(t, false)
		r.startController()
		passTime(time.Minute)
		r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = string(delivery.ReasonSecretNotFound) })
		passTime(time.Minute)
		found := r.theClass().Status.LastHealthCheck
		r.client.ClearActions()
		passTime(2 * time.Minute)
		if now := r.theClass(); found == nil || !now.Status.LastHealthCheck.Equal(found) || r.stalledClass() != "True SecretNotFound" {
			t.Errorf("found at %v: %+v", found, now.Status)
		}
		writes := 0
		for _, action := range r.client.Actions() {
			if action.GetVerb() == "patch" && action.GetResource().Resource == "dnsclasses" {
				writes++
			}
		}
		if writes != 1 {
			t.Errorf("written %d times", writes)
		}
		// A change that repairs nothing starts the two minutes again.
		r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.RequestsPerSecond = new(int32(7)) })
		passTime(time.Minute)
		if message := r.stalledClass(); message != "" {
			t.Errorf("a minute after the change: %q", message)
		}
		passTime(2 * time.Minute)
		if message := r.stalledClass(); message != "True SecretNotFound" {
			t.Errorf("three minutes after the change: %q", message)
		}
		r.stop()
	})
}
