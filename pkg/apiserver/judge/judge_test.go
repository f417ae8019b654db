// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
)

func aClass(name string, change func(*v1alpha1.DNSClass)) *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.DNSClassSpec{Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"dns"}}}}
	change(of)
	return of
}

// aZone is a zone of the class public at serial 7.
func aZone() *v1alpha1.Zone {
	return &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-org", UID: "u1", Generation: 3},
		Spec:       v1alpha1.ZoneSpec{DNSClassRefs: []v1alpha1.DNSClassReference{{Kind: v1alpha1.KindDNSClass, Name: "public"}}},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDelegated, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionServable, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionTrue},
		}},
	}
}

func makeState(at serial.Serial, status delivery.Status, reason delivery.Reason) delivery.State {
	return delivery.State{Serial: at, Hash: "h", Ready: delivery.Condition{Status: status, Reason: reason, Message: "said"}}
}

func factsOf(zone *v1alpha1.Zone, force objects.InForce, states map[string]delivery.State) *Facts {
	f := &Facts{Zone: zone, InForce: force}
	for _, class := range force.Classes {
		state, known := states[class]
		f.Classes = append(f.Classes, ClassFacts{Class: class, State: state, Known: known})
	}
	return f
}

// A class that moved to other servers has confirmed nothing there, and its serial 0 is ahead of none. In the arithmetic
// of serials 0 is ahead of 4,000,000,000, which spec.minimumSerial may set.
func TestJudgeZone_ofAClassThatMoved(t *testing.T) {
	for _, at := range []int64{7, 4_000_000_000} {
		zone := aZone()
		zone.Status.Serial, zone.Status.SettledSerial = at, at
		f := factsOf(zone, objects.InForce{Classes: []string{"public"}}, map[string]delivery.State{
			"public": makeState(serial.Serial(at), delivery.True, delivery.ReasonDelivered)})
		f.Classes[0] = f.Classes[0].ForTarget("elsewhere")
		if j := JudgeZone(f); j.Reason != v1alpha1.ReasonPending {
			t.Errorf("at serial %d: %+v", at, j)
		}
	}
}

// A zone without NS is Ready if each class of the zone has name servers. The present classes decide, even if the
// condition Servable still has the state from before (S6.15).
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
		f := &Facts{Zone: zone}
		for i, own := range test.own {
			f.Classes = append(f.Classes, ClassFacts{Class: fmt.Sprint("c", i), State: good, Known: true, NameServers: own})
		}
		if j := JudgeZone(f); string(j.Status)+" "+j.Reason != test.want {
			t.Errorf("classes %v, Servable=%s %s: %s %s, want %s", test.own, test.status, test.reason, j.Status, j.Reason, test.want)
		}
	}
}

// S6.13: Ready is all the other conditions, and every class.
// Readers of Ready alone, as in doctor and status, see the condition that the zone lacks, with its next step.
func TestJudgeZone_hasTheMessageOfTheLackingCondition(t *testing.T) {
	zone := aZone()
	meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionServable, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonNoNameServers, Message: "the zone has no name servers: set spec.nameServers"})
	j := JudgeZone(factsOf(zone, objects.InForce{}, nil))
	if want := "Servable is False, NoNameServers: the zone has no name servers: set spec.nameServers"; j.Message != want {
		t.Errorf("%q, want %q", j.Message, want)
	}
	meta.RemoveStatusCondition(&zone.Status.Conditions, v1alpha1.ConditionDelegated)
	j = JudgeZone(factsOf(zone, objects.InForce{}, nil))
	if want := "Delegated is Unknown, Pending: not judged yet"; j.Message != want {
		t.Errorf("%q, want %q", j.Message, want)
	}
}

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
		force  objects.InForce
		states map[string]delivery.State
		want   string
	}{
		"all":             {nil, objects.InForce{Classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": good}, "True Delivered"},
		"one has nothing": {nil, objects.InForce{Classes: []string{"a", "b"}}, map[string]delivery.State{"a": good}, "Unknown Pending"},
		"one is behind": {nil, objects.InForce{Classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": makeState(6, delivery.True,
			delivery.ReasonDelivered)}, "Unknown Pending"},
		"one fails": {nil, objects.InForce{Classes: []string{"a", "b"}}, map[string]delivery.State{"a": good, "b": failed},
			"False AuthenticationFailed"},
		"it was refused RRsets, and has the serial": {nil, objects.InForce{Classes: []string{"a"}},
			map[string]delivery.State{"a": makeState(7, delivery.False, delivery.ReasonConflict)}, "False Conflict"},
		"the zone is older than what is delivered": {nil, objects.InForce{Classes: []string{"a"}},
			map[string]delivery.State{"a": makeState(8, delivery.True, delivery.ReasonDelivered)}, " "},
		"no class":                      {nil, objects.InForce{}, nil, "True NoClass"},
		"no class, and not yet settled": {condition(v1alpha1.ConditionSettled), objects.InForce{}, nil, "Unknown Pending"},
		"no class, and not servable":    {condition(v1alpha1.ConditionServable), objects.InForce{}, nil, "False NotDelegatedOrServable"},
		"no such class":                 {nil, objects.InForce{Fault: delivery.Errorf(objects.ReasonDNSClassNotFound, "none")}, nil, "False DNSClassNotFound"},
		"not delegated":                 {condition(v1alpha1.ConditionDelegated), objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": good}, "False NotDelegatedOrServable"},
		"not servable":                  {condition(v1alpha1.ConditionServable), objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": good}, "False NotDelegatedOrServable"},
		"not yet settled":               {condition(v1alpha1.ConditionSettled), objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": good}, "Unknown Pending"},
		"held by a mass deletion": {func(zone *v1alpha1.Zone) {
			condition(v1alpha1.ConditionSettled)(zone)
			meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled).Reason = v1alpha1.ReasonMassDeletion
		}, objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": makeState(6, delivery.True, delivery.ReasonDelivered)},
			"False MassDeletion"},
		"held, and not servable": {func(zone *v1alpha1.Zone) {
			condition(v1alpha1.ConditionServable)(zone)
			condition(v1alpha1.ConditionSettled)(zone)
			meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled).Reason = v1alpha1.ReasonMassDeletion
		}, objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": makeState(6, delivery.True, delivery.ReasonDelivered)},
			"False MassDeletion"},
	} {
		t.Run(name, func(t *testing.T) {
			zone := aZone()
			if test.zone != nil {
				test.zone(zone)
			}
			f := factsOf(zone, test.force, test.states)
			j := JudgeZone(f)
			if got := string(j.Status) + " " + j.Reason; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if zone.Status.SettledSerial = 6; j.Reason == v1alpha1.ReasonMassDeletion { // S7.5: and so say the Records that wait for it, no others
				for taken, want := range map[int64]string{6: "Delivered", 7: v1alpha1.ReasonMassDeletion} {
					record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: taken}}
					if j, _, _ := ProgressOf(f).Judge(record); j.Reason != want {
						t.Errorf("a Record taken in at %d: %s, want %s", taken, j.Reason, want)
					}
				}
			}
		})
	}
}

// S6.13: a Record is Ready when all have a serial at or after its own, and not while the RRset is missing; serials wrap
// (RFC 1982). Else the reason is given, if known.
func TestJudgeRecord(t *testing.T) {
	www := delivery.RRsetKey{Name: name.MustParse("www.example.org."), Type: rdata.A}
	down := Judgement{metav1.ConditionFalse, string(delivery.ReasonServerUnreachable), "down"}
	at := func(serials ...serial.Serial) []classProgress {
		var all []classProgress
		for _, at := range serials {
			all = append(all, classProgress{serial: at})
		}
		return all
	}
	for _, test := range []struct {
		taken    int64
		progress Progress
		want     string
	}{
		{7, Progress{classes: at(0)}, "Unknown Pending"},
		{7, Progress{classes: at(6)}, "Unknown Pending"},
		{7, Progress{classes: at(7)}, "True Delivered"},
		{7, Progress{classes: at(9, 7)}, "True Delivered"},
		{7, Progress{classes: at(9, 6)}, "Unknown Pending"},
		{4294967290, Progress{classes: at(5)}, "True Delivered"},
		{5, Progress{classes: at(4294967290)}, "Unknown Pending"},
		{1, Progress{classes: at(1<<31 + 1)}, ""},
		{7, Progress{classes: []classProgress{{serial: 7, fault: down}}}, "True Delivered"},
		{7, Progress{classes: []classProgress{{serial: 9, fault: down}, {serial: 6}}}, "Unknown Pending"},
		{7, Progress{classes: []classProgress{{serial: 6}, {serial: 6, fault: down}}}, "False ServerUnreachable"},
		{7, Progress{classes: at(7), fault: down}, "False ServerUnreachable"},
		{7, Progress{classes: at(7), silent: true}, ""},
		{7, Progress{classes: at(7), missing: map[delivery.RRsetKey]*delivery.Error{www: nil}}, "Unknown Pending"},
		{7, Progress{classes: at(7), missing: map[delivery.RRsetKey]*delivery.Error{www: {Reason: delivery.ReasonConflict, Message: "theirs"}}}, "False Conflict"},
		{7, Progress{classes: at(7), unlisted: true}, ""},
		{7, Progress{classes: at(6), hold: onHold, settledAt: 6}, "False MassDeletion"},
		{7, Progress{classes: []classProgress{{serial: 6, fault: down}}, hold: onHold, settledAt: 6}, "False ServerUnreachable"},
		{6, Progress{classes: at(5), hold: onHold, settledAt: 6}, "Unknown Pending"},
		{6, Progress{classes: at(6), hold: onHold, settledAt: 6}, "True Delivered"},
	} {
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: test.taken}}
		test.progress.confirmed = confirmedBy(7)
		j, text, known := test.progress.Judge(record)
		got := ""
		if known {
			got = string(j.Status) + " " + j.Reason
		}
		if got != test.want || (text != "") != (j.Reason == string(delivery.ReasonConflict)) {
			t.Errorf("taken in at %d, %+v: %q (%q), want %q", test.taken, test.progress, got, text, test.want)
		}
	}
}

// judgeBy is the Judgement of a zone that the class outside delivers.
func judgeBy(state delivery.State) Judgement {
	return JudgeZone(factsOf(aZone(), objects.InForce{Classes: []string{"outside"}}, map[string]delivery.State{"outside": state}))
}

// While a mass deletion holds a zone, Ready repeats the cause and the way to restore the RRsets from the condition
// Settled. The command that publishes the deletions is in Settled only, and Ready refers to it (S7.9).
func TestJudge_namesTheRestoreOfAHeldZone_S7_9(t *testing.T) {
	zone := aZone()
	meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionFalse,
		Reason:  v1alpha1.ReasonMassDeletion,
		Message: "the last NS is gone; the owner puts it back; or publishes the deletions: kubectl annotate"})
	j := JudgeZone(factsOf(zone, objects.InForce{}, nil))
	if want := "the last NS is gone; the owner puts it back, or publishes the deletions as the condition Settled says"; j.Message != want {
		t.Errorf("%q, want %q", j.Message, want)
	}
}

// A server answers an earlier serial than before, as after a restore of its disk. Records changed after that serial are
// no longer Ready, because this server answers their old values; older Records stay Ready. The stored Delivery suffices
// for this decision, since the API server has nothing else (S6.13).
func TestJudge_takesReadyBackFromASerialOn_S6_13(t *testing.T) {
	state := makeState(7, delivery.Unknown, delivery.ReasonServerWentBack)
	for _, test := range []struct {
		servers []delivery.Server
		want    map[int64]string
	}{
		{[]delivery.Server{{Name: "old", Serial: 4}, {Name: "older", Serial: 3}, {Name: "current", Serial: 7}},
			map[int64]string{3: "True Delivered", 4: "Unknown ServerWentBack", 7: "Unknown ServerWentBack"}},
		{[]delivery.Server{{Name: "silent", Err: delivery.Errorf(delivery.ReasonServerUnreachable, "no answer")}, {Name: "none"}},
			map[int64]string{3: "True Delivered", 7: "True Delivered"}},
	} {
		state.Servers = test.servers
		one := &v1alpha1.Delivery{Status: objects.StatusFor("public", state, nil)}
		one.Status.FQDN = "example.org."
		stored := must.Get(objects.StateOf(one))(t)
		progress := ProgressOf(factsOf(aZone(), objects.InForce{Classes: []string{"public"}}, map[string]delivery.State{"public": stored}))
		current := ProgressOf(factsOf(aZone(), objects.InForce{Classes: []string{"public"}}, map[string]delivery.State{
			"public": makeState(7, delivery.True, delivery.ReasonDelivered)}))
		if got := progress.RevokesReady(current); got != (test.want[7] != "True Delivered") {
			t.Errorf("%v: Ready Records are judged again: %v", test.servers, got)
		}
		for at, want := range test.want {
			record := &v1alpha1.Record{Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: at}}
			if j, _, _ := progress.Judge(record); string(j.Status)+" "+j.Reason != want {
				t.Errorf("%v: a Record of serial %d is %s %s, want %s", test.servers, at, j.Status, j.Reason, want)
			}
		}
	}
}

// Error texts of a provider may have addresses of the platform's network. A tenant's Zone shows the class and the next
// step instead; only texts about the zone's own data are shown (attack 81).
func TestJudge_showsNoTenantTheTextOfTheProvider(t *testing.T) {
	const message = "server: dial tcp 10.96.7.3:7100: connection refused"
	for _, reason := range []delivery.Reason{
		delivery.ReasonServerUnreachable, delivery.ReasonServerError, delivery.ReasonAuthenticationFailed, delivery.ReasonSecretNotFound, delivery.ReasonInvalidConfiguration,
		delivery.ReasonZoneNotFound, delivery.ReasonRateLimited, delivery.ReasonQuotaExceeded, delivery.ReasonSerialBehind, delivery.ReasonInternalError,
		delivery.ReasonContentDiffers, delivery.ReasonServerWentBack,
	} {
		failed := makeState(6, delivery.False, reason)
		failed.Ready.Message = message
		j := judgeBy(failed)
		if j.Reason != string(reason) || strings.Contains(j.Message, "10.96") || strings.Contains(j.Message, "dial") ||
			!strings.HasPrefix(j.Message, "outside: ") || !strings.Contains(j.Message, "; the platform finds the ") {
			t.Errorf("%s: %+v", reason, j)
		}
	}
	for _, reason := range []delivery.Reason{delivery.ReasonValidationFailed, delivery.ReasonConflict} {
		failed := makeState(6, delivery.False, reason)
		if j := judgeBy(failed); j.Message != "outside: said" {
			t.Errorf("%s, which is about the zone's own data: %+v", reason, j)
		}
	}
}

// A provider refuses many RRsets, more than a Delivery lists. The listed ones report the refusal, those beyond the list
// stay Pending by their digests, and every other Record is Ready. Only if neither list nor digests name all refused
// RRsets is no further Record judged (S6.13, attack 8).
func TestReady_besideMoreThanIsListed_S6_13(t *testing.T) {
	for _, test := range []struct {
		many     int
		digests  bool
		reasons  map[string]string
		unlisted bool
	}{
		{delivery.MaxRefused, true, map[string]string{"www": "Delivered", "poison-000": "ValidationFailed",
			"poison-255": "ValidationFailed"}, false},
		{delivery.MaxRefused + 44, true, map[string]string{"www": "Delivered", "poison-000": "ValidationFailed",
			"poison-299": "Pending"}, true},
		{delivery.MaxRefused + 44, false, map[string]string{"www": "", "poison-000": "ValidationFailed", "poison-299": ""}, true},
	} {
		failed := makeState(7, delivery.False, delivery.ReasonValidationFailed)
		failed.Failed, failed.Intent = test.many, &delivery.Intent{Serial: 7, Unlisted: test.unlisted}
		for n := range test.many {
			rrset := delivery.RRsetKey{Name: name.MustParse(fmt.Sprintf("poison-%03d.example.org.", n)), Type: rdata.A}
			switch {
			case n < delivery.MaxRefused:
				failed.Refused = append(failed.Refused, delivery.Failure{Name: rrset.Name, Type: rrset.Type,
					Err: delivery.Errorf(delivery.ReasonValidationFailed, "no")})
				failed.Intent.RRsets = append(failed.Intent.RRsets, rrset)
			case test.digests:
				failed.Digests = append(failed.Digests, rrset.Digest())
			}
		}
		slices.Sort(failed.Digests)
		f := factsOf(aZone(), objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{"a": failed})
		for owner, reason := range test.reasons {
			record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}}
			record.Status = v1alpha1.RecordStatus{FQDN: owner + ".example.org.", Serial: 7}
			if j, _, _ := ProgressOf(f).Judge(record); j.Reason != reason {
				t.Errorf("%d refused, digests %v: %s: %q, want %q", test.many, test.digests, owner, j.Reason, reason)
			}
		}
	}
}

// The facts of deliveries decide the conditions of a Zone at serial 7 and of its Record of that serial (S6.13): content
// that a class does not have, or loses, holds both up, and a refused RRset holds up no other Record.
func TestFacts_decideForZoneAndRecord_S6_13(t *testing.T) {
	delivered := func(change func(*ClassFacts)) ClassFacts {
		of := ClassFacts{Class: "a", Known: true, State: makeState(7, delivery.True, delivery.ReasonDelivered)}
		change(&of)
		return of
	}
	nothing := func(*ClassFacts) {}
	down := func(of *ClassFacts) { of.State = makeState(6, delivery.False, delivery.ReasonServerUnreachable) }
	refused := func(of *ClassFacts) {
		of.State = makeState(6, delivery.False, delivery.ReasonValidationFailed)
		of.State.Failed, of.State.Intent = 1, &delivery.Intent{Serial: 7}
	}
	for what, test := range map[string]struct {
		classes, remains []ClassFacts
		zone             func(*v1alpha1.Zone)
		wantZone         string
		wantRecord       string
	}{
		"confirmed":              {classes: []ClassFacts{delivered(nothing)}, wantZone: "True Delivered", wantRecord: "True Delivered"},
		"confirmed where it was": {classes: []ClassFacts{delivered(func(of *ClassFacts) { of.State.Target = "there" }).ForTarget("here")}, wantZone: "Unknown Pending", wantRecord: "Unknown Pending"},
		"begun to be withdrawn":  {classes: []ClassFacts{delivered(func(of *ClassFacts) { of.State.Hash = "" }).ForTarget("")}, wantZone: "Unknown Pending", wantRecord: "Unknown Pending"},
		"down": {classes: []ClassFacts{delivered(down)}, wantZone: "False ServerUnreachable",
			wantRecord: "False ServerUnreachable"},
		"down, as the class says": {classes: []ClassFacts{delivered(func(of *ClassFacts) {
			of.Known, of.State, of.FaultReason = false, delivery.State{}, "ServerUnreachable"
		})}, wantZone: "False ServerUnreachable", wantRecord: "False ServerUnreachable"},
		"some RRset is refused":            {classes: []ClassFacts{delivered(refused)}, wantZone: "False ValidationFailed", wantRecord: "Unknown Pending"},
		"all fails, and some were refused": {classes: []ClassFacts{delivered(func(of *ClassFacts) { refused(of); of.State.FailedWhole = true })}, wantZone: "False ValidationFailed", wantRecord: "False ValidationFailed"},
		"no class, and one has it":         {remains: []ClassFacts{delivered(nothing)}, wantZone: "Unknown Pending withdrawn", wantRecord: "Unknown Pending withdrawn"},
		"no class, and one does not let it go": {
			remains: []ClassFacts{delivered(nothing), delivered(down)}, wantZone: "False ServerUnreachable not withdrawn from class a:", wantRecord: "False ServerUnreachable not withdrawn from class a:",
		},
		"deleted": {remains: []ClassFacts{delivered(nothing)}, zone: func(zone *v1alpha1.Zone) { zone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }},
		"deleted, and one does not let it go": {
			remains: []ClassFacts{delivered(down)}, zone: func(zone *v1alpha1.Zone) { zone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			wantZone: "False ServerUnreachable deletionPolicy", wantRecord: "False ServerUnreachable deletionPolicy",
		},
	} {
		zone := aZone()
		if test.zone != nil {
			test.zone(zone)
		}
		f := &Facts{Zone: zone, Classes: test.classes, BegunDeliveries: test.remains}
		for _, of := range test.classes {
			f.InForce.Classes = append(f.InForce.Classes, of.Class)
		}
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 7}}
		ofRecord, _, _ := ProgressOf(f).Judge(record)
		for kind, row := range map[string]struct {
			got  Judgement
			want string
		}{"Zone": {JudgeZone(f), test.wantZone}, "Record": {ofRecord, test.wantRecord}} {
			words := strings.SplitN(row.want+"  ", " ", 3)
			if string(row.got.Status) != words[0] || row.got.Reason != words[1] || !strings.Contains(row.got.Message, strings.TrimSpace(words[2])) {
				t.Errorf("%s: the %s says %+v, want %q", what, kind, row.got, row.want)
			}
		}
	}
}
