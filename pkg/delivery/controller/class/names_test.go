// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// H7: a class has only one zone of a name, in whatever view. If the controller starts with two, the zone with the
// earlier Delivery wins, although the other zone is older and processed first. The other Zone reports the conflict, and
// is delivered when the winner leaves the class.
func TestController_oneZoneOfAName_H7(t *testing.T) { oneZoneOfAName(t, "", 1) }

// S1.9: in a class of several views the zone of the default view wins, although the Delivery of the other zone is
// earlier.
func TestController_theDefaultViewHasTheName_S1_9(t *testing.T) { oneZoneOfAName(t, "dev", 0) }

// oneZoneOfAName starts with two Zones of one name that a class delivered: z0 in the default view, and z1 in view with
// the earlier Delivery. winner is the number of the Zone that keeps the name.
func oneZoneOfAName(t *testing.T, view string, winner int) {
	loser := 1 - winner
	address := func(of int) string { return fmt.Sprintf("192.0.2.%d", of) }
	synctest.Test(t, func(t *testing.T) {
		views, server := zoneview.NewSet(zoneview.Config{}), deliverytest.NewServer()
		of := classAt("main", "https://dns.example.net")
		of.Spec.Views = []string{"*"}
		org := name.MustParse("example.org.")
		objects := []runtime.Object{of}
		for i := range 2 {
			made := putDelivered(t, views, i, "me")
			zone, one := made[0].(*v1alpha1.Zone), made[1].(*v1alpha1.Delivery)
			at := addAddress(t, views, fmt.Sprint("uid-", i), org, address(i))
			zone.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Duration(i) * time.Hour))
			one.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Duration(i) * time.Hour))
			zone.Status.FQDN, zone.Status.Serial, zone.Status.SettledSerial, zone.Status.Hash = org.String(), int64(at.Serial()), int64(at.Serial()), at.Hash()
			one.Status.FQDN = org.String()
			if i == 1 {
				zone.Status.View = view
			}
			objects = append(objects, zone, one)
		}
		// If finalizers are removed by hand, a Delivery outlives its Zone. This Delivery is the earliest, and holds no
		// name.
		orphan := putDelivered(t, zoneview.NewSet(zoneview.Config{}), 9, "me")[1].(*v1alpha1.Delivery)
		orphan.Status.FQDN, orphan.CreationTimestamp = org.String(), metav1.NewTime(time.Now().Add(-24*time.Hour))
		objects = append(objects, orphan)
		client := newClient(objects...)
		ctx, end := runController(t, client, Config{
			Views: views, Providers: giveWebhooks(&deliverytest.Memory{Server: server, Blind: true}, "here"),
		})
		has := func(what, want string) {
			t.Helper()
			if sets := server.Inspect(org); len(sets) != 1 || sets[0].Data[0] != want {
				t.Errorf("%s: the provider has %v, want %s", what, sets, want)
			}
		}
		expect := func(what string, i int, reason string) {
			t.Helper()
			zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, fmt.Sprint("z", i), metav1.GetOptions{}))(t)
			if ready := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != reason {
				t.Errorf("%s: z%d is %+v, want %s", what, i, ready, reason)
			}
		}
		passTime(time.Hour)
		orphan = orphan.DeepCopy()
		orphan.Labels = map[string]string{"seen": "again"}
		must.Get(client.KubizoneV1alpha1().Deliveries("team").Update(ctx, orphan, metav1.UpdateOptions{}))(t)
		passTime(time.Hour)
		has("at the start", address(winner))
		expect("at the start", loser, string(delivery.ReasonConflict))
		expect("at the start", winner, v1alpha1.ReasonDelivered)

		leaves := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, fmt.Sprint("z", winner), metav1.GetOptions{}))(t).DeepCopy()
		leaves.Spec.DNSClassRefs = nil
		must.Get(client.KubizoneV1alpha1().Zones("team").Update(ctx, leaves, metav1.UpdateOptions{}))(t)
		passTime(time.Minute)
		has("without the first", address(loser))
		expect("without the first", loser, v1alpha1.ReasonDelivered)
		expect("without the first", winner, v1alpha1.ReasonNoClass)
		end()
	})
}
