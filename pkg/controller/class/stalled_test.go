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
)

func (r *readiness) theClass() *v1alpha1.DNSClass {
	r.Helper()
	of, err := r.client.KubizoneV1alpha1().DNSClasses().Get(r.Context(), "main", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return of
}

// stalledClass is what Stalled says of the DNSClass; empty where it is not there.
func (r *readiness) stalledClass() string {
	r.Helper()
	if stalled := meta.FindStatusCondition(r.theClass().Status.Conditions, v1alpha1.ConditionStalled); stalled != nil {
		return says(*stalled)
	}
	return ""
}

// stalled is what Stalled says of the Zone and of a Record; empty where it is not there.
func (r *readiness) stalled(record string) (ofZone, ofRecord string) {
	r.Helper()
	zone, err := r.client.KubizoneV1alpha1().Zones("team").Get(r.Context(), "z0", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	one, err := r.client.KubizoneV1alpha1().Records("team").Get(r.Context(), record, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	if of := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionStalled); of != nil {
		ofZone = says(*of)
	}
	if of := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionStalled); of != nil {
		ofRecord = says(*of)
	}
	return ofZone, ofRecord
}

// S7.4: what waits for a person is Stalled once the reason has stood two minutes, for that reason and as long as it
// stands; what is tried again by itself is not. A controller that starts goes on with what is said.
func TestStalled_S7_4(t *testing.T) {
	for reason, want := range map[delivery.Reason]string{
		delivery.ReasonSecretNotFound: "True SecretNotFound", delivery.ReasonAuthenticationFailed: "True AuthenticationFailed", delivery.ReasonZoneNotFound: "True ZoneNotFound",
		delivery.ReasonServerUnreachable: "", delivery.ReasonServerError: "", delivery.ReasonRateLimited: "",
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReadiness(t, false)
				r.start()
				r.after(time.Minute)
				r.class(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = string(reason) })
				r.after(stallAfter - 5*time.Second)
				if zone, record := r.stalled("r0"); zone != "" || record != "" || r.stalledClass() != "" {
					t.Errorf("before it has stood so long: %q, %q, the DNSClass %q", zone, record, r.stalledClass())
				}
				r.after(10 * time.Second)
				for range 2 {
					if zone, record := r.stalled("r0"); zone != want || record != want || r.stalledClass() != want {
						t.Errorf("%q, %q, the DNSClass %q, want %q", zone, record, r.stalledClass(), want)
					}
					r.stop()
					r.client.ClearActions()
					r.start()
					r.after(10 * time.Second)
				}
				for _, action := range r.client.Actions() {
					if what := action.GetResource().Resource; action.GetVerb() == "patch" && (what == "records" || what == "zones") && action.GetSubresource() == "status" && want != "" {
						t.Errorf("%s was written though nothing changed", what)
					}
				}
				r.class(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = "here" })
				r.after(10 * time.Minute)
				if zone, record := r.stalled("r0"); zone != "" || record != "" || r.stalledClass() != "" {
					t.Errorf("when it is mended: %q, %q, the DNSClass %q", zone, record, r.stalledClass())
				}
				if zone, record := r.ready(); says(zone) != "True Delivered" || says(record) != "True Delivered" {
					t.Errorf("when it is mended: the Zone says %s, the Record %s", says(zone), says(record))
				}
				r.stop()
			})
		})
	}
}

// S7.4: so is a Record that was applied before its Zone, and a Zone that cannot be served, which the server says of
// them.
func TestStalled_ofWhatTheServerSays_S7_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(t, false)
		waiting := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "early", UID: "early", ResourceVersion: "1", Generation: 1}}
		waiting.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionAdopted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoEnclosingZone, ObservedGeneration: 1, LastTransitionTime: metav1.Now()},
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotAdopted, ObservedGeneration: 1, LastTransitionTime: metav1.Now()},
		}
		if _, err := r.client.KubizoneV1alpha1().Records("team").Create(t.Context(), waiting, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r.zone(func(zone *v1alpha1.Zone) {
			meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionServable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoNameServers, LastTransitionTime: metav1.Now()})
		})
		r.start()
		r.after(stallAfter - time.Second)
		if zone, record := r.stalled("early"); zone != "" || record != "" {
			t.Errorf("before it has stood so long: %q, %q", zone, record)
		}
		r.after(2 * time.Second)
		if zone, record := r.stalled("early"); zone != "True NoNameServers" || record != "True NoEnclosingZone" {
			t.Errorf("%q, %q", zone, record)
		}
		if zone, _ := r.ready(); says(zone) != "False NotDelegatedOrServable" {
			t.Errorf("the Zone says %s", says(zone))
		}
		r.stop()
	})
}

// S7.4: the health of a class is asked and written again when Stalled is due, and what was found then is not given a
// new time; while nothing changes, nothing is written.
func TestStalled_ofAClassIsWrittenOnce_S7_4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(t, false)
		r.start()
		r.after(time.Minute)
		r.class(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = string(delivery.ReasonSecretNotFound) })
		r.after(time.Minute)
		found := r.theClass().Status.LastHealthCheck
		r.client.ClearActions()
		r.after(2 * time.Minute)
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
		// Another change that does not mend it begins anew.
		r.class(func(of *v1alpha1.DNSClass) { of.Spec.RequestsPerSecond = new(int32(7)) })
		r.after(time.Minute)
		if said := r.stalledClass(); said != "" {
			t.Errorf("a minute after the change: %q", said)
		}
		r.after(2 * time.Minute)
		if said := r.stalledClass(); said != "True SecretNotFound" {
			t.Errorf("three minutes after the change: %q", said)
		}
		r.stop()
	})
}
