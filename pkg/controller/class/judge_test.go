// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

func aClass(name string, change func(*v1alpha1.DNSClass)) *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}}}}
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
		// S1.9: a class delivers the default view, or those that it names; what the zone of the default view has, it
		// has alone.
		{"inside", "", "", "inside", "", "usual", "usual"},
		{"outside", "", "", "", "", "usual", "usual"},
		{"inside", "usual views", "", "views", "InvalidConfiguration", "usual views", "usual"},
		{"", "inside", "", "", "InvalidConfiguration", "", "inside"},
		{"inside", "views", "views", "", "Conflict", "views", "views"},
		{"inside", "", "inside", "", "Conflict", "inside", "inside"},
	} {
		zone := aZone()
		zone.Spec.DNSClassRefs, zone.Status.View = nil, test.view
		taken := strings.Fields(test.taken)
		for _, ref := range strings.Fields(test.refs) {
			zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: ref})
		}
		force := classesOf(zone, nil, named, all, taken)
		reason := ""
		if force.wrong != nil {
			reason = string(force.wrong.Reason)
		}
		if got := strings.Join(force.classes, " "); got != test.want || reason != test.reason {
			t.Errorf("view %q, %q: in force %q (%s), want %q (%s)", test.view, test.refs, got, reason, test.want, test.reason)
		}
		if got := strings.Join(findExpelled(zone, force, strings.Fields(test.former), named, nil, taken), " "); got != test.expelled {
			t.Errorf("%q, with deliveries of %q: expelled are %q, want %q", test.refs, test.former, got, test.expelled)
		}
	}
}

func makeState(at serial.Serial, status delivery.Status, reason delivery.Reason) delivery.State {
	return delivery.State{Serial: at, Hash: "h", Ready: delivery.Condition{Status: status, Reason: reason, Message: "said"}}
}

// factsOf are those of a zone whose classes have the states.
func factsOf(zone *v1alpha1.Zone, force inForce, states map[string]delivery.State) *facts {
	f := &facts{zone: zone, force: force}
	for _, class := range force.classes {
		state, known := states[class]
		f.classes = append(f.classes, classFacts{class: class, report: report{state: state, known: known}})
	}
	return f
}

// S6.15: a zone is Ready without NS where each class has name servers of its own, whatever Servable said before.
func TestJudgeZone_ofClassNameServers_S6_15(t *testing.T) {
	good := makeState(7, delivery.True, delivery.ReasonDelivered)
	for _, test := range []struct {
		own    []bool
		status metav1.ConditionStatus
		reason string
		want   string
	}{
		{[]bool{true}, metav1.ConditionFalse, v1alpha1.ReasonNoNameServers, "True Delivered"},
		{[]bool{true, true}, metav1.ConditionTrue, v1alpha1.ReasonClassNameServers, "True Delivered"},
		{[]bool{true, false}, metav1.ConditionFalse, v1alpha1.ReasonNoNameServers, "False NotDelegatedOrServable"},
		{[]bool{false}, metav1.ConditionTrue, v1alpha1.ReasonClassNameServers, "False NotDelegatedOrServable"},
		{[]bool{false}, metav1.ConditionTrue, v1alpha1.ReasonServable, "True Delivered"},
		{nil, metav1.ConditionFalse, v1alpha1.ReasonNoNameServers, "False NotDelegatedOrServable"},
	} {
		zone := aZone()
		servable := metav1.Condition{Type: v1alpha1.ConditionServable, Status: test.status, Reason: test.reason}
		meta.SetStatusCondition(&zone.Status.Conditions, servable)
		f := &facts{zone: zone}
		for i, own := range test.own {
			of := report{state: good, known: true}
			f.classes = append(f.classes, classFacts{class: fmt.Sprint("c", i), report: of, nameServers: own})
		}
		if j := judgeZone(f); string(j.status)+" "+j.reason != test.want {
			t.Errorf("classes %v, Servable=%s %s: %s %s, want %s", test.own, test.status, test.reason, j.status, j.reason, test.want)
		}
	}
}

// S6.13: Ready is all the other conditions, and every class.
func TestJudgeZone(t *testing.T) {
	good, failed := makeState(7, delivery.True, delivery.ReasonDelivered), makeState(6, delivery.False, delivery.ReasonAuthenticationFailed)
	condition := func(kind string) func(*v1alpha1.Zone) {
		return func(zone *v1alpha1.Zone) {
			for i := range zone.Status.Conditions {
				if zone.Status.Conditions[i].Type == kind {
					zone.Status.Conditions[i].Status = metav1.ConditionFalse
				}
			}
		}
	}
	for name, test := range map[string]struct {
		zone   func(*v1alpha1.Zone)
		force  inForce
		states map[string]delivery.State
		want   string
	}{
		"all":             {nil, inForce{classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": good}, "True Delivered"},
		"one has nothing": {nil, inForce{classes: []string{"a", "b"}}, map[string]delivery.State{"a": good}, "Unknown Pending"},
		"one is behind": {nil, inForce{classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": makeState(6, delivery.True,
			delivery.ReasonDelivered)}, "Unknown Pending"},
		"one fails": {nil, inForce{classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": failed},
			"False AuthenticationFailed"},
		"it was refused RRsets, and has the serial": {nil, inForce{classes: []string{"a"}},
			map[string]delivery.State{"a": makeState(7, delivery.False, delivery.ReasonConflict)}, "False Conflict"},
		"the zone is older than what is delivered": {nil, inForce{classes: []string{"a"}},
			map[string]delivery.State{"a": makeState(8, delivery.True, delivery.ReasonDelivered)}, " "},
		"no class":                      {nil, inForce{}, nil, "True NoClass"},
		"no class, and not yet settled": {condition(v1alpha1.ConditionSettled), inForce{}, nil, "Unknown Pending"},
		"no class, and not servable":    {condition(v1alpha1.ConditionServable), inForce{}, nil, "False NotDelegatedOrServable"},
		"no such class":                 {nil, inForce{wrong: delivery.Errorf(ReasonDNSClassNotFound, "none")}, nil, "False DNSClassNotFound"},
		"not delegated":                 {condition(v1alpha1.ConditionDelegated), inForce{classes: []string{"a"}}, map[string]delivery.State{"a": good}, "False NotDelegatedOrServable"},
		"not servable":                  {condition(v1alpha1.ConditionServable), inForce{classes: []string{"a"}}, map[string]delivery.State{"a": good}, "False NotDelegatedOrServable"},
		"not yet settled":               {condition(v1alpha1.ConditionSettled), inForce{classes: []string{"a"}}, map[string]delivery.State{"a": good}, "Unknown Pending"},
		"held by a mass deletion": {func(zone *v1alpha1.Zone) {
			condition(v1alpha1.ConditionSettled)(zone)
			meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled).Reason = v1alpha1.ReasonMassDeletion
		}, inForce{classes: []string{"a"}}, map[string]delivery.State{"a": makeState(6, delivery.True, delivery.ReasonDelivered)},
			"False MassDeletion"},
		"held, and not servable": {func(zone *v1alpha1.Zone) {
			condition(v1alpha1.ConditionServable)(zone)
			condition(v1alpha1.ConditionSettled)(zone)
			meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled).Reason = v1alpha1.ReasonMassDeletion
		}, inForce{classes: []string{"a"}}, map[string]delivery.State{"a": makeState(6, delivery.True, delivery.ReasonDelivered)},
			"False MassDeletion"},
	} {
		t.Run(name, func(t *testing.T) {
			zone := aZone()
			if test.zone != nil {
				test.zone(zone)
			}
			f := factsOf(zone, test.force, test.states)
			j := judgeZone(f)
			if got := string(j.status) + " " + j.reason; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if zone.Status.SettledSerial = 6; j.reason == v1alpha1.ReasonMassDeletion { // S7.5: and so say the Records that wait for it, no others
				for taken, want := range map[int64]string{6: "Delivered", 7: v1alpha1.ReasonMassDeletion} {
					record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: taken}}
					if j, _, _ := judgeRecord(record, standingOf(f)); j.reason != want {
						t.Errorf("a Record taken in at %d: %s, want %s", taken, j.reason, want)
					}
				}
			}
		})
	}
}

// S6.13: a Record is Ready when all have a serial at or after its own, and not while its RRset is owed; serials wrap
// (RFC 1982). Else it says why, where that is known.
func TestJudgeRecord(t *testing.T) {
	www := delivery.RRsetKey{Name: name.MustParse("www.example.org."), Type: rdata.A}
	down := judgement{metav1.ConditionFalse, string(delivery.ReasonServerUnreachable), "down"}
	at := func(serials ...serial.Serial) []classStanding {
		var all []classStanding
		for _, at := range serials {
			all = append(all, classStanding{serial: at})
		}
		return all
	}
	for _, test := range []struct {
		taken    int64
		standing standing
		want     string
	}{
		{7, standing{classes: at(0)}, "Unknown Pending"},
		{7, standing{classes: at(6)}, "Unknown Pending"},
		{7, standing{classes: at(7)}, "True Delivered"},
		{7, standing{classes: at(9, 7)}, "True Delivered"},
		{7, standing{classes: at(9, 6)}, "Unknown Pending"},
		{4294967290, standing{classes: at(5)}, "True Delivered"},
		{5, standing{classes: at(4294967290)}, "Unknown Pending"},
		{1, standing{classes: at(1<<31 + 1)}, ""},
		{7, standing{classes: []classStanding{{serial: 7, fault: down}}}, "True Delivered"},
		{7, standing{classes: []classStanding{{serial: 9, fault: down}, {serial: 6}}}, "Unknown Pending"},
		{7, standing{classes: []classStanding{{serial: 6}, {serial: 6, fault: down}}}, "False ServerUnreachable"},
		{7, standing{classes: at(7), fault: down}, "False ServerUnreachable"},
		{7, standing{classes: at(7), silent: true}, ""},
		{7, standing{classes: at(7), owed: map[delivery.RRsetKey]*delivery.Error{www: nil}}, "Unknown Pending"},
		{7, standing{classes: at(7), owed: map[delivery.RRsetKey]*delivery.Error{www: {Reason: delivery.ReasonConflict, Message: "theirs"}}}, "False Conflict"},
		{7, standing{classes: at(7), unlisted: true}, ""},
		{7, standing{classes: at(6), held: held, settled: 6}, "False MassDeletion"},
		{7, standing{classes: []classStanding{{serial: 6, fault: down}}, held: held, settled: 6}, "False ServerUnreachable"},
		{6, standing{classes: at(5), held: held, settled: 6}, "Unknown Pending"},
		{6, standing{classes: at(6), held: held, settled: 6}, "True Delivered"},
	} {
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: test.taken}}
		test.standing.confirmed = confirmedBy(7)
		j, text, known := judgeRecord(record, &test.standing)
		got := ""
		if known {
			got = string(j.status) + " " + j.reason
		}
		if got != test.want || (text != "") != (j.reason == string(delivery.ReasonConflict)) {
			t.Errorf("taken in at %d, %+v: %q (%q), want %q", test.taken, test.standing, got, text, test.want)
		}
	}
}

// kubectl wait does not take a condition that speaks of an older generation.
func TestIsPending(t *testing.T) {
	record := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.RecordStatus{
		ZoneRef: &v1alpha1.AdoptingZone{UID: "u1"}, Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2}},
	}}
	if isPending(record) {
		t.Error("it is Ready")
	}
	record.Generation = 3
	if !isPending(record) {
		t.Error("its Ready is of an older generation")
	}
	record.Status.ZoneRef = nil
	if isPending(record) {
		t.Error("it is in no zone")
	}
}

func TestCut(t *testing.T) {
	if got := cutMessage("short"); got != "short" {
		t.Errorf("%q", got)
	}
	for _, unit := range []string{"x", "ä", "€", "😀"} {
		if got := cutMessage(strings.Repeat(unit, 2000)); len(got) > maxMessage || len(got) < maxMessage-4 || !utf8.ValidString(got) {
			t.Errorf("%s: %d octets, valid %v", unit, len(got), utf8.ValidString(got))
		}
	}
}

// judgeBy is the judgement of a zone that the class outside delivers.
func judgeBy(state delivery.State) judgement {
	return judgeZone(factsOf(aZone(), inForce{classes: []string{"outside"}}, map[string]delivery.State{"outside": state}))
}

// The words of a provider or its client stay with the operators of the class: a tenant's Zone names the class and what
// to do (attack 81).
func TestJudge_tellsNoTenantWhatTheProviderSaid(t *testing.T) {
	const said = "server: dial tcp 10.96.7.3:7100: connection refused"
	for _, reason := range []delivery.Reason{
		delivery.ReasonServerUnreachable, delivery.ReasonServerError, delivery.ReasonAuthenticationFailed, delivery.ReasonSecretNotFound, delivery.ReasonInvalidConfiguration,
		delivery.ReasonZoneNotFound, delivery.ReasonRateLimited, delivery.ReasonQuotaExceeded, delivery.ReasonSerialBehind, delivery.ReasonInternalError,
	} {
		failed := makeState(6, delivery.False, reason)
		failed.Ready.Message = said
		j := judgeBy(failed)
		if j.reason != string(reason) || strings.Contains(j.message, "10.96") || strings.Contains(j.message, "dial") || !strings.HasPrefix(j.message, "outside: ") || !strings.Contains(j.message, "cluster admin") {
			t.Errorf("%s: %+v", reason, j)
		}
	}
	for _, reason := range []delivery.Reason{delivery.ReasonValidationFailed, delivery.ReasonConflict} {
		failed := makeState(6, delivery.False, reason)
		if j := judgeBy(failed); j.message != "outside: said" {
			t.Errorf("%s, which is about the zone's own data: %+v", reason, j)
		}
	}
}

// S6.13, attack 8: of more refused RRsets than a Delivery lists, those that this process was told of say so, and all
// other Records are Ready; after a restart, before the provider was asked again, no Record is told anything.
func TestReady_besideMoreThanIsListed_S6_13(t *testing.T) {
	zone, force := aZone(), inForce{classes: []string{"a"}}
	const many = 300
	failed := makeState(7, delivery.False, delivery.ReasonValidationFailed)
	failed.Failed, failed.Intent = many, &delivery.Intent{Serial: 7, Unlisted: true}
	failures := map[delivery.RRsetKey]*delivery.Error{}
	for n := range many {
		rrset := delivery.RRsetKey{Name: name.MustParse(fmt.Sprintf("poison-%03d.example.org.", n)), Type: rdata.A}
		failures[rrset] = delivery.Errorf(delivery.ReasonValidationFailed, "no")
		if n < 256 {
			failed.Intent.RRsets = append(failed.Intent.RRsets, rrset)
		}
	}
	f := factsOf(zone, force, map[string]delivery.State{"a": failed})
	for _, told := range []bool{true, false} {
		for _, test := range []struct{ owner, told, untold string }{
			{"www", "Delivered", ""}, {"poison-299", "ValidationFailed", ""}, {"poison-000", "ValidationFailed", "Pending"},
		} {
			f.classes[0].refused = nil
			want := test.untold
			if told {
				f.classes[0].refused, want = failures, test.told
			}
			record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: test.owner + ".example.org.", Serial: 7}}
			if j, _, _ := judgeRecord(record, standingOf(f)); j.reason != want {
				t.Errorf("told of it %v: %s: %q, want %q", told, test.owner, j.reason, want)
			}
		}
	}
}
