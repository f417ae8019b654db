// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

func startWholeServer(t testing.TB, change ...func(*Config)) typed.KubizoneV1alpha1Interface {
	t.Helper()
	client, _ := wholeServer(t, change...)
	return client.KubizoneV1alpha1()
}

// wholeServer also returns the address of etcd.
func wholeServer(t testing.TB, change ...func(*Config)) (*versioned.Clientset, string) {
	t.Helper()
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	us := must.Get(pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now()))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	config := Config{
		Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey, ClientCA: us.CA, Zones: zoneview.NewSet(zoneview.Config{}),
		Etcd: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}},
	}
	for _, f := range change {
		f(&config)
	}
	server := must.Get(New(t.Context(), config))(t)
	runServer(t, server)
	kubeconfig := must.Get(us.Kubeconfig("https://" + listener.Addr().String()))(t)
	reach := must.Get(clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig)))(t)
	reach.QPS = -1
	client := must.Get(versioned.NewForConfig(reach))(t)
	return client, etcd.Endpoint
}

func webhookClass(name string, namespaces ...string) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.DNSClassSpec{
			Namespaces: &v1alpha1.NamespaceSelection{Names: namespaces},
			Webhook:    &v1alpha1.WebhookProvider{Server: "https://hook.example.net"},
		},
	}
}

// The parts are independent on a shared server.
func TestClasses(t *testing.T) {
	api := startWholeServer(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, typed.KubizoneV1alpha1Interface)
	}{
		{"a class", testClass}, {"a delivery", testDelivery}, {"columns", testClassColumns}, {"S6.13 NoClass", testNoClass},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, api) })
	}
}

func testClass(t *testing.T, api typed.KubizoneV1alpha1Interface) {
	ctx, classes := t.Context(), api.DNSClasses()
	made := webhookClass("made", "team-a")
	made.Spec.Webhook.HMACAuth = &v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{Name: "a", Namespace: "b", Key: "c"}}
	made.Status.ObservedGeneration = 7
	made = must.Get(classes.Create(ctx, made, metav1.CreateOptions{}))(t)
	if hook := made.Spec.Webhook; made.Generation != 1 || made.Status.ObservedGeneration != 0 || *hook.TimeoutSeconds != 30 || hook.HMACAuth.Algorithm != "SHA256" {
		t.Errorf("made %+v", made)
	}
	watching := must.Get(classes.Watch(ctx, metav1.ListOptions{ResourceVersion: made.ResourceVersion,
		FieldSelector: "metadata.name=made"}))(t)
	defer watching.Stop()

	written := made.DeepCopy()
	written.Spec.Paused = true
	written.Status = v1alpha1.DNSClassStatus{ObservedGeneration: 1, Health: &v1alpha1.ClassHealth{Status: v1alpha1.HealthStatusHealthy}}
	written, err := classes.UpdateStatus(ctx, written, metav1.UpdateOptions{})
	if err != nil || written.Spec.Paused || written.Status.Health == nil || written.Generation != 1 {
		t.Errorf("status: %v, %+v", err, written)
	}
	if event := <-watching.ResultChan(); event.Type != watch.Modified || event.Object.(*v1alpha1.DNSClass).Status.Health == nil {
		t.Errorf("watched %+v", event)
	}
	apply := func(manager, spec string) (*v1alpha1.DNSClass, error) {
		body := `{"apiVersion":"kubi.zone/v1alpha1","kind":"DNSClass","metadata":{"name":"applied"},"spec":` + spec + `}`
		return classes.Patch(ctx, "applied", types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: manager})
	}
	must.Get(apply("one", `{"transfer":{"secondaries":[{"address":"192.0.2.1"}],"alsoNotify":["192.0.2.9"]}}`))(t)
	applied, err := apply("two", `{"transfer":{"secondaries":[{"address":"192.0.2.2"}],"alsoNotify":["192.0.2.8"]}}`)
	if err != nil || len(applied.Spec.Transfer.Secondaries) != 2 || len(applied.Spec.Transfer.AlsoNotify) != 2 {
		t.Errorf("secondaries are a map by address: %v, %+v", err, applied)
	}
	list, err := classes.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("%v, %d classes", err, len(list.Items))
	}
	protect := func(on string) {
		t.Helper()
		must.Get(classes.Patch(ctx, "made", types.MergePatchType, []byte(`{"spec":{"deletionProtection":`+on+`}}`), metav1.PatchOptions{}))(
			t)
	}
	protect("true")
	err = classes.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=made"})
	if alone := classes.Delete(ctx, "made", metav1.DeleteOptions{}); !apierrors.IsForbidden(alone) || !apierrors.IsForbidden(err) || !strings.Contains(alone.Error(), `"deletionProtection":false`) {
		t.Errorf("a protected class is deleted: %v, %v", alone, err)
	}
	protect("false")
	if err := classes.Delete(ctx, "made", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func testDelivery(t *testing.T, api typed.KubizoneV1alpha1Interface) {
	ctx, deliveries := t.Context(), api.Deliveries("dns")
	of := func(zone, by string) *v1alpha1.Delivery {
		ref := v1alpha1.DNSClassReference{Name: by}
		return &v1alpha1.Delivery{
			ObjectMeta: metav1.ObjectMeta{Name: class.DeliveryName(zone, "u1", ref)},
			Spec:       v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: zone, UID: "u1", FQDN: zone + ".example."}, ClassRef: ref},
		}
	}
	made, err := deliveries.Create(ctx, of("one", "public"), metav1.CreateOptions{})
	if err != nil || made.Spec.ClassRef.Kind != v1alpha1.KindDNSClass {
		t.Fatalf("%v, %+v", err, made)
	}
	for _, further := range []*v1alpha1.Delivery{of("one", "private"), of("two", "public")} {
		must.Get(deliveries.Create(ctx, further, metav1.CreateOptions{}))(t)
	}
	if _, err := deliveries.Create(ctx, of("one", "public"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("one for a zone and a class: %v", err)
	}
	for selector, want := range map[string]int{"spec.zone.name=one": 2, "spec.classRef.name=public": 2,
		"spec.zone.name=one,spec.classRef.name=public": 1} {
		if list, err := deliveries.List(ctx, metav1.ListOptions{FieldSelector: selector}); err != nil || len(list.Items) != want {
			t.Errorf("%s: %v, %d", selector, err, len(list.Items))
		}
	}
	// Of two workers with the same state only the first writes its intent.
	first, second := made.DeepCopy(), made.DeepCopy()
	first.Status.Intent = &v1alpha1.DeliveryIntent{Serial: 7, Holder: "first", Time: metav1.NewTime(time.Unix(1e9, 0))}
	second.Status.Intent = &v1alpha1.DeliveryIntent{Serial: 6, Holder: "second"}
	first = must.Get(deliveries.UpdateStatus(ctx, first, metav1.UpdateOptions{}))(t)
	if _, err := deliveries.UpdateStatus(ctx, second, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("an intent over another's: %v", err)
	}
	second.ResourceVersion = ""
	if _, err := deliveries.UpdateStatus(ctx, second, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.resourceVersion") {
		t.Errorf("a status that says nothing of the one before: %v", err)
	}
	first.Finalizers, first.Status = []string{v1alpha1.FinalizerDelivery}, v1alpha1.DeliveryStatus{}
	held, err := deliveries.Update(ctx, first, metav1.UpdateOptions{})
	if err != nil || held.Status.Intent == nil || held.Generation != 1 {
		t.Errorf("%v, %+v", err, held)
	}
}

func testClassColumns(t *testing.T, api typed.KubizoneV1alpha1Interface) {
	for resource, want := range map[string]string{
		"dnsclasses": "Name Provider Default Ready Age | Namespaces Message",
		"deliveries": "Name Zone Class Serial Ready Age | Servers Message",
	} {
		if got := columnsOf(t, api.RESTClient(), resource); got != want {
			t.Errorf("%s: %s, want %s", resource, got, want)
		}
	}
	body, err := api.RESTClient().Get().AbsPath("/apis/kubi.zone/v1alpha1").DoRaw(t.Context())
	var resources metav1.APIResourceList
	if err != nil || json.Unmarshal(body, &resources) != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, resource := range resources.APIResources {
		switch resource.Name {
		case "dnsclasses":
			if resource.Namespaced || !equality.Semantic.DeepEqual(resource.ShortNames, []string{"dc"}) || len(resource.Categories) > 0 {
				t.Errorf("%+v", resource)
			}
		case "deliveries":
			if !resource.Namespaced || !equality.Semantic.DeepEqual(resource.Categories, []string{"kubizone"}) {
				t.Errorf("%+v", resource)
			}
		}
	}
}

// Wide columns follow a bar.
func columnsOf(t *testing.T, client rest.Interface, resource string) string {
	t.Helper()
	body, err := client.Get().Resource(resource).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	var table metav1.Table
	if err != nil || json.Unmarshal(body, &table) != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var narrow, wide []string
	for _, column := range table.ColumnDefinitions {
		if column.Priority == 0 {
			narrow = append(narrow, column.Name)
		} else {
			wide = append(wide, column.Name)
		}
	}
	return strings.Join(narrow, " ") + " | " + strings.Join(wide, " ")
}

func zoneOfClasses(namespace, name string, refs ...string) *v1alpha1.Zone {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ZoneSpec{
		DomainName: name + ".example.", Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	for _, ref := range refs {
		zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: ref})
	}
	return zone
}

// S6.13: a content write sets NoClass without an active class, and Pending with a default class.
func testNoClass(t *testing.T, api typed.KubizoneV1alpha1Interface) {
	ctx := t.Context()
	reason := func(conditions []metav1.Condition) string {
		ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
		if ready == nil || (ready.Status == metav1.ConditionTrue) != (ready.Reason == v1alpha1.ReasonNoClass) {
			t.Fatalf("Ready %+v", ready)
		}
		return ready.Reason
	}
	record := func(namespace, name string) *v1alpha1.Record {
		return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: v1alpha1.RecordSpec{DomainName: name + ".none.example.", Type: "A", RData: "192.0.2.1"}}
	}
	none, err := api.Zones("team-d").Create(ctx, zoneOfClasses("team-d", "none"), metav1.CreateOptions{})
	if err != nil || reason(none.Status.Conditions) != v1alpha1.ReasonPending {
		t.Fatalf("a zone that is not servable: %v, %+v", err, none)
	}
	none.Spec.NameServers, none.ResourceVersion = []v1alpha1.NameServer{{Name: "ns.example.net."}}, ""
	none = must.Get(api.Zones("team-d").Update(ctx, none, metav1.UpdateOptions{}))(t)
	settled := func(zone *v1alpha1.Zone) *v1alpha1.Zone {
		for deadline := time.Now().Add(time.Minute); !meta.IsStatusConditionTrue(zone.Status.Conditions, v1alpha1.ConditionSettled); time.Sleep(10 * time.Millisecond) {
			if zone, err = api.Zones(zone.Namespace).Get(ctx, zone.Name, metav1.GetOptions{}); err != nil || time.Now().After(deadline) {
				t.Fatalf("the zone does not settle: %v", err)
			}
		}
		return zone
	}
	if none = settled(none); reason(none.Status.Conditions) != v1alpha1.ReasonNoClass {
		t.Fatalf("%+v", none)
	}
	early, err := api.Records("team-d").Create(ctx, record("team-d", "early"), metav1.CreateOptions{})
	if err != nil || reason(early.Status.Conditions) != v1alpha1.ReasonNoClass {
		t.Fatalf("%v, %+v", err, early)
	}
	named, err := api.Zones("team-d").Create(ctx, zoneOfClasses("team-d", "named", "nowhere"), metav1.CreateOptions{})
	if err != nil || reason(named.Status.Conditions) != v1alpha1.ReasonPending {
		t.Fatalf("%v, %+v", err, named)
	}
	byDefault := webhookClass("by-default", "team-d")
	byDefault.Annotations = map[string]string{v1alpha1.AnnotationDefaultClass: "true"}
	byDefault.Spec.DefaultTTL = ptr.To[int32](77)
	byDefault.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
	must.Get(api.DNSClasses().Create(ctx, byDefault, metav1.CreateOptions{}))(t)
	// The watch of classes lags behind: a later write shows Pending.
	number := 0
	must.Eventually(t, "the ledger hears of the default class", func() bool {
		number++
		made := must.Get(api.Records("team-d").Create(ctx, record("team-d", fmt.Sprintf("r%d", number)), metav1.CreateOptions{}))(t)
		return reason(made.Status.Conditions) == v1alpha1.ReasonPending
	})
	if zone, err := api.Zones("team-d").Get(ctx, "none", metav1.GetOptions{}); err != nil || reason(zone.Status.Conditions) != v1alpha1.ReasonPending {
		t.Errorf("the zone: %v, %+v", err, zone.Status.Conditions)
	}
	if later, err := api.Zones("team-d").Create(ctx, zoneOfClasses("team-d", "later"), metav1.CreateOptions{}); err != nil || *later.Spec.TTL != 77 {
		t.Errorf("the default class's ttl: %v, %v", err, later.Spec.TTL)
	} else if !meta.IsStatusConditionTrue(later.Status.Conditions, v1alpha1.ConditionServable) || later.Status.EntryCount != 3 {
		t.Errorf("S6.2: the default class's name server, its address and the SOA: %+v", later.Status)
	}
	// S8.4: each active class must allow Retain, named or default. A missing class is checked at delivery.
	for name, classes := range map[string][]string{"retained-by-default": nil, "retained-by-name": {"nowhere", "by-default"}} {
		retained := zoneOfClasses("team-d", name, classes...)
		retained.Spec.DeletionPolicy = v1alpha1.DeletionPolicyRetain
		if _, err := api.Zones("team-d").Create(ctx, retained, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `DNSClass "by-default" does not allow Retain`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The zone's namespace decides: a tenant's record in the zone is delivered, another zone is not.
	if made, err := api.Records("team-e").Create(ctx, record("team-e", "tenant"), metav1.CreateOptions{}); err != nil || reason(made.Status.Conditions) != v1alpha1.ReasonPending {
		t.Errorf("%v, %+v", err, made)
	}
	elsewhere := zoneOfClasses("team-e", "other")
	elsewhere.Spec.NameServers = none.Spec.NameServers
	if other, err := api.Zones("team-e").Create(ctx, elsewhere, metav1.CreateOptions{}); err != nil || reason(settled(other).Status.Conditions) != v1alpha1.ReasonNoClass {
		t.Errorf("%v, %+v", err, other)
	}
}
