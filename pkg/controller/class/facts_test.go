// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
)

// The facts of deliveries decide the conditions of a Zone at serial 7 and of its Record of that serial (S6.13): content
// that a class does not have, or loses, holds both up, and a refused RRset holds up no other Record.
func TestFacts_decideForZoneAndRecord_S6_13(t *testing.T) {
	delivered := func(change func(*classFacts)) classFacts {
		of := classFacts{class: "a", report: report{known: true, state: makeState(7, delivery.True, delivery.ReasonDelivered)}}
		change(&of)
		return of
	}
	nothing := func(*classFacts) {}
	down := func(of *classFacts) { of.state = makeState(6, delivery.False, delivery.ReasonServerUnreachable) }
	refused := func(of *classFacts) {
		of.state = makeState(6, delivery.False, delivery.ReasonValidationFailed)
		of.state.Failed, of.state.Intent = 1, &delivery.Intent{Serial: 7}
	}
	for what, test := range map[string]struct {
		classes, remains []classFacts
		zone             func(*v1alpha1.Zone)
		wantZone         string
		wantRecord       string
	}{
		"confirmed":                        {classes: []classFacts{delivered(nothing)}, wantZone: "True Delivered", wantRecord: "True Delivered"},
		"confirmed where it was":           {classes: []classFacts{delivered(func(of *classFacts) { of.state.Target = "there" }).at("here")}, wantZone: "Unknown Pending", wantRecord: "Unknown Pending"},
		"begun to be withdrawn":            {classes: []classFacts{delivered(func(of *classFacts) { of.state.Hash = "" }).at("")}, wantZone: "Unknown Pending", wantRecord: "Unknown Pending"},
		"down":                             {classes: []classFacts{delivered(down)}, wantZone: "False ServerUnreachable", wantRecord: "False ServerUnreachable"},
		"down, as the class says":          {classes: []classFacts{delivered(func(of *classFacts) { of.known, of.state, of.says = false, delivery.State{}, "ServerUnreachable" })}, wantZone: "False ServerUnreachable", wantRecord: "False ServerUnreachable"},
		"some RRset is refused":            {classes: []classFacts{delivered(refused)}, wantZone: "False ValidationFailed", wantRecord: "Unknown Pending"},
		"all fails, and some were refused": {classes: []classFacts{delivered(func(of *classFacts) { refused(of); of.failedWhole = true })}, wantZone: "False ValidationFailed", wantRecord: "False ValidationFailed"},
		"no class, and one has it":         {remains: []classFacts{delivered(nothing)}, wantZone: "Unknown Pending withdrawn", wantRecord: "Unknown Pending withdrawn"},
		"no class, and one does not let it go": {
			remains: []classFacts{delivered(nothing), delivered(down)}, wantZone: "False ServerUnreachable not withdrawn from class a:", wantRecord: "False ServerUnreachable not withdrawn from class a:",
		},
		"deleted": {remains: []classFacts{delivered(nothing)}, zone: func(zone *v1alpha1.Zone) { zone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }},
		"deleted, and one does not let it go": {
			remains: []classFacts{delivered(down)}, zone: func(zone *v1alpha1.Zone) { zone.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
			wantZone: "False ServerUnreachable deletionPolicy", wantRecord: "False ServerUnreachable deletionPolicy",
		},
	} {
		zone := aZone()
		if test.zone != nil {
			test.zone(zone)
		}
		f := &facts{zone: zone, classes: test.classes, remains: test.remains}
		for _, of := range test.classes {
			f.force.classes = append(f.force.classes, of.class)
		}
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 7}}
		ofRecord, _, _ := judgeRecord(record, standingOf(f))
		for kind, row := range map[string]struct {
			got  judgement
			want string
		}{"Zone": {judgeZone(f), test.wantZone}, "Record": {ofRecord, test.wantRecord}} {
			words := strings.SplitN(row.want+"  ", " ", 3)
			if string(row.got.status) != words[0] || row.got.reason != words[1] || !strings.Contains(row.got.message, strings.TrimSpace(words[2])) {
				t.Errorf("%s: the %s says %+v, want %q", what, kind, row.got, row.want)
			}
		}
	}
}

// The Loop of this process knows more than a Delivery that an informer tells of later, also that all is removed.
func TestReports_goByTheLoopOfThisProcess(t *testing.T) {
	r := &reports{all: map[delivery.Key]report{}}
	of := func(at delivery.State) *v1alpha1.Delivery {
		return &v1alpha1.Delivery{Status: statusFor("a", at, nil)}
	}
	key := delivery.Key{UID: "u", Class: "a"}
	older, newer := makeBegunState(), makeBegunState()
	older.Serial, newer.Serial = 6, 7
	r.takeDelivery(key, of(older))
	if got := r.get(key); !got.known || got.observed || got.state.Serial != 6 {
		t.Errorf("of the Delivery: %+v", got)
	}
	r.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeDelivered, State: newer})
	r.takeDelivery(key, of(older))
	if got := r.get(key); !got.known || !got.observed || got.state.Serial != 7 {
		t.Errorf("of the Loop: %+v", got)
	}
	r.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeRemoved, Remains: name.Name{}})
	r.takeDelivery(key, of(older))
	if got := r.get(key); got.known || !got.observed {
		t.Errorf("withdrawn: %+v", got)
	}
}

// The health of a class is a fact of each of its zones while it is of the present generation.
func TestReadFacts_whatAClassSays(t *testing.T) {
	client := fake.NewClientset()
	c := newController(t, client)
	for generation, want := range map[int64]string{1: "ServerUnreachable", 2: ""} {
		of := classAt("public", "here")
		of.Generation = generation
		of.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ServerUnreachable", ObservedGeneration: 1}}
		must.Succeed(t, c.index.classes.GetStore().Add(of))
		if says := c.zones.readFacts(aZone(), inForce{classes: []string{"public"}}).classes[0].says; says != want {
			t.Errorf("generation %d: %q, want %q", generation, says, want)
		}
	}
}

// A Zone is written once from one version of it, however often it is looked at before the informer tells of that write;
// of a Zone that is gone nothing is kept.
func TestSyncStatus_onceFromEachVersion(t *testing.T) {
	zone := aZone()
	zone.ResourceVersion = "1"
	client := fake.NewClientset(zone)
	c := newController(t, client)
	f := factsOf(zone, inForce{classes: []string{"public"}}, map[string]delivery.State{"public": makeState(7, delivery.True,
		delivery.ReasonDelivered)})
	at := cache.NewObjectName(zone.Namespace, zone.Name)
	for range 3 {
		must.Succeed(t, c.zones.syncStatus(t.Context(), c.zones.memoryOf(at), f))
	}
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d writes: %v", n, client.Actions())
	}
	must.Succeed(t, c.records.syncRecords(t.Context(), zone, standingOf(f)))
	c.reports.takeEvent(delivery.Event{Key: key, Outcome: delivery.OutcomeDelivered, State: makeBegunState()})
	must.Succeed(t, c.zones.forgetZone(t.Context(), at, string(zone.UID)))
	if left := len(c.zones.memory) + len(c.records.standings) + len(c.records.untold) + len(c.reports.all); left != 0 {
		t.Errorf("kept: %v, %v, %v, %v", c.zones.memory, c.records.standings, c.records.untold, c.reports.all)
	}
}
