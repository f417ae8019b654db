// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/delivery"
	kept "kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// teams is a controller with a server in memory for each class, by the UID of the class.
type teams struct {
	t       *testing.T
	ctx     context.Context
	client  *fake.Clientset
	views   *zoneview.Set
	metrics metrics.KubeRegistry
	zones   int
	classes *classSync

	mu      sync.Mutex
	servers map[string]*deliverytest.Server
	// fault is returned by each call of a provider; nil: none.
	fault atomic.Pointer[delivery.Error]
}

func (w *teams) serverOf(uid types.UID) *deliverytest.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.servers[string(uid)] == nil {
		w.servers[string(uid)] = deliverytest.NewServer()
	}
	return w.servers[string(uid)]
}

// runTeams runs do beside a controller that starts with the objects. Time passes only in do.
func runTeams(t *testing.T, do func(w *teams), objects ...runtime.Object) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := &teams{t: t, ctx: ctx, client: fake.NewSimpleClientset(objects...), views: zoneview.NewSet(zoneview.Config{}), metrics: metrics.NewKubeRegistry(), servers: map[string]*deliverytest.Server{}} //nolint:staticcheck // as in names_test.go
		w.client.PrependReactor("create", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if object, err := meta.Accessor(action.(clienttesting.CreateAction).GetObject()); err == nil && object.GetResourceVersion() == "" {
				object.SetResourceVersion("1")
			}
			return false, nil, nil
		})
		informers, fleet := externalversions.NewSharedInformerFactory(w.client, 0), externalversions.NewSharedInformerFactory(w.client, 0)
		controller := must.Get(New(completeConfig(Config{
			Client: w.client, Informers: informers, Views: w.views, Registry: w.metrics,
			Clusters: fleet.Bind9().V1alpha1().Bind9Clusters(),
			Providers: map[string]NewProvider{"bind9": func(of *v1alpha1.DNSClass, _ secrets.GetFunc) (delivery.Provider, string, error) {
				return &deliverytest.Memory{Server: w.serverOf(of.UID), Fault: func(context.Context, deliverytest.Point) error {
					if fault := w.fault.Load(); fault != nil {
						return fault
					}
					return nil
				}}, "bind9 by " + of.Name, nil
			}},
		})))(t)
		w.classes = controller.classes
		informers.StartWithContext(ctx)
		fleet.StartWithContext(ctx)
		ended := make(chan error)
		go func() { ended <- controller.Run(ctx) }()
		endJudge := startJudge(t, &records{client: w.client}, judge.Config{})
		do(w)
		endJudge()
		cancel()
		informers.Shutdown()
		fleet.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

func (w *teams) makeZone(namespace string, ref v1alpha1.DNSClassReference) *v1alpha1.Zone {
	w.t.Helper()
	zone := putDelivered(w.t, w.views, w.zones, "")[0].(*v1alpha1.Zone)
	w.zones++
	at := addAddress(w.t, w.views, string(zone.UID), name.MustParse(zone.Status.FQDN), "192.0.2.1")
	zone.Status.Serial, zone.Status.SettledSerial, zone.Status.Hash = int64(at.Serial()), int64(at.Serial()), at.Hash()
	zone.Namespace, zone.Spec.DNSClassRefs, zone.Finalizers = namespace, []v1alpha1.DNSClassReference{ref}, nil
	must.Succeed(w.t, w.client.Tracker().Add(zone))
	return zone
}

func (w *teams) makeCluster(namespace, name string, uid types.UID) {
	w.t.Helper()
	must.Succeed(w.t, w.client.Tracker().Add(&bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid,
		ResourceVersion: "1", Generation: 1}}))
}

func (w *teams) expectZones(when string, uid types.UID, zones ...*v1alpha1.Zone) {
	w.t.Helper()
	var want, got []string
	for _, zone := range zones {
		want = append(want, zone.Status.FQDN)
	}
	for i := range w.zones {
		fqdn := fmt.Sprintf("z%d.example.", i)
		if len(w.serverOf(uid).Inspect(name.MustParse(fqdn))) > 0 {
			got = append(got, fqdn)
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: the server of %s has %q, want %q", when, uid, got, want)
	}
}

func (w *teams) expectReady(when string, zone *v1alpha1.Zone, want string) {
	w.t.Helper()
	now := must.Get(w.client.KubizoneV1alpha1().Zones(zone.Namespace).Get(w.ctx, zone.Name, metav1.GetOptions{}))(w.t)
	if ready := kept.ReadyOf(now.Status.Conditions); ready == nil || !strings.Contains(ready.Reason+": "+ready.Message, want) {
		w.t.Errorf("%s: %s/%s is %+v, want %q", when, zone.Namespace, zone.Name, ready, want)
	}
}

func (w *teams) listLabels() []string {
	w.t.Helper()
	found := map[string]bool{}
	families := must.Get(w.metrics.Gather())(w.t)
	for _, family := range families {
		for _, one := range family.GetMetric() {
			for _, label := range one.GetLabel() {
				if label.GetName() == "class" && label.GetValue() != "" { // closing a provider has no class
					found[label.GetValue()] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (w *teams) finalizersOf(namespace, cluster string) []string {
	w.t.Helper()
	of := must.Get(w.client.Bind9V1alpha1().Bind9Clusters(namespace).Get(w.ctx, cluster, metav1.GetOptions{}))(w.t)
	return of.Finalizers
}

var edgeCluster = v1alpha1.DNSClassReference{Kind: v1alpha1.KindBind9Cluster, Name: "edge"}

// S11.30: clusters of the same name in two namespaces, and a DNSClass of that name, each have their own zones. A
// cluster created again with another UID receives the zones again, also if the controller misses the deletion: the
// confirmations of the former cluster do not count.
func TestController_clustersShareNothing_S11_30(t *testing.T) {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "edge", UID: "class", ResourceVersion: "1", Generation: 1}}
	of.Spec.Bind9, of.Spec.Namespaces = &v1alpha1.Bind9Provider{}, &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}}
	runTeams(t, func(w *teams) {
		w.makeCluster("team-a", "edge", "a")
		w.makeCluster("team-b", "edge", "b")
		w.makeCluster("team-b", "unused", "u")
		zoneA, zoneB, zoneC := w.makeZone("team-a", edgeCluster), w.makeZone("team-b", edgeCluster),
			w.makeZone("team-a", v1alpha1.DNSClassReference{Kind: v1alpha1.KindDNSClass, Name: "edge"})
		absent := w.makeZone("team-c", edgeCluster) // a cluster of this name exists only in other namespaces
		passTime(time.Minute)
		w.expectZones("at first", "a", zoneA)
		w.expectZones("at first", "b", zoneB)
		w.expectZones("at first", "class", zoneC)
		w.expectReady("at first", zoneA, "Delivered")
		w.expectReady("at first", zoneB, "Delivered")
		w.expectReady("at first", absent, "DNSClassNotFound: there is no Bind9Cluster edge; create it")
		if got := w.finalizersOf("team-a", "edge"); !slices.Equal(got, []string{v1alpha1.FinalizerDelivery}) {
			t.Errorf("finalizers of a cluster that delivers: %q", got)
		}
		if got := w.finalizersOf("team-b", "unused"); len(got) != 0 {
			t.Errorf("finalizers of a cluster that no zone names: %q", got)
		}
		if got := w.listLabels(); !slices.Equal(got, []string{"edge", "team-a/edge", "team-b/edge", "team-c/edge"}) {
			t.Errorf("metrics have the classes %q", got)
		}
		deliveries := must.Get(w.client.KubizoneV1alpha1().Deliveries("").List(w.ctx, metav1.ListOptions{}))(w.t)
		for _, one := range deliveries.Items {
			if want := class.DeliveryName(one.Spec.Zone.Name, one.Spec.Zone.UID, one.Spec.ClassRef); one.Name != want || one.Spec.ClassRef.Name != "edge" {
				t.Errorf("Delivery %s/%s of %+v, want the name %s", one.Namespace, one.Name, one.Spec.ClassRef, want)
			}
		}

		// A deleted cluster keeps the finalizer until all zones are removed.
		w.deleteCluster("team-a", "edge")
		passTime(farewellTime - time.Second)
		w.expectZones("just deleted", "a")
		if got := w.finalizersOf("team-a", "edge"); len(got) != 1 {
			t.Error("a deleted cluster goes before its servers transfer the catalog without its zones")
		}
		passTime(time.Minute)
		w.expectZones("deleted", "a")
		w.expectZones("deleted", "b", zoneB)
		w.expectZones("deleted", "class", zoneC)
		w.expectReady("deleted", zoneA, "DNSClassNotFound")
		if got := w.finalizersOf("team-a", "edge"); len(got) != 0 {
			t.Errorf("finalizers of a cluster that has no zone any more: %q", got)
		}
		must.Succeed(w.t, w.client.Tracker().Delete(bind9.SchemeGroupVersion.WithResource("bind9clusters"), "team-a", "edge"))
		passTime(time.Minute)
		w.makeCluster("team-a", "edge", "a2")
		passTime(time.Minute)
		w.expectZones("made again", "a")
		w.expectZones("made again", "a2", zoneA)
		w.expectReady("made again", zoneA, "Delivered")
		w.expectReady("made again", zoneB, "Delivered")

		clusters := bind9.SchemeGroupVersion.WithResource("bind9clusters")
		must.Succeed(w.t, w.client.Tracker().Delete(clusters, "team-a", "edge"))
		passTime(time.Second)
		w.expectReady("gone", zoneA, "DNSClassNotFound")
		w.makeCluster("team-a", "edge", "a3")
		passTime(time.Minute)
		w.expectZones("made again at once", "a3", zoneA)
		w.expectReady("made again at once", zoneA, "Delivered")

		// The controller forgets a cluster that no zone names, and a DNSClass that does not exist, with all metrics.
		name := func(zone *v1alpha1.Zone, className string) {
			refs := []v1alpha1.DNSClassReference{{Kind: v1alpha1.KindDNSClass, Name: className}}
			patch := must.Get(json.Marshal(map[string]any{"spec": map[string]any{"dnsClassRefs": refs}}))(w.t)
			must.Get(w.client.KubizoneV1alpha1().Zones(zone.Namespace).Patch(w.ctx, zone.Name, types.MergePatchType, patch,
				metav1.PatchOptions{}))(w.t)
		}
		name(absent, "nowhere")
		passTime(time.Minute)
		w.expectReady("in no class", absent, "DNSClassNotFound")
		if got := w.listLabels(); !slices.Contains(got, "nowhere") {
			t.Errorf("metrics have the classes %q, without nowhere", got)
		}
		name(zoneA, "edge")
		name(absent, "edge")
		passTime(time.Minute)
		w.expectZones("named no more", "a3")
		w.expectZones("named no more", "class", zoneA, zoneC, absent)
		w.classes.enqueueCluster("team-c/edge") // by a worker that has read the former spec
		passTime(time.Minute)
		if got := w.listLabels(); !slices.Equal(got, []string{"edge", "team-b/edge"}) {
			t.Errorf("metrics have the classes %q", got)
		}
	}, of)
}

// deleteCluster begins the deletion of a cluster that has a finalizer.
func (w *teams) deleteCluster(namespace, name string) {
	w.t.Helper()
	clusters := w.client.Bind9V1alpha1().Bind9Clusters(namespace)
	of := must.Get(clusters.Get(w.ctx, name, metav1.GetOptions{}))(w.t).DeepCopy()
	now := metav1.Now()
	of.DeletionTimestamp = &now
	must.Get(clusters.Update(w.ctx, of, metav1.UpdateOptions{}))(w.t)
}

// At the start the controller has not listed the Bind9Clusters yet. The zone of such a cluster then keeps the former
// status, and nothing is removed from the servers, because the cluster probably exists (S11.30).
func TestClassByName_takesAClusterForThere_S11_30(t *testing.T) {
	client := fake.NewClientset()
	fleet := externalversions.NewSharedInformerFactory(client, 0)
	controller := must.Get(New(completeConfig(Config{
		Client: client, Informers: externalversions.NewSharedInformerFactory(client, 0), Views: zoneview.NewSet(zoneview.Config{}),
		Clusters: fleet.Bind9().V1alpha1().Bind9Clusters(),
	})))(t)
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "z"}, Spec: v1alpha1.ZoneSpec{DNSClassRefs: []v1alpha1.DNSClassReference{edgeCluster}}}
	force := kept.ClassesInForce(zone, nil, controller.index.ClassByName, nil, nil)
	if force.Fault != nil || !slices.Equal(force.Classes, []string{"team-a/edge"}) {
		t.Errorf("%+v", force)
	}
	if out := kept.FindExpelled(zone, force, []string{"team-a/edge"}, controller.index.ClassByName, nil, nil); len(out) != 0 {
		t.Errorf("expelled from %q", out)
	}
	if err := controller.classes.syncClass(t.Context(), "team-a/edge"); err != nil || controller.classes.known["team-a/edge"] != nil {
		t.Errorf("%v, known %+v", err, controller.classes.known)
	}
}

// S11.30: a cluster used as a class has the condition Delivering, in words for its team, beside the conditions of the
// fleet. The condition is written on changes, and removed with the last zone.
func TestController_clusterSaysWhetherItDelivers_S11_30(t *testing.T) {
	runTeams(t, func(w *teams) {
		ready := metav1.Condition{Type: bind9.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllReady"}
		must.Succeed(w.t, w.client.Tracker().Add(&bind9.Bind9Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "edge", UID: "a", ResourceVersion: "1", Generation: 1}, Status: bind9.Bind9ClusterStatus{Conditions: []metav1.Condition{ready}},
		}))
		w.makeCluster("team-a", "unused", "u")
		writes := func() (n int) {
			for _, action := range w.client.Actions() {
				if action.GetResource().Resource == "bind9clusters" && action.GetSubresource() == "status" {
					n++
				}
			}
			return n
		}
		expect := func(when, want string) {
			t.Helper()
			now := must.Get(w.client.Bind9V1alpha1().Bind9Clusters("team-a").Get(w.ctx, "edge", metav1.GetOptions{}))(w.t)
			got := ""
			if delivering := meta.FindStatusCondition(now.Status.Conditions, bind9.ConditionDelivering); delivering != nil {
				got = string(delivering.Status) + "/" + delivering.Reason + ": " + delivering.Message
			}
			if got != want {
				t.Errorf("%s: Delivering is %q, want %q", when, got, want)
			}
			if kept := meta.FindStatusCondition(now.Status.Conditions, bind9.ConditionReady); kept == nil || *kept != ready {
				t.Errorf("%s: Ready of the fleet is %+v", when, kept)
			}
		}
		passTime(time.Minute)
		expect("before a zone names it", "")
		zone := w.makeZone("team-a", edgeCluster)
		passTime(time.Minute)
		expect("with a zone", "True/ServerHealthy: the provider answers and accepts the credentials")
		passTime(time.Hour)
		if n := writes(); n != 2 {
			t.Errorf("%d writes in an hour in which nothing changed, want those of target and Delivering", n)
		}
		w.fault.Store(&delivery.Error{Reason: delivery.ReasonAuthenticationFailed, WholeClass: true, Message: "192.0.2.53 refuses the key", Detail: "BADKEY"})
		passTime(time.Hour)
		expect("without a right", "False/AuthenticationFailed: its server refuses the controller's key or credentials; the platform finds the cause "+
			"with kubectl describe bind9cluster edge, or else in the controller's log")
		if n := writes(); n != 3 {
			t.Errorf("%d writes after the health has changed once, want 3", n)
		}
		w.fault.Store(nil)
		passTime(time.Hour)
		expect("with the right again", "True/ServerHealthy: the provider answers and accepts the credentials")
		patch := must.Get(json.Marshal(map[string]any{"spec": map[string]any{"dnsClassRefs": []v1alpha1.DNSClassReference{}}}))(w.t)
		must.Get(w.client.KubizoneV1alpha1().Zones(zone.Namespace).Patch(w.ctx, zone.Name, types.MergePatchType, patch, metav1.PatchOptions{}))(w.t)
		passTime(time.Minute)
		w.expectZones("named no more", "a")
		expect("named no more", "")
		if n := writes(); n != 5 {
			t.Errorf("%d writes, want 5", n)
		}
	})
}
