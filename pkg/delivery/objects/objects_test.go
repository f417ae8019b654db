// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

func aClass(name string, change func(*v1alpha1.DNSClass)) *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	of.Spec.Namespaces = &v1alpha1.NamespaceSelection{Names: []string{"dns"}}
	change(of)
	return of
}

// Named classes, else the default ones; `namespaces` again, for a class may change after the zone was admitted.
func TestClassesOf(t *testing.T) {
	nothing := func(*v1alpha1.DNSClass) {}
	isDefault := func(of *v1alpha1.DNSClass) {
		of.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
		of.Spec.Namespaces = nil
	}
	now := metav1.Now()
	all := []*v1alpha1.DNSClass{
		aClass("a", nothing), aClass("usual", isDefault),
		aClass("others", func(of *v1alpha1.DNSClass) { of.Spec.Namespaces.Names = []string{"web"} }),
		aClass("views", func(of *v1alpha1.DNSClass) { of.Spec.Views = []string{"", "inside"} }),
		aClass("inside", func(of *v1alpha1.DNSClass) { isDefault(of); of.Spec.Views = []string{"inside"} }),
		aClass("going", func(of *v1alpha1.DNSClass) { isDefault(of); of.DeletionTimestamp = &now }),
	}
	named := func(name string) *v1alpha1.DNSClass {
		for _, one := range all {
			if one.Name == name {
				return one
			}
		}
		return nil
	}
	for _, test := range []struct{ view, refs, taken, want, reason, former, expelled string }{
		{"", "", "", "usual", "", "a", ""},
		{"", "a", "", "a", "", "usual going", "going"},
		{"", "usual a", "", "a usual", "", "others gone", "gone others"},
		{"", "a none", "", "a none", "DNSClassNotFound", "usual", ""},
		{"", "others", "", "", "InvalidConfiguration", "", "others"},
		{"", "going", "", "", "DNSClassNotFound", "going", "going"},
		{"", "others none", "", "none", "InvalidConfiguration", "others", "others"},
		// S1.9: a class delivers the default view, or the views that it names. If a class delivers the zone of the
		// default view, no namesake in another view has that class.
		{"inside", "", "", "inside", "", "usual", "usual"},
		{"outside", "", "", "", "", "usual", "usual"},
		{"inside", "usual views", "", "views", "InvalidConfiguration", "usual views", "usual"},
		{"", "inside", "", "", "InvalidConfiguration", "", "inside"},
		{"inside", "views", "views", "", "Conflict", "views", "views"},
		{"inside", "", "inside", "", "Conflict", "inside", "inside"},
	} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "z"},
			Status: v1alpha1.ZoneStatus{FQDN: "example.org.", View: test.view}}
		taken := strings.Fields(test.taken)
		for _, ref := range strings.Fields(test.refs) {
			zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: ref})
		}
		force := ClassesInForce(zone, nil, named, all, taken)
		reason := ""
		if force.Fault != nil {
			reason = string(force.Fault.Reason)
		}
		if got := strings.Join(force.Classes, " "); got != test.want || reason != test.reason {
			t.Errorf("view %q, %q: in force %q (%s), want %q (%s)", test.view, test.refs, got, reason, test.want, test.reason)
		}
		if got := strings.Join(FindExpelled(zone, force, strings.Fields(test.former), named, nil, taken), " "); got != test.expelled {
			t.Errorf("%q, with deliveries of %q: expelled are %q, want %q", test.refs, test.former, got, test.expelled)
		}
	}
}

func TestCut(t *testing.T) {
	if got := ShortenMessage("short"); got != "short" {
		t.Errorf("%q", got)
	}
	for _, unit := range []string{"x", "ä", "€", "😀"} {
		if got := ShortenMessage(strings.Repeat(unit, 2000)); len(got) > maxMessage || len(got) < maxMessage-4 || !utf8.ValidString(got) {
			t.Errorf("%s: %d octets, valid %v", unit, len(got), utf8.ValidString(got))
		}
	}
}

// The row of a server that went back says so, with both serials. The note on why its data were not compared appears
// only for a server at the zone's serial.
func TestStatusFor_saysThatAServerWentBack(t *testing.T) {
	const refuses = "not compared: it refuses"
	state := delivery.State{Serial: 7, Hash: "h", Ready: delivery.Condition{Status: delivery.Unknown, Reason: delivery.ReasonServerWentBack}}
	state.AskedSerial = 8
	state.Servers = []delivery.Server{{Name: "old", Serial: 6, Content: delivery.ContentNotCompared, Note: refuses},
		{Name: "late", Serial: 7, Content: delivery.ContentNotCompared, Note: refuses},
		{Name: "current", Serial: 8, Content: delivery.ContentNotCompared, Note: refuses}, {Name: "new", Note: "it has no address yet"}}
	status := StatusFor("main", state, nil)
	for i, want := range []string{"Behind it went back: it answers serial 6, after serial 7 was confirmed", "Behind ", "Current " + refuses,
		"Behind it has no address yet"} {
		if row := status.Servers[i]; string(row.State)+" "+row.Message != want {
			t.Errorf("%s: %s %s, want %s", row.Name, row.State, row.Message, want)
		}
	}
	of := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if of.Status != metav1.ConditionUnknown || !strings.Contains(of.Message, "it went back; the platform finds the server") {
		t.Errorf("%+v", of)
	}
}
