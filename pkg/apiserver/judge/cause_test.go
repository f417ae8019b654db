// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
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
	"kubi.zone/kubizone/pkg/kit/heartbeat"
)

// S7.12: Zone and Record name the same cause, the first of several: a mass deletion, the pause of the zone, a fault of
// an active class, the pause of a class, no controller, no primary, a class without a fault.
func TestCauses_ofZoneAndRecord_S7_12(t *testing.T) {
	ended := heartbeat.Life{Ended: time.Date(2026, 11, 27, 2, 41, 7, 0, time.UTC)}
	long := time.Now().Add(-time.Hour)
	for _, test := range []struct {
		name       string
		change     func(f *Facts)
		want, role string
	}{
		{"under way", func(*Facts) {}, "Unknown Pending", ""},
		{"paused", func(f *Facts) { pauseZone(f); f.Processes.Controller = ended }, "Unknown Paused", "the zone's owner removes"},
		{"class paused", func(f *Facts) { f.Classes[1].Paused, f.Processes.Primary = true, ended }, "Unknown ClassPaused",
			"the platform sets"},
		{"a confirmed class is paused", func(f *Facts) { f.Classes[0].Paused = true }, "Unknown Pending", ""},
		{"no controller", func(f *Facts) { f.Processes = Processes{ended, ended} }, "Unknown NoController",
			"the platform starts the process controller"},
		{"no primary", func(f *Facts) { f.Processes.Primary = ended }, "Unknown NoPrimary", "the platform starts the process primary"},
		{"no primary is needed", func(f *Facts) { f.Processes.Primary, f.Classes[1].NeedsPrimary = ended, false }, "Unknown Pending", ""},
		{"unsure", func(f *Facts) { f.Processes.Controller.Unsure = true }, "Unknown Pending", ""},
		{"a fault", failClass, "False ServerUnreachable", ""},
		{"a fault of the class", func(f *Facts) { f.Classes[1].FaultReason = string(delivery.ReasonServerUnreachable) },
			"False ServerUnreachable", ""},
		{"paused with a fault", func(f *Facts) { pauseZone(f); failClass(f) }, "Unknown Paused", "the zone's owner removes"},
		{"a paused class with a fault", func(f *Facts) { failClass(f); f.Classes[1].Paused = true }, "Unknown ClassPaused",
			"the platform sets"},
		{"a paused class beside a fault", func(f *Facts) {
			failClass(f)
			f.Classes[0].State.Serial, f.Classes[0].Paused = 8, true
		}, "False ServerUnreachable", ""},
		{"an RRset refused before the pause", func(f *Facts) {
			pauseZone(f)
			f.Classes[1].State = makeState(9, delivery.False, delivery.ReasonValidationFailed)
			f.Classes[1].State.Failed, f.Classes[1].State.Refused = 1, []delivery.Failure{{Name: name.MustParse("www.example.org."),
				Type: rdata.A, Err: delivery.Errorf(delivery.ReasonValidationFailed, "no")}}
		}, "False ValidationFailed", ""},
		{"held", func(f *Facts) { pauseZone(f); holdZone(f) }, "False MassDeletion", ""},
		{"late", func(f *Facts) { f.LastChange = long }, "Unknown AwaitsClass", "the platform finds the server"},
		{"went back", func(f *Facts) { f.Classes[1].State.Ready.Reason = delivery.ReasonServerWentBack }, "Unknown ServerWentBack",
			"the platform finds the server"},
		{"refuses NOTIFY", func(f *Facts) { f.Classes[1] = refuseNotify(f.Classes[1], "REFUSED", ""); f.LastChange = long },
			"Unknown NotifyFailing", "the platform finds the server"},
		{"transfers nothing over TLS, and refuses NOTIFY", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "REFUSED", "")
			f.Classes[1].Notify = append(f.Classes[1].Notify, refuseNotify(f.Classes[1], "TLSUnknownAuthority", "").Notify...)
		}, "Unknown TLSFailing", "no authority of the class has signed its certificate"},
		{"went back, and transfers nothing over TLS", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "TLSNoALPN", "")
			f.Classes[1].State.Ready.Reason = delivery.ReasonServerWentBack
		}, "Unknown ServerWentBack", ""},
		{"a fault of TLS, and has the zone's serial", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "TLSNotUsed", "")
			f.Classes[1].State.AskedSerial, f.Classes[1].State.Servers[0].Serial = 9, 9
		}, "Unknown Pending", ""},
		{"lacks the zone, since it transfers no catalog over TLS", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "TLSRefusedByPeer", "")
			f.Classes[1].State.Ready, f.Classes[1].State.Servers[0].Serial = delivery.Condition{Status: delivery.False,
				Reason: delivery.ReasonZoneNotFound}, 0
		}, "Unknown TLSFailing", "it refuses the primary's certificate"},
		{"refuses NOTIFY, and has the zone's serial", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "REFUSED", "")
			f.Classes[1].State.AskedSerial, f.Classes[1].State.Servers[0].Serial = 9, 9
		}, "Unknown Pending", ""},
		{"NOTAUTH of a server with the zone", func(f *Facts) { f.Classes[1] = refuseNotify(f.Classes[1], "NOTAUTH", "") },
			"Unknown NotifyFailing", ""},
		{"NOTAUTH for the zone that it lacks", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "NOTAUTH", "")
			f.Classes[1].State.Ready, f.Classes[1].State.Servers[0].Serial = delivery.Condition{Status: delivery.False,
				Reason: delivery.ReasonZoneNotFound}, 0
		}, "False ZoneNotFound", ""},
		{"NSD's NXDOMAIN for the zone that it lacks", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "NXDOMAIN", "")
			f.Classes[1].State.Ready, f.Classes[1].State.Servers[0].Serial = delivery.Condition{Status: delivery.False,
				Reason: delivery.ReasonZoneNotFound}, 0
		}, "False ZoneNotFound", ""},
		{"lacks the zone, since it refuses NOTIFY for the catalog", func(f *Facts) {
			f.Classes[1] = refuseNotify(f.Classes[1], "REFUSED", "catalog.example.")
			f.Classes[1].State.Ready, f.Classes[1].State.Servers[0].Serial = delivery.Condition{Status: delivery.False,
				Reason: delivery.ReasonZoneNotFound}, 0
		}, "Unknown NotifyFailing", "the platform finds the server"},
		{"is down, and silent to NOTIFY", func(f *Facts) { failClass(f); f.Classes[1] = refuseNotify(f.Classes[1], "NoAnswer", "") },
			"False ServerUnreachable", ""},
		{"no primary, and a former refusal", func(f *Facts) {
			f.Classes[1], f.Processes.Primary = refuseNotify(f.Classes[1], "REFUSED", ""), ended
		}, "Unknown NoPrimary", ""},
		{"late and paused", func(f *Facts) { f.LastChange, f.Classes[1].Paused = long, true }, "Unknown ClassPaused", "the platform sets"},
	} {
		zone := aZone()
		zone.Status.Serial, zone.Status.SettledSerial = 9, 9
		setUnknown(&zone.Status.Conditions, v1alpha1.ReasonPending, long)
		f := factsOf(zone, objects.InForce{Classes: []string{"first", "second"}}, map[string]delivery.State{
			"first":  makeState(9, delivery.True, delivery.ReasonDelivered),
			"second": makeState(8, delivery.Unknown, delivery.ReasonPending),
		})
		f.Classes[1].NeedsPrimary = true
		test.change(f)
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: "A"}, Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 9}}
		setUnknown(&record.Status.Conditions, v1alpha1.ReasonPending, long)
		progress := ProgressOf(f)
		progress.since = f.LastChange
		ofRecord, _, ok := progress.Judge(record)
		for of, j := range map[string]Judgement{"Zone": JudgeZone(f), "Record": ofRecord} {
			if got := string(j.Status) + " " + j.Reason; !ok || got != test.want || !strings.Contains(j.Message, test.role) {
				t.Errorf("%s: the %s says %s: %s, want %s: %s", test.name, of, got, j.Message, test.want, test.role)
			}
			if j.Reason == v1alpha1.ReasonNoController && !strings.Contains(j.Message, "since 02:41:07Z") {
				t.Errorf("%s: the %s says %s", test.name, of, j.Message)
			}
			// Readers cut a message at its semicolon into fault and next step.
			if _, step, has := strings.Cut(j.Message, "; "); j.Status == metav1.ConditionUnknown && has != (j.Reason != "Pending") ||
				j.Status == metav1.ConditionUnknown && has && !strings.HasPrefix(step, rolePlatform) &&
					!strings.HasPrefix(step, roleOwner) {
				t.Errorf("%s: the %s says %s", test.name, of, j.Message)
			}
			if len(j.Message) > objects.MaxZoneMessage {
				t.Errorf("%s: %d octets", test.name, len(j.Message))
			}
		}
	}
}

// Ready has the reason NoController or NoPrimary while a process does not work. While the state of the process is
// unknown, as after a restart, such a Ready is not replaced; any other is judged as usual.
func TestCauses_stayWhileUnsure(t *testing.T) {
	zone := aZone()
	zone.Status.Serial, zone.Status.SettledSerial = 9, 9
	for _, reason := range []string{v1alpha1.ReasonNoController, v1alpha1.ReasonNoPrimary, v1alpha1.ReasonPaused} {
		setUnknown(&zone.Status.Conditions, reason, time.Now())
		f := factsOf(zone, objects.InForce{Classes: []string{"a"}}, map[string]delivery.State{
			"a": makeState(8, delivery.Unknown, delivery.ReasonPending)})
		f.Processes = Processes{heartbeat.Life{Unsure: true}, heartbeat.Life{Unsure: true}}
		record := &v1alpha1.Record{Status: v1alpha1.RecordStatus{FQDN: "www.example.org.", Serial: 9, Conditions: zone.Status.Conditions}}
		j := JudgeZone(f)
		if _, _, decided := ProgressOf(f).Judge(record); decided != (reason == v1alpha1.ReasonPaused) || decided != (j.Status != "") {
			t.Errorf("%s: the Record is judged: %v, the Zone: %+v", reason, decided, j)
		}
	}
}

// refuseNotify gives the class a server at serial 8, and its answer to NOTIFY.
func refuseNotify(of ClassFacts, answer, catalog string) ClassFacts {
	of.State.Servers, of.State.AskedSerial = []delivery.Server{{Name: "192.0.2.1", Serial: 8}}, 9
	of.Notify = []v1alpha1.DeliveryNotify{{Server: "192.0.2.1", Answer: answer, Catalog: catalog, From: "192.0.2.53"}}
	return of
}

func failClass(f *Facts) {
	f.Classes[1].State = makeState(8, delivery.False, delivery.ReasonServerUnreachable)
	f.Classes[1].FaultReason = string(delivery.ReasonServerUnreachable)
}

// A paused class withdraws nothing, whatever its server.
func TestCauses_ofAZoneThatAPausedClassHas_S7_12(t *testing.T) {
	now := metav1.Now()
	for _, deleted := range []*metav1.Time{nil, &now} {
		zone := aZone()
		zone.DeletionTimestamp = deleted
		f := factsOf(zone, objects.InForce{Classes: []string{"first", "second"}}, map[string]delivery.State{})
		failClass(f)
		f.BegunDeliveries, f.Classes, f.InForce = f.Classes[1:], nil, objects.InForce{}
		for paused, want := range map[bool]string{false: "False ServerUnreachable", true: "Unknown ClassPaused"} {
			f.BegunDeliveries[0].Paused = paused
			ofRecord, _, _ := ProgressOf(f).Judge(&v1alpha1.Record{Status: v1alpha1.RecordStatus{Serial: 7}})
			for of, j := range map[string]Judgement{"Zone": JudgeZone(f), "Record": ofRecord} {
				got := string(j.Status) + " " + j.Reason
				if got != want || !strings.Contains(j.Message, "not withdrawn from class second") {
					t.Errorf("deleted: %v: the %s says %s: %s, want %s", deleted != nil, of, got, j.Message, want)
				}
			}
		}
	}
}

func pauseZone(f *Facts) {
	f.Zone.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"}
}

func holdZone(f *Facts) {
	f.Zone.Status.SettledSerial = 8
	meta.SetStatusCondition(&f.Zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonMassDeletion})
}

func setUnknown(conditions *[]metav1.Condition, reason string, since time.Time) {
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReady)
	meta.SetStatusCondition(conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reason,
		LastTransitionTime: metav1.NewTime(since)})
}
