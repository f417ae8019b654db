// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

var strategy = kind.Strategy[*v1alpha1.Delivery]{Kind: &Kind}

func makeDelivery() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{Name: "example-org-0123456789", Namespace: "dns", Generation: 1, Finalizers: []string{v1alpha1.FinalizerDelivery}},
		Spec: v1alpha1.DeliverySpec{
			Zone:     v1alpha1.DeliveredZone{Name: "example-org", UID: "u1", FQDN: "example.org."},
			ClassRef: v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "public"},
		},
		Status: v1alpha1.DeliveryStatus{
			Serial:     7,
			Servers:    []v1alpha1.DeliveryServer{{Name: "a", State: v1alpha1.ServerCurrent}, {Name: "b", State: v1alpha1.ServerBehind}},
			Conditions: []metav1.Condition{{Type: "Ready", Status: "Unknown", Reason: "Pending"}},
		},
	}
}

// The subresource notify writes status.notify alone, and status all else. Neither keeps rows of a delivery that every
// server has confirmed.
func TestNotify_isWrittenApart_S7_12(t *testing.T) {
	rows := []v1alpha1.DeliveryNotify{{Server: "a", Answer: "REFUSED", From: "192.0.2.53", Message: "a refuses", Remedy: "b"}}
	before, after := makeDelivery(), makeDelivery()
	before.ResourceVersion, after.ResourceVersion = "1", "1"
	after.Spec.ClassRef.Name, after.Status = "other", v1alpha1.DeliveryStatus{Serial: 9, Notify: rows}
	strategy.Sub("notify").PrepareForUpdate(t.Context(), after, before)
	if want := makeDelivery(); after.Spec != want.Spec || after.Status.Serial != 7 || !reflect.DeepEqual(after.Status.Notify, rows) {
		t.Errorf("notify writes %+v", after)
	}
	if errs := strategy.Sub("notify").ValidateUpdate(t.Context(), after, before); len(errs) > 0 {
		t.Error(errs)
	}
	of := Kind
	if got := of.Row(after); got[7] != "NotifyFailing: a refuses; b" {
		t.Errorf("row %q", got)
	}
	overTLS := after.DeepCopy()
	overTLS.Status.Notify[0].Answer = "TLSVersion"
	if got := of.Row(overTLS); got[7] != "TLSFailing: a refuses; b" {
		t.Errorf("row %q of a fault of TLS (S17.4)", got)
	}

	pending, confirmed := after.DeepCopy(), after.DeepCopy()
	pending.Status = v1alpha1.DeliveryStatus{Serial: 7, Conditions: makeDelivery().Status.Conditions}
	strategy.Sub("status").PrepareForUpdate(t.Context(), pending, after)
	if !reflect.DeepEqual(pending.Status.Notify, rows) {
		t.Errorf("status keeps %+v", pending.Status.Notify)
	}
	confirmed.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Delivered"}}
	strategy.Sub("status").PrepareForUpdate(t.Context(), confirmed, after)
	late := confirmed.DeepCopy()
	late.Status.Notify = rows
	strategy.Sub("notify").PrepareForUpdate(t.Context(), late, confirmed)
	if len(confirmed.Status.Notify)+len(late.Status.Notify) > 0 {
		t.Errorf("confirmed, and there stay %+v, %+v", confirmed.Status.Notify, late.Status.Notify)
	}

	for want, change := range map[string]func(row *v1alpha1.DeliveryNotify){
		"status.notify[1].server": func(row *v1alpha1.DeliveryNotify) { row.Server = "a" },
		"status.notify[1].answer": func(row *v1alpha1.DeliveryNotify) { row.Answer = "" },
		"status.notify[1].message": func(row *v1alpha1.DeliveryNotify) {
			row.Message = strings.Repeat("x", 1025)
		},
	} {
		wrong := after.DeepCopy()
		wrong.Status.Notify = append(wrong.Status.Notify, v1alpha1.DeliveryNotify{Server: "b", Answer: "REFUSED",
			Message: "b refuses", Remedy: "b"})
		change(&wrong.Status.Notify[1])
		if errs := strategy.Sub("notify").ValidateUpdate(t.Context(), wrong, before); len(errs) != 1 || errs[0].Field != want {
			t.Errorf("%s: %v", want, errs)
		}
	}
}

func TestRow(t *testing.T) {
	want := []any{"example-org-0123456789", "example-org", "public", int64(7), "Unknown", "<unknown>", "1/2", "Pending"}
	if got := Kind.Row(makeDelivery()); !reflect.DeepEqual(got, want) {
		t.Errorf("row %q, want %q", got, want)
	}
	other := makeDelivery()
	other.Spec.ClassRef.Kind, other.Status.Servers = v1alpha1.KindBind9Cluster, nil
	if got := Kind.Row(other); got[2] != "Bind9Cluster/public" || got[6] != "<none>" {
		t.Errorf("row %q", got)
	}
}

// While no controller works, a Ready=True may be out of date. The column of kubectl then shows Unknown, with the
// reason.
func TestRow_withoutController(t *testing.T) {
	stale := ""
	of := NewKind(Config{Stale: func() string { return stale }})
	one := makeDelivery()
	one.Status.Conditions[0].Status = metav1.ConditionTrue
	for _, test := range []struct{ stale, ready, message string }{
		{"", "True", "<none>"}, {"NoController: none has worked since noon", "Unknown", "NoController: none has worked since noon"},
		{"", "True", "<none>"},
	} {
		stale = test.stale
		if got := of.Row(one); got[4] != test.ready || got[7] != test.message {
			t.Errorf("%q: row %q", stale, got)
		}
	}
}

// oneZone has a Zone of every name.
type oneZone struct{ zone *v1alpha1.Zone }

func (z oneZone) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return z.zone, nil
}

// S6.18: the status of a Delivery, by which Records become Ready, needs the right to confirm for the class in the whole
// cluster, and confirms no serial that the zone has not settled.
func TestCheckStatus_S6_18(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-org", UID: "u1"},
		Status: v1alpha1.ZoneStatus{Serial: 9, SettledSerial: 7}}
	var asked authorizer.Attributes
	config := Config{
		Authorizer: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			asked = a
			if a.GetUser().GetName() == "controller" {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "", nil
		}),
		Zones: func() rest.Getter { return oneZone{zone} },
	}
	as := func(name string) context.Context {
		return genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: name})
	}
	before := makeDelivery()
	before.Status.Serial = 6
	for _, test := range []struct {
		by     string
		serial int64
		change func(*v1alpha1.Delivery)
		want   string
	}{
		{"controller", 7, nil, ""},
		{"controller", 6, nil, ""},
		{"controller", 0, nil, ""},
		{"controller", 8, nil, "settledSerial 7"},
		{"controller", 7 + 1<<31 - 1, nil, "settledSerial 7"},
		{"controller", 7 + 1<<31, nil, "settledSerial 7"}, // in no order
		{"controller", 7 + 1<<31 + 1, nil, ""},
		{"controller", 7, func(of *v1alpha1.Delivery) { of.Spec.Zone.UID = "u0" }, "is gone"},
		{"tenant", 7, nil, `the right to confirm dnsclasses "public" in the whole cluster`},
		{"tenant", 6, func(of *v1alpha1.Delivery) { of.Spec.ClassRef.Kind = v1alpha1.KindBind9Cluster }, `the right to confirm bind9clusters "public"`},
	} {
		after := makeDelivery()
		if after.Status.Serial = test.serial; test.change != nil {
			test.change(after)
		}
		err := config.checkStatus(as(test.by), after, before)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "S6.18")) {
			t.Errorf("%s, serial %d: %v, want %q", test.by, test.serial, err, test.want)
		}
		if asked.GetVerb() != "confirm" || asked.GetNamespace() != "" || asked.GetName() != "public" {
			t.Errorf("asked about %+v", asked)
		}
	}
}
