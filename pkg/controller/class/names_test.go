// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
)

// H7: a class has one zone of a name, whatever their views: of two that had one when the controller began that with
// the earlier Delivery, though the other one is looked at first and is older; the other one's Zone says what to do,
// and it is delivered when the first one is renamed.
func TestController_oneZoneOfAName_H7(t *testing.T) { oneZoneOfAName(t, "", 1) }

// S1.8: the zone of the default view has the name in a class of several views, though the other one's Delivery is the
// earlier one.
func TestController_theDefaultViewHasTheName_S1_8(t *testing.T) { oneZoneOfAName(t, "dev", 0) }

// oneZoneOfAName begins with two Zones of one name that a class delivered: z0 of the default view, and z1 of that
// view, which has the earlier Delivery. winner is which of them has the name.
func oneZoneOfAName(t *testing.T, view string, winner int) {
	loser := 1 - winner
	address := func(of int) string { return fmt.Sprintf("192.0.2.%d", of) }
	synctest.Test(t, func(t *testing.T) {
		views, server := zoneview.NewSet(zoneview.Config{}), deliverytest.NewServer()
		of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "main", UID: "class", ResourceVersion: "1", Generation: 1, Finalizers: []string{v1alpha1.FinalizerDelivery}}}
		of.Spec.Webhook, of.Spec.Namespaces = &v1alpha1.WebhookProvider{Server: "https://dns.example.net"}, &v1alpha1.NamespaceSelection{Names: []string{"team"}}
		of.Spec.Views = []string{"*"}
		org, com := name.MustParse("example.org."), name.MustParse("example.com.")
		objects := []runtime.Object{of}
		// change is the next step of a zone: a name, and an address of www.
		states := map[string]content.Transaction{}
		change := func(i int, to name.Name, address string) *zoneview.Snapshot {
			t.Helper()
			uid := fmt.Sprint("uid-", i)
			before, _ := views.Settled(uid)
			header, inherit := content.Header{FQDN: to, TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}, content.InheritTTL()
			was := states[uid].Steps[0]
			step := content.Step{N: was.N + 1, From: was.Serial, Serial: was.Serial.Next(), HeaderAfter: &header, HeaderBefore: was.HeaderAfter}
			if address != "" {
				step.Added = []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: address}}
				step.TTLs = []content.TTLChange{{Owner: name.MustRel("www"), Type: rdata.A, After: &inherit}}
			}
			removed, added := step.Elements()
			state, err := was.State.Update(removed, added)
			if err != nil {
				t.Fatal(err)
			}
			step.State = state
			transaction := content.Transaction{Steps: []content.Step{step}, Settled: true}
			if err := views.Apply(uid, transaction, before.Zone()); err != nil {
				t.Fatal(err)
			}
			states[uid] = transaction
			after, _ := views.Settled(uid)
			return after
		}
		for i := range 2 {
			made := delivered(t, views, i, "me")
			zone, one := made[0].(*v1alpha1.Zone), made[1].(*v1alpha1.Delivery)
			old := name.MustParse(zone.Status.FQDN)
			states[string(zone.UID)] = content.Transaction{Steps: []content.Step{{N: 1, Serial: serial.Serial(7), HeaderAfter: &content.Header{FQDN: old, TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}}}}
			at := change(i, org, fmt.Sprintf("192.0.2.%d", i))
			zone.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Duration(i) * time.Hour))
			one.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Duration(i) * time.Hour))
			zone.Status.FQDN, zone.Status.Serial, zone.Status.SettledSerial, zone.Status.Hash = org.String(), int64(at.Serial()), int64(at.Serial()), at.Hash()
			one.Status.FQDN = org.String()
			if i == 1 {
				zone.Status.View = view
			}
			objects = append(objects, zone, one)
		}
		// Whose finalizers were taken away by hand leaves a Delivery behind, the earliest of all: it keeps no name.
		orphan := delivered(t, zoneview.NewSet(zoneview.Config{}), 9, "me")[1].(*v1alpha1.Delivery)
		orphan.Status.FQDN, orphan.CreationTimestamp = org.String(), metav1.NewTime(time.Now().Add(-24*time.Hour))
		objects = append(objects, orphan)
		client := fake.NewSimpleClientset(objects...) //nolint:staticcheck // NewClientset asks for another name of our types than OpenAPI has.
		client.PrependReactor("create", "deliveries", func(action clienttesting.Action) (bool, runtime.Object, error) {
			action.(clienttesting.CreateAction).GetObject().(*v1alpha1.Delivery).ResourceVersion = "1" // an object without one is one that is not there
			return false, nil, nil
		})
		informers := externalversions.NewSharedInformerFactory(client, 0)
		controller, err := New(Config{
			Identity: "me", Client: client, Informers: informers, Views: views, Secrets: noSecrets{}, Alone: true,
			Providers: map[string]NewProvider{"webhook": func(*v1alpha1.DNSClass, GetSecret) (delivery.Provider, string, error) {
				return &deliverytest.Memory{Server: server, Blind: true}, "here", nil
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		informers.StartWithContext(ctx)
		ended := make(chan error)
		go func() { ended <- controller.Run(ctx) }()
		has := func(what string, of name.Name, want string) {
			t.Helper()
			got := map[string]string{}
			for _, set := range server.Inspect(of) {
				got[set.Name.String()] = set.Data[0]
			}
			wanted := map[string]string{}
			if want != "" {
				wanted["www."+of.String()] = want
			}
			if !maps.Equal(got, wanted) {
				t.Errorf("%s: %s has %v, want %v", what, of, got, wanted)
			}
		}
		says := func(what string, i int, reason string) {
			t.Helper()
			zone, err := client.KubizoneV1alpha1().Zones("team").Get(ctx, fmt.Sprint("z", i), metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if ready := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != reason {
				t.Errorf("%s: z%d is %+v, want %s", what, i, ready, reason)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		orphan = orphan.DeepCopy()
		orphan.Labels = map[string]string{"seen": "again"}
		if _, err := client.KubizoneV1alpha1().Deliveries("team").Update(ctx, orphan, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		has("at the start", org, address(winner))
		says("at the start", loser, string(delivery.ReasonConflict))
		says("at the start", winner, v1alpha1.ReasonDelivered)

		renamed, err := client.KubizoneV1alpha1().Zones("team").Get(ctx, fmt.Sprint("z", winner), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		renamed = renamed.DeepCopy()
		at := change(winner, com, "")
		renamed.Status.FQDN, renamed.Status.Serial, renamed.Status.SettledSerial, renamed.Status.Hash = com.String(), int64(at.Serial()), int64(at.Serial()), at.Hash()
		if _, err := client.KubizoneV1alpha1().Zones("team").Update(ctx, renamed, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		has("renamed", com, address(winner))
		has("renamed", org, address(loser))
		says("renamed", loser, v1alpha1.ReasonDelivered)
		list, err := client.KubizoneV1alpha1().Deliveries("team").List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Items {
			if one.Name != orphan.Name && len(one.Status.Former) > 0 {
				t.Errorf("%s has former names: %v", one.Name, one.Status.Former)
			}
		}
		cancel()
		informers.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}
