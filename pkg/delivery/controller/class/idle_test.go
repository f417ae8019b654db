// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// putDelivered adds a Ready zone to the views, and returns the zone with its Delivery and a Record.
func putDelivered(t *testing.T, views *zoneview.Set, i int, holder string) []runtime.Object {
	t.Helper()
	uid, fqdn := types.UID(fmt.Sprint("uid-", i)), name.MustParse(fmt.Sprintf("z%d.example.", i))
	header := content.Header{FQDN: fqdn, TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
	step := content.Step{N: 1, Serial: serial.Serial(7), HeaderAfter: &header, State: sethash.State{}}
	at := zoneview.Zone{UID: string(uid), Namespace: "team", Name: fmt.Sprint("z", i)}
	must.Succeed(t, views.Apply(string(uid), content.Transaction{Steps: []content.Step{step}, Settled: true}, at))
	snapshot, _ := views.Settled(string(uid))
	condition := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: 1}
	}
	confirmed := condition(v1alpha1.ConditionReady, v1alpha1.ReasonDelivered, "every class in force has confirmed serial 7")
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("of-" + name), ResourceVersion: "1", Generation: 1}
	}
	zone := &v1alpha1.Zone{ObjectMeta: meta(at.Name), Spec: v1alpha1.ZoneSpec{DomainName: fqdn.String(), DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "main"}}}}
	zone.UID, zone.Finalizers = uid, []string{v1alpha1.FinalizerDelivery}
	zone.Status = v1alpha1.ZoneStatus{FQDN: fqdn.String(), Serial: 7, SettledSerial: 7, Hash: snapshot.Hash(), Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionDelegated, "Standalone", "x"), condition(v1alpha1.ConditionServable, "Servable", "x"),
		condition(v1alpha1.ConditionSettled, "Settled", "x"), confirmed,
	}}
	ref := v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "main"}
	one := &v1alpha1.Delivery{ObjectMeta: meta(class.DeliveryName(at.Name, uid, ref)), Spec: v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: at.Name, UID: uid, FQDN: fqdn.String()}, ClassRef: ref}}
	one.Finalizers = []string{v1alpha1.FinalizerDelivery}
	one.Status = objects.StatusFor("public", delivery.State{
		Zone: fqdn, Target: "here", Serial: 7, Hash: snapshot.Hash(), SyncTime: time.Now(), Holder: holder,
		Ready: delivery.Condition{Status: delivery.True, Reason: delivery.ReasonDelivered, Message: "everything in the class has confirmed the serial"},
	}, nil)
	record := &v1alpha1.Record{ObjectMeta: meta(fmt.Sprint("r", i)), Spec: v1alpha1.RecordSpec{Type: "A"}}
	record.Status = v1alpha1.RecordStatus{FQDN: "www." + fqdn.String(), Serial: 7, ZoneRef: &v1alpha1.AdoptingZone{Namespace: "team", Name: at.Name, UID: uid}, Conditions: []metav1.Condition{confirmed}}
	return []runtime.Object{zone, one, record}
}

// addAddress adds www with an address to the content of a zone of putDelivered, and names the zone fqdn.
func addAddress(t *testing.T, views *zoneview.Set, uid string, fqdn name.Name, address string) *zoneview.Snapshot {
	t.Helper()
	before, _ := views.Settled(uid)
	header, inherit := content.Header{FQDN: fqdn, TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}, content.InheritTTL()
	old := header
	old.FQDN = before.FQDN()
	www := name.MustRel("www")
	step := content.Step{N: 2, From: before.Serial(), Serial: before.Serial().Next(), HeaderBefore: &old, HeaderAfter: &header,
		Added: []content.Row{{Owner: www, Type: rdata.A, Data: address}}, TTLs: []content.TTLChange{{Owner: www, Type: rdata.A, After: &inherit}}}
	removed, added := step.Elements()
	step.State = must.Get((sethash.State{}).Update(removed, added))(t)
	must.Succeed(t, views.Apply(uid, content.Transaction{Steps: []content.Step{step}, Settled: true}, before.Zone()))
	after, _ := views.Settled(uid)
	return after
}

// A controller that starts with 1,000 unchanged zones, delivered by this process or another, writes only results of
// health checks in ten minutes. In the hours after, the provider gets only the scheduled comparisons.
func TestController_idle(t *testing.T) {
	for _, holder := range []string{"me", "another"} {
		synctest.Test(t, func(t *testing.T) {
			const zones = 1000
			views, server := zoneview.NewSet(zoneview.Config{}), deliverytest.NewServer()
			of := classAt("main", "https://dns.example.net")
			of.Status.Target = objects.Fingerprint("here")
			stored := []runtime.Object{of}
			for i := range zones {
				stored = append(stored, putDelivered(t, views, i, holder)...)
			}
			client := fake.NewClientset(stored...)
			_, end := runController(t, client, Config{
				Views: views, Providers: giveWebhooks(&deliverytest.Memory{Server: server}, "here"),
			})
			// writes counts those for health apart.
			writes := func() (others []string, health int) {
				for _, action := range client.Actions() {
					switch verb := action.GetVerb(); {
					case verb == "get" || verb == "list" || verb == "watch":
					case action.GetResource().Resource == "dnsclasses" && action.GetSubresource() == "status":
						health++
					default:
						others = append(others, verb+" "+action.GetResource().Resource+"/"+action.GetSubresource())
					}
				}
				return others, health
			}
			passTime(10*time.Minute - time.Second)
			others, health := writes()
			if len(others) != 0 || health != 1 {
				t.Errorf("holder %s: written in ten minutes: %d, of them %v, and %d results of health checks", holder, len(others), others[:min(len(others), 5)], health)
			}
			if delivered, compared := server.Calls("Deliver"), server.Calls("Verify"); delivered != 0 || compared != 0 {
				t.Errorf("holder %s: %d deliveries, %d comparisons in ten minutes", holder, delivered, compared)
			}
			read := len(client.Actions())
			passTime(3 * time.Hour)
			others, health = writes()
			if len(others) != 0 || health != 19 {
				t.Errorf("holder %s: written in three hours: %v, and %d results of health checks", holder, others, health)
			}
			if compared := server.Calls("Verify"); compared < 3*zones || compared > 4*zones || server.Calls("Deliver") != 0 {
				t.Errorf("holder %s: %d comparisons of %d zones in three hours; one an hour, less up to a fifth", holder, compared, zones)
			}
			if more := len(client.Actions()) - read; more > 20 {
				t.Errorf("holder %s: %d requests in three hours", holder, more)
			}
			end()
		})
	}
}
