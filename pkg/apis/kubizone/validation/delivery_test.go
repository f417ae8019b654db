// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

func newDelivery(change func(*v1alpha1.Delivery)) *v1alpha1.Delivery {
	delivery := &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dns"},
		Spec: v1alpha1.DeliverySpec{
			Zone:     v1alpha1.DeliveredZone{Name: "example-org", UID: "u1", FQDN: "example.org."},
			ClassRef: v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "public"},
		},
	}
	delivery.Name = class.DeliveryName("example-org", "u1", delivery.Spec.ClassRef)
	if change != nil {
		change(delivery)
	}
	return delivery
}

func TestDelivery_oneObject(t *testing.T) {
	type delivery = *v1alpha1.Delivery
	for _, test := range []struct {
		name   string
		change func(delivery)
		want   string
	}{
		{"sound", nil, ""},
		{"a name of its own", func(d delivery) { d.Name = "mine" }, invalid + "metadata.name"},
		{"the name for a zone that was", func(d delivery) { d.Spec.Zone.UID = "u2" }, invalid + "metadata.name"},
		{"the name for another class", func(d delivery) { d.Spec.ClassRef.Name = "private" }, invalid + "metadata.name"},
		{"kind", func(d delivery) { d.Spec.ClassRef.Kind = "Secret" }, unsupported + "spec.classRef.kind"},
		{"name in other letters", func(d delivery) { d.Spec.Zone.FQDN = "Example.org." }, invalid + "spec.zone.fqdn"},
		{"name that is none", func(d delivery) { d.Spec.Zone.FQDN = "example..org." }, invalid + "spec.zone.fqdn"},
		{"nothing", func(d delivery) { d.Spec = v1alpha1.DeliverySpec{} },
			required + "spec.zone.name, " + required + "spec.zone.uid, " + required + "spec.zone.fqdn, " + required + "spec.classRef.name"},
	} {
		t.Run(test.name, func(t *testing.T) { wantErrors(t, Delivery(newDelivery(test.change)), test.want) })
	}
}

func TestDeliveryUpdate_specIsImmutable(t *testing.T) {
	before := newDelivery(nil)
	before.ResourceVersion = "1"
	for field, change := range map[string]func(*v1alpha1.DeliverySpec){
		"zone": func(s *v1alpha1.DeliverySpec) { s.Zone.Name = "other" }, "uid": func(s *v1alpha1.DeliverySpec) { s.Zone.UID = "u2" },
		"fqdn": func(s *v1alpha1.DeliverySpec) { s.Zone.FQDN = "example.net." }, "class": func(s *v1alpha1.DeliverySpec) { s.ClassRef.Name = "other" },
	} {
		after := before.DeepCopy()
		change(&after.Spec)
		if errs := DeliveryUpdate(after, before); len(errs) != 1 || errs[0].Field != "spec" || !strings.Contains(errs[0].Detail, "immutable") {
			t.Errorf("%s: %v", field, errs)
		}
	}
	after := before.DeepCopy()
	after.Finalizers = []string{v1alpha1.FinalizerDelivery}
	wantErrors(t, DeliveryUpdate(after, before), "")
}

func TestDeliveryStatusUpdate_bounds(t *testing.T) {
	type status = *v1alpha1.DeliveryStatus
	before := newDelivery(nil)
	before.ResourceVersion = "1"
	long := strings.Repeat("x", maxMessage+1)
	for _, test := range []struct {
		name   string
		change func(status)
		want   string
	}{
		{"sound", func(s status) {
			s.Serial, s.Hash = maxSerial, strings.Repeat("0a", 32)
			s.Intent = &v1alpha1.DeliveryIntent{Serial: 1, Holder: "pod-1", RRsets: []string{"www.example.org. A"}}
			s.Holder = "pod-1"
			s.Servers = []v1alpha1.DeliveryServer{{Name: "192.0.2.1:53", State: v1alpha1.ServerBehind},
				{Name: "192.0.2.2:53", Content: v1alpha1.ContentDiffers, DiffersSince: 7}}
			s.Drift, s.LastVerifyRequest = []string{"www.example.org. A"}, "2026-01-02T03:04:05.6Z"
			s.Error = &v1alpha1.DeliveryError{Code: "REFUSED", Message: "ask the administrator"}
		}, ""},
		{"serial", func(s status) { s.Serial = maxSerial + 1 }, invalid + "status.serial"},
		{"serial below 0", func(s status) { s.Serial = -1 }, invalid + "status.serial"},
		{"hash", func(s status) { s.Hash = "0A" }, invalid + "status.hash"},
		{"intent of nothing", func(s status) { s.Intent = &v1alpha1.DeliveryIntent{From: -1} }, invalid + "status.intent.serial, " + invalid + "status.intent.from"},
		{"no name of a zone", func(s status) { s.FQDN = ".." }, invalid + "status.fqdn"},
		{"long intent", func(s status) {
			s.Intent = &v1alpha1.DeliveryIntent{Serial: 1, Holder: long, RRsets: []string{strings.Repeat("x", maxRRsetText+1)}}
		}, tooLong + "status.intent.holder, " + tooLong + "status.intent.rrsets[0]"},
		{"many RRsets", func(s status) {
			s.Intent = &v1alpha1.DeliveryIntent{Serial: 1, Holder: "a", RRsets: make([]string, maxIntentRRsets+1)}
		}, tooMany + "status.intent.rrsets"},
		{"drift", func(s status) {
			s.Drift, s.LastVerifyRequest = []string{strings.Repeat("x", maxRRsetText+1)}, strings.Repeat("x", MaxVerifyRequest+1)
		}, tooLong + "status.drift[0], " + tooLong + "status.lastVerifyRequest"},
		{"long holder", func(s status) { s.Holder = long }, tooLong + "status.holder"},
		{"servers", func(s status) {
			s.Servers = []v1alpha1.DeliveryServer{{}, {Name: "a", Serial: -1, State: "Fine"}, {Name: "a", Message: long},
				{Name: "b", Content: "Same", DiffersSince: -1}}
		}, required + "status.servers[0].name, " + invalid + "status.servers[1].serial, " + unsupported + "status.servers[1].state, " +
			duplicate + "status.servers[2].name, " + tooLong + "status.servers[2].message, " +
			unsupported + "status.servers[3].content, " + invalid + "status.servers[3].differsSince"},
		{"many servers", func(s status) { s.Servers = make([]v1alpha1.DeliveryServer, maxDeliveryServers+1) }, tooMany + "status.servers"},
		{"error", func(s status) { s.Error = &v1alpha1.DeliveryError{Code: long, Reason: long} }, tooLong + "status.error.code, " + tooLong + "status.error.reason, " + required + "status.error.message"},
		{"counts", func(s status) { s.FailedRecords, s.SkippedRecords = -1, -1 }, invalid + "status.failedRecords, " + invalid + "status.skippedRecords"},
		{"conditions", func(s status) {
			s.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.Now()}}
		}, required + "status.conditions[0].reason"},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := before.DeepCopy()
			test.change(&after.Status)
			wantErrors(t, DeliveryStatusUpdate(after, before), test.want)
		})
	}
}
