// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// raises is a ledger that notes which serials it is asked to pass, and raises none unless allows is set.
type raises struct {
	Ledger
	asked  []zones.Ahead
	allows bool
}

func (r *raises) RaiseSerial(_ context.Context, _ law.Ref, past zones.Ahead) (bool, error) {
	r.asked = append(r.asked, past)
	return r.allows, nil
}

func (r *raises) newLeader() *leader {
	return &leader{Judge: &Judge{config: Config{Ledger: r}}, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.DefaultTypedControllerRateLimiter[string]())}
}

func publicFacts(zone *v1alpha1.Zone, class string, servers ...delivery.Server) *Facts {
	f := &Facts{Zone: zone, InForce: objects.InForce{Classes: []string{"public"}}, Classes: []ClassFacts{{Class: "public"}}}
	if class == "public" {
		f.Classes[0].State, f.Classes[0].Known = delivery.State{Servers: servers}, true
	}
	return f
}

func servedZone() *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "org", UID: "u"}, Status: v1alpha1.ZoneStatus{Serial: 100}}
}

// S6.11: the serial is raised past a secondary of a class in force if two signed answers show that it is ahead, or if
// it has other data at the zone's own serial and has not transferred the zone whole since. Servers of a signed zone
// have the signer's serials, so nothing is raised for them from the phase Moving to the end of Returning (S12.5).
func TestRaiseSerial_forWhichSecondaries_S6_11(t *testing.T) {
	row := func(s serial.Serial, reason delivery.Reason, awaits bool) delivery.Server {
		return delivery.Server{Name: "ns", Serial: s, AwaitsSerial: awaits, Err: &delivery.Error{Reason: reason}}
	}
	ahead := func(s serial.Serial) delivery.Server { return row(s, delivery.ReasonSerialBehind, true) }
	differs, again := row(100, delivery.ReasonContentDiffers, true), row(100, delivery.ReasonContentDiffers, false)
	const behind, other = delivery.ReasonSerialBehind, delivery.ReasonContentDiffers
	for what, test := range map[string]struct {
		reason  delivery.Reason
		class   string
		phase   v1alpha1.DNSSECPhase
		servers []delivery.Server
		want    serial.Serial
		outlook string
	}{
		"signed":                            {behind, "public", "", []delivery.Server{ahead(105)}, 105, "less than a day ago"},
		"the furthest of several":           {behind, "public", "", []delivery.Server{ahead(105), ahead(107), ahead(106)}, 107, "a day ago"},
		"not signed":                        {behind, "public", "", []delivery.Server{row(105, behind, false)}, 0, ""},
		"not signed, and further":           {behind, "public", "", []delivery.Server{ahead(105), row(109, behind, false)}, 105, "a day ago"},
		"for another reason":                {behind, "public", "", []delivery.Server{row(105, delivery.ReasonServerError, true)}, 0, ""},
		"no error":                          {behind, "public", "", []delivery.Server{{Name: "ns", Serial: 105}}, 0, ""},
		"not ahead any more":                {behind, "public", "", []delivery.Server{ahead(100)}, 0, ""},
		"of a class that is not in force":   {behind, "other", "", []delivery.Server{ahead(105)}, 0, ""},
		"the zone fails otherwise":          {delivery.ReasonServerError, "public", "", []delivery.Server{ahead(105)}, 0, ""},
		"too far":                           {behind, "public", "", []delivery.Server{ahead(100 + 1<<24 + 1)}, 100 + 1<<24 + 1, "kubi.zone/accept-serial=16777317"},
		"before signing":                    {behind, "public", v1alpha1.DNSSECSigning, []delivery.Server{ahead(105)}, 105, "a day ago"},
		"while the parent's DS moves":       {behind, "public", v1alpha1.DNSSECMoving, []delivery.Server{ahead(105)}, 0, ""},
		"signed by its signer":              {behind, "public", v1alpha1.DNSSECSigned, []delivery.Server{ahead(105)}, 0, ""},
		"while signatures expire":           {behind, "public", v1alpha1.DNSSECExpiring, []delivery.Server{ahead(105)}, 0, ""},
		"back from signing, past 120":       {delivery.ReasonPending, "public", v1alpha1.DNSSECReturning, nil, 120, ""},
		"back from signing":                 {behind, "public", v1alpha1.DNSSECReturning, []delivery.Server{ahead(105)}, 0, ""},
		"other data":                        {other, "public", "", []delivery.Server{{Name: "equal", Serial: 100}, differs}, 101, "less than a day ago"},
		"after it had the zone whole":       {other, "public", "", []delivery.Server{again}, 0, "no serial follows"},
		"one again, one for the first time": {other, "public", "", []delivery.Server{again, differs}, 101, "is raised again after a day"},
		"at an earlier serial":              {other, "public", "", []delivery.Server{row(99, other, true)}, 0, ""},
	} {
		zone, ledger := servedZone(), &raises{}
		if test.phase != "" {
			zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{Phase: test.phase}
			if test.want == 120 {
				zone.Status.DNSSEC.PassSerial = 120
			}
		}
		f := publicFacts(zone, test.class, test.servers...)
		raised, outlook, err := ledger.newLeader().raiseSerial(t.Context(), f, string(test.reason), &request{})
		if err != nil || raised || !strings.Contains(outlook, test.outlook) || test.outlook == "" && outlook != "" {
			t.Errorf("%s: %v, %q, %v", what, raised, outlook, err)
		}
		if want := (zones.Ahead{Serial: test.want, Differs: test.reason == other}); test.want == 0 && len(ledger.asked) > 0 ||
			test.want != 0 && (len(ledger.asked) != 1 || ledger.asked[0] != want) {
			t.Errorf("%s: asked to pass %+v, want %+v", what, ledger.asked, want)
		}
	}
}

// A request that the law refuses is repeated every ten minutes, and at once when the owner accepts the serial. A raised
// serial needs no explanation (S6.11).
func TestRaiseSerial_asksAgain_S6_11(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		zone, ledger := servedZone(), &raises{}
		server := delivery.Server{Name: "ns", Serial: 1 << 30, AwaitsSerial: true, Err: &delivery.Error{Reason: delivery.ReasonSerialBehind}}
		l, asked := ledger.newLeader(), &request{}
		defer l.queue.ShutDown()
		ask := func() (bool, string) {
			raised, outlook, err := l.raiseSerial(t.Context(), publicFacts(zone, "public", server), string(delivery.ReasonSerialBehind), asked)
			if err != nil {
				t.Error(err)
			}
			return raised, outlook
		}
		ask()
		if _, outlook := ask(); len(ledger.asked) != 1 || !strings.Contains(outlook, "annotate") {
			t.Errorf("asked %d times: %s", len(ledger.asked), outlook)
		}
		time.Sleep(askAgain)
		if ask(); len(ledger.asked) != 2 {
			t.Errorf("asked %d times in ten minutes", len(ledger.asked))
		}
		zone.Annotations = map[string]string{v1alpha1.AnnotationAcceptSerial: "1073741824"}
		ledger.allows = true
		if raised, outlook := ask(); !raised || outlook != "" || ledger.asked[2].AcceptedSerial != 1<<30 {
			t.Errorf("accepted: %v, %q, %+v", raised, outlook, ledger.asked)
		}
	})
}
