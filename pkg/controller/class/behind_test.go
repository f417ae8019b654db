// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/ready"
)

// S6.11: the API server is asked to pass a secondary that answered this process with a signature, in a class in force:
// once for each answer, and again once the serial is accepted.
func TestPassSecondary_believesSignedSecondariesInForce(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "org", UID: "u"}, Status: v1alpha1.ZoneStatus{Serial: 100}}
	at := time.Unix(1000, 0)
	row := func(s serial.Serial, code string, reason delivery.Reason) delivery.Server {
		return delivery.Server{Name: "ns", Serial: s, At: at, Err: &delivery.Error{Reason: reason, Code: code}}
	}
	signed := row(105, delivery.CodeSigned, delivery.ReasonSerialBehind)
	judged := func() ready.Judgement {
		return ready.Judgement{Status: metav1.ConditionFalse, Reason: string(delivery.ReasonSerialBehind), Message: "it is ahead"}
	}
	for what, test := range map[string]struct {
		servers  []delivery.Server
		class    string
		observed bool
		reason   string
		want     serial.Serial
	}{
		"signed":                          {[]delivery.Server{signed}, "public", true, "", 105},
		"the furthest of several":         {[]delivery.Server{signed, row(107, delivery.CodeSigned, delivery.ReasonSerialBehind), row(106, delivery.CodeSigned, delivery.ReasonSerialBehind)}, "public", true, "", 107},
		"not signed":                      {[]delivery.Server{row(105, "", delivery.ReasonSerialBehind)}, "public", true, "", 0},
		"not signed, and further":         {[]delivery.Server{signed, row(109, "", delivery.ReasonSerialBehind)}, "public", true, "", 105},
		"signed, for another reason":      {[]delivery.Server{row(105, delivery.CodeSigned, delivery.ReasonAuthenticationFailed)}, "public", true, "", 0},
		"no error":                        {[]delivery.Server{{Name: "ns", Serial: 105}}, "public", true, "", 0},
		"not ahead any more":              {[]delivery.Server{row(100, delivery.CodeSigned, delivery.ReasonSerialBehind)}, "public", true, "", 0},
		"of a class that is not in force": {[]delivery.Server{signed}, "other", true, "", 0},
		"read from a Delivery":            {[]delivery.Server{signed}, "public", false, "", 0},
		"the zone fails otherwise":        {[]delivery.Server{signed}, "public", true, "ServerError", 0},
	} {
		f := publicFacts(zone, map[string]delivery.State{test.class: {Servers: test.servers}})
		f.Classes[0].Observed = test.observed
		j := judged()
		if test.reason != "" {
			j.Reason = test.reason
		}
		if got := passSecondary(f, &j, sighting{}).serial; got != test.want {
			t.Errorf("S6.11 %s: %d, want %d", what, got, test.want)
		}
	}

	var asked sighting
	ask := func(s delivery.Server) (serial.Serial, string) {
		f := publicFacts(zone, map[string]delivery.State{"public": {Servers: []delivery.Server{s}}})
		f.Classes[0].Observed = true
		j := judged()
		seen := passSecondary(f, &j, asked)
		if seen.serial != 0 {
			asked = seen
		}
		return seen.serial, j.Message
	}
	if got, text := ask(signed); got != 105 || !strings.Contains(text, "is raised past it") {
		t.Errorf("%d: %s", got, text)
	}
	if got, text := ask(signed); got != 0 || !strings.Contains(text, "less than a day ago") {
		t.Errorf("asked twice of one sighting: %d: %s", got, text)
	}
	at = at.Add(time.Minute)
	if got, _ := ask(row(105, delivery.CodeSigned, delivery.ReasonSerialBehind)); got != 105 {
		t.Errorf("seen again: %d", got)
	}
	far := row(100+1<<24+1, delivery.CodeSigned, delivery.ReasonSerialBehind)
	if _, text := ask(far); !strings.Contains(text, "kubi.zone/accept-serial=16777317") {
		t.Errorf("too far, and no next step: %s", text)
	}
	zone.Annotations = map[string]string{v1alpha1.AnnotationAcceptSerial: "16777317"}
	if got, text := ask(far); got != far.Serial || strings.Contains(text, "annotate") {
		t.Errorf("accepted: %d: %s", got, text)
	}
}

// A secondary with other data at the zone's own serial transfers nothing. The controller therefore raises the zone's
// serial, at most once a day. The serial is not raised for a server that still has other data after a transfer of the
// whole zone (S6.11).
func TestPassSecondary_raisesForOtherDataOnce_S6_11(t *testing.T) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "org", UID: "u"},
		Status: v1alpha1.ZoneStatus{Serial: 100}}
	at := time.Unix(1000, 0)
	row := func(s serial.Serial, code string) delivery.Server {
		return delivery.Server{Name: "ns", Serial: s, At: at, Content: delivery.ContentDiffers,
			Err: &delivery.Error{Reason: delivery.ReasonContentDiffers, Code: code}}
	}
	before := func(d time.Duration) sighting { return sighting{serial: 101, differs: true, probedAt: at.Add(-d)} }
	first, again := row(100, ""), row(100, delivery.CodeWhole)
	equal := delivery.Server{Name: "ns", Serial: 100}
	for what, test := range map[string]struct {
		servers []delivery.Server
		stored  bool
		asked   sighting
		want    serial.Serial
		says    string
	}{
		"other data":                        {servers: []delivery.Server{equal, first}, want: 101, says: "is raised"},
		"after it had the zone whole":       {servers: []delivery.Server{again}, says: "no serial follows"},
		"one again, one for the first time": {servers: []delivery.Server{again, first}, want: 101, says: "is raised"},
		"at an earlier serial":              {servers: []delivery.Server{row(99, "")}},
		"read from a Delivery":              {servers: []delivery.Server{first}, stored: true},
		"asked for already":                 {servers: []delivery.Server{first}, asked: before(0), says: "less than a day ago"},
		"seen again a minute later":         {servers: []delivery.Server{first}, asked: before(time.Minute), says: "less than a day ago"},
		"seen again later":                  {servers: []delivery.Server{first}, asked: before(askAgain), want: 101, says: "a day ago"},
	} {
		f := publicFacts(zone, map[string]delivery.State{"public": {Servers: test.servers}})
		f.Classes[0].Observed = !test.stored
		j := ready.Judgement{Status: metav1.ConditionFalse, Reason: string(delivery.ReasonContentDiffers), Message: "it differs"}
		seen := passSecondary(f, &j, test.asked)
		if seen.serial != test.want || !strings.Contains(j.Message, test.says) || test.says == "" && j.Message != "it differs" {
			t.Errorf("%s: %+v, %q", what, seen, j.Message)
		}
	}
}

// If a secondary has a serial ahead of the zone's, the controller raises the zone's serial beyond the secondary's. In a
// signed zone the servers have the signer's serials. So nothing is raised for them from the phase Moving to the end of
// Returning (S12.5).
func TestPassSecondary_leavesSignedZones_S12_5(t *testing.T) {
	ahead := delivery.Server{Name: "ns", Serial: 105, At: time.Unix(1000, 0), Err: &delivery.Error{Reason: delivery.ReasonSerialBehind, Code: delivery.CodeSigned}}
	for phase, want := range map[v1alpha1.DNSSECPhase]serial.Serial{
		"": 105, v1alpha1.DNSSECSigning: 105, v1alpha1.DNSSECMoving: 0, v1alpha1.DNSSECSigned: 0, v1alpha1.DNSSECExpiring: 0, v1alpha1.DNSSECReturning: 0,
	} {
		zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "org", UID: "u"}, Status: v1alpha1.ZoneStatus{Serial: 100, DNSSEC: &v1alpha1.ZoneDNSSECStatus{Phase: phase}}}
		f := publicFacts(zone, map[string]delivery.State{"public": {Servers: []delivery.Server{ahead}}})
		f.Classes[0].Observed = true
		j := ready.Judgement{Status: metav1.ConditionFalse, Reason: string(delivery.ReasonSerialBehind), Message: "it is ahead"}
		if got := passSecondary(f, &j, sighting{}).serial; got != want {
			t.Errorf("%q: the server is asked to pass %d, want %d", phase, got, want)
		}
	}
}

func publicFacts(zone *v1alpha1.Zone, states map[string]delivery.State) *ready.Facts {
	state, known := states["public"]
	return &ready.Facts{Zone: zone, InForce: ready.InForce{Classes: []string{"public"}},
		Classes: []ready.ClassFacts{{Class: "public", State: state, Known: known}}}
}
