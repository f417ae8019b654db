// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/test/must"
)

func fleetCluster(name string) *bind9.Bind9Cluster {
	return &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: bind9.Bind9ClusterSpec{
		Primary: &bind9.RoleSettings{Replicas: 2}, Secondary: &bind9.RoleSettings{Replicas: 3},
	}}
}

func fleetInstance(name, cluster string, role bind9.Role) *bind9.Bind9Instance {
	return &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: bind9.Bind9InstanceSpec{Role: role, ClusterRef: &bind9.ClusterReference{Name: cluster}}}
}

// The parts are independent on a shared server.
func TestFleet(t *testing.T) {
	client, etcd := wholeServer(t, func(c *Config) {
		c.Fleet = validation.FleetRules{Repositories: []string{"docker.io/internetsystemsconsortium/bind9"}}
	})
	api := client.Bind9V1alpha1()
	t.Run("stored", func(t *testing.T) { testFleetStored(t, api, etcd) })
	t.Run("discovery", func(t *testing.T) { testFleetDiscovery(t, api) })
	t.Run("scale", func(t *testing.T) { testFleetScale(t, api) })
	t.Run("finalizers", func(t *testing.T) { testFleetFinalizers(t, api) })
	t.Run("selectors", func(t *testing.T) { testFleetSelectors(t, api) })
	t.Run("refused", func(t *testing.T) { testFleetRefused(t, client) })
	t.Run("quantities", func(t *testing.T) { testFleetQuantities(t, client) })
}

// S11.1: etcd has the objects as protobuf, apart from the content of zones.
func testFleetStored(t *testing.T, api typed.Bind9V1alpha1Interface, endpoint string) {
	ctx := t.Context()
	provider := &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "global-dns"}, Spec: bind9.ClusterBind9ProviderSpec{
		Namespaces: []string{"platform-dns", "team-web"}, Bind9ClusterSpec: fleetCluster("").Spec,
	}}
	must.Get(api.ClusterBind9Providers().Create(ctx, provider, metav1.CreateOptions{}))(t)
	must.Get(api.Bind9Clusters("stored").Create(ctx, fleetCluster("edge"), metav1.CreateOptions{}))(t)
	made, err := api.Bind9Instances("stored").Create(ctx, fleetInstance("edge-primary-0", "edge", bind9.RolePrimary), metav1.CreateOptions{})
	if err != nil || *made.Spec.Replicas != 1 || made.Generation != 1 || made.UID == "" {
		t.Fatalf("%v, %+v", err, made)
	}
	store := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{endpoint}}))(t)
	defer store.Close()
	for _, key := range []string{"clusterbind9providers/global-dns", "bind9clusters/stored/edge", "bind9instances/stored/edge-primary-0"} {
		answer, err := store.Get(ctx, Prefix+"/bind9.kubi.zone/"+key)
		if err != nil || len(answer.Kvs) != 1 || !bytes.HasPrefix(answer.Kvs[0].Value[1:], []byte("k8s\x00")) && !bytes.HasPrefix(answer.Kvs[0].Value, []byte("k8s\x00")) {
			t.Errorf("%s: %v, %v", key, err, answer)
		}
	}
}

func testFleetDiscovery(t *testing.T, api typed.Bind9V1alpha1Interface) {
	for resource, want := range map[string]string{
		"clusterbind9providers": "Name Clusters Servers Ready Age | Namespaces Message",
		"bind9clusters":         "Name Version Primaries Secondaries Ready Age | Message",
		"bind9instances":        "Name Cluster Role Ready Age | Addresses Message",
	} {
		if got := columnsOf(t, api.RESTClient(), resource); got != want {
			t.Errorf("%s: %s, want %s", resource, got, want)
		}
	}
	body, err := api.RESTClient().Get().AbsPath("/apis/bind9.kubi.zone/v1alpha1").SetHeader("Accept", "application/json").DoRaw(t.Context())
	var served metav1.APIResourceList
	if err != nil || json.Unmarshal(body, &served) != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var have []string
	for _, r := range served.APIResources {
		have = append(have, strings.TrimSuffix(r.Name+" "+strings.Join(r.ShortNames, ",")+" "+strings.Join(r.Categories, ","), " ")+" "+r.Kind)
	}
	slices.Sort(have)
	want := []string{
		"bind9clusters b9c bind9 Bind9Cluster", "bind9clusters/finalizers  Bind9Cluster", "bind9clusters/scale  Scale", "bind9clusters/status  Bind9Cluster",
		"bind9instances b9i,b9 bind9 Bind9Instance", "bind9instances/external  Bind9Instance", "bind9instances/status  Bind9Instance",
		"clusterbind9providers cb9p ClusterBind9Provider", "clusterbind9providers/status  ClusterBind9Provider",
	}
	if !slices.Equal(have, want) {
		t.Errorf("served %q, want %q", have, want)
	}
}

// S11.30: only the subresource adds or removes the delivery finalizer, and changes nothing else. Other finalizers
// belong to the object.
func testFleetFinalizers(t *testing.T, api typed.Bind9V1alpha1Interface) {
	ctx := t.Context()
	clusters := api.Bind9Clusters("finalizers")
	cluster := fleetCluster("edge")
	cluster.Finalizers = []string{v1alpha1.FinalizerDelivery, "example.com/other"}
	is := func(when string, of *bind9.Bind9Cluster, err error, want ...string) {
		t.Helper()
		if err != nil || !slices.Equal(of.Finalizers, want) || of.Spec.Secondary.Replicas != 3 || len(of.Labels) != 0 || of.Generation != 1 {
			t.Fatalf("%s: %v, %+v, want the finalizers %q", when, err, of, want)
		}
	}
	made, err := clusters.Create(ctx, cluster, metav1.CreateOptions{})
	is("made", made, err, "example.com/other")
	patch := func(body, subresource string) (*bind9.Bind9Cluster, error) {
		var at []string
		if subresource != "" {
			at = []string{subresource}
		}
		return clusters.Patch(ctx, "edge", types.MergePatchType, []byte(body), metav1.PatchOptions{}, at...)
	}
	all := `{"metadata":{"labels":{"a":"b"},"finalizers":["` + v1alpha1.FinalizerDelivery + `"]},"spec":{"secondary":{"replicas":9}}}`
	held, err := patch(all, "finalizers")
	is("held", held, err, "example.com/other", v1alpha1.FinalizerDelivery)
	held, err = patch(`{"metadata":{"finalizers":null}}`, "")
	is("taken away by a write of the object", held, err, v1alpha1.FinalizerDelivery)
	held, err = patch(`{"metadata":{"finalizers":null}}`, "finalizers")
	is("released", held, err)
}

// S11.7: the scale is the number of secondaries, with the field managers of that field.
func testFleetScale(t *testing.T, api typed.Bind9V1alpha1Interface) {
	ctx := t.Context()
	clusters := api.Bind9Clusters("scale")
	none := fleetCluster("none-yet")
	none.Spec.Secondary = nil
	for _, cluster := range []*bind9.Bind9Cluster{fleetCluster("edge"), none} {
		must.Get(clusters.Create(ctx, cluster, metav1.CreateOptions{}))(t)
	}
	if scale, err := clusters.GetScale(ctx, "none-yet", metav1.GetOptions{}); err != nil || scale.Spec.Replicas != 0 {
		t.Errorf("%v, %+v", err, scale)
	} else if scale.Spec.Replicas = 1; true {
		if scale, err = clusters.UpdateScale(ctx, "none-yet", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 1 {
			t.Errorf("%v, %+v", err, scale)
		}
	}
	scale, err := clusters.GetScale(ctx, "edge", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 3 || scale.Status.Selector != "bind9.kubi.zone/cluster=edge,bind9.kubi.zone/role=secondary" {
		t.Fatalf("%v, %+v", err, scale)
	}
	scale.Spec.Replicas = 4
	if scale, err = clusters.UpdateScale(ctx, "edge", scale, metav1.UpdateOptions{FieldManager: "autoscaler"}); err != nil || scale.Spec.Replicas != 4 {
		t.Fatalf("%v, %+v", err, scale)
	}
	after, err := clusters.Get(ctx, "edge", metav1.GetOptions{})
	if err != nil || after.Spec.Secondary.Replicas != 4 || after.Spec.Primary.Replicas != 2 || after.Generation != 2 {
		t.Fatalf("%v, %+v", err, after)
	}
	managed := func(of string) bool {
		return slices.ContainsFunc(after.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == of && strings.Contains(string(e.FieldsV1.GetRawBytes()), `"f:secondary":{"f:replicas":{}}`)
		})
	}
	if !managed("autoscaler") {
		t.Errorf("managers %+v", after.ManagedFields)
	}
	// kubectl scale sends a patch, also with a failing precondition.
	if err := api.RESTClient().Patch(types.MergePatchType).Namespace("scale").Resource("bind9clusters").Name("edge").SubResource("scale").
		Body([]byte(`{"spec":{"replicas":1}}`)).Do(ctx).Into(&autoscalingv1.Scale{}); err != nil {
		t.Error(err)
	}
	scale.Spec.Replicas = 9
	if _, err := clusters.UpdateScale(ctx, "edge", scale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a scale of an earlier version: %v", err)
	}
	scale.ResourceVersion, scale.Spec.Replicas = "", 101
	if _, err := clusters.UpdateScale(ctx, "edge", scale, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.replicas") {
		t.Errorf("more than there may be: %v", err)
	}
	if _, err := clusters.GetScale(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
	if _, err := clusters.UpdateScale(ctx, "none", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: "scale"}}, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("%v", err)
	}
}

func testFleetSelectors(t *testing.T, api typed.Bind9V1alpha1Interface) {
	ctx := t.Context()
	instances := api.Bind9Instances("selected")
	seen := must.Get(instances.Watch(ctx, metav1.ListOptions{FieldSelector: "spec.clusterRef.name=edge,spec.role=Secondary"}))(t)
	defer seen.Stop()
	for name, of := range map[string]bind9.Role{"one": bind9.RolePrimary, "two": bind9.RoleSecondary} {
		for _, cluster := range []string{"edge", "core"} {
			must.Get(instances.Create(ctx, fleetInstance(cluster+"-"+name, cluster, of), metav1.CreateOptions{}))(t)
		}
	}
	list, err := instances.List(ctx, metav1.ListOptions{FieldSelector: "spec.clusterRef.name=edge,spec.role=Secondary"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "edge-two" {
		t.Errorf("%v, %+v", err, list)
	}
	select {
	case event := <-seen.ResultChan():
		if one, ok := event.Object.(*bind9.Bind9Instance); !ok || event.Type != watch.Added || one.Name != "edge-two" {
			t.Errorf("%+v", event)
		}
	case <-time.After(time.Minute):
		t.Error("the watch says nothing")
	}
	if _, err := instances.List(ctx, metav1.ListOptions{FieldSelector: "spec.replicas=1"}); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spec.clusterRef.name") {
		t.Errorf("%v", err)
	}
}

// S11.5; unknown fields and wrong types are refused as in the other group (S5.13).
func testFleetRefused(t *testing.T, client *versioned.Clientset) {
	ctx := t.Context()
	clusters := client.Bind9V1alpha1().Bind9Clusters("refused")
	cluster := fleetCluster("edge")
	cluster.Spec.Image = &bind9.Image{Repository: "docker.io/mallory/bind9"}
	if _, err := clusters.Create(ctx, cluster, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "--bind9-image-repositories") {
		t.Errorf("%v", err)
	}
	for _, test := range []struct{ body, want string }{
		{`{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},"spec":{"version":9.2}}`,
			"spec.version: got number 9.2; want a string: put it into quotes"},
		{`{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},` +
			`"spec":{"storage":{"type":"EmptyDir","capacity":["1Gi"]}}}`, `spec.storage.capacity: got list ["1Gi"]; want a quantity such as "1Gi"`},
		{`{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},"spec":{"primary":{"replica":2}}}`,
			`spec.primary.replica: unknown field; did you mean replicas?`},
	} {
		err := client.Bind9V1alpha1().RESTClient().Post().Namespace("refused").Resource("bind9clusters").Param("fieldValidation", "Strict").
			SetHeader("Content-Type", "application/json").Body([]byte(test.body)).Do(ctx).Error()
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	applied, err := clusters.Patch(ctx, "applied", types.ApplyPatchType,
		[]byte(`{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"applied"},"spec":{"primary":{"replicas":1},"config":{"allowQuery":["any"]}},"status":{"observedGeneration":7}}`), metav1.PatchOptions{FieldManager: "m"})
	if err != nil || applied.Spec.Primary.Replicas != 1 || applied.Status.ObservedGeneration != 0 ||
		strings.Contains(string(applied.ManagedFields[0].FieldsV1.GetRawBytes()), "status") {
		t.Errorf("%v, %+v", err, applied)
	}
}

// Bind9Clusters and their instances count toward the budget of stored octets of their namespace. Beyond it a creation
// is refused, and after the namespace is emptied creations pass again (S11.2, S9.1).
func TestFleet_budget_S11_2(t *testing.T) {
	client, _ := wholeServer(t, func(c *Config) {
		c.Budgets = &budget.Limits{Stored: budget.Stock{Octets: 3 << 10}}
	})
	clusters := client.Bind9V1alpha1().Bind9Clusters("tenant")
	var refused error
	made := 0
	for made < 100 && refused == nil {
		cluster := fleetCluster("")
		cluster.GenerateName = "many-"
		if _, refused = clusters.Create(t.Context(), cluster, metav1.CreateOptions{}); refused == nil {
			made++
		}
	}
	if !apierrors.IsForbidden(refused) || !strings.Contains(refused.Error(), "S9.1") || made == 0 {
		t.Fatalf("after %d clusters: %v", made, refused)
	}
	must.Succeed(t, clusters.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	must.Eventually(t, "an empty namespace takes a cluster", func() bool {
		_, err := clusters.Create(t.Context(), fleetCluster("again"), metav1.CreateOptions{})
		return err == nil
	})
}

// A namespace may have a limited number of Bind9Clusters. Concurrent creations, also by server-side apply, never exceed
// the limit. At the limit changes of existing clusters still pass, and each deletion makes room for another cluster
// (S9.1).
func TestFleet_clusters_S9_1(t *testing.T) {
	client, _ := wholeServer(t, func(c *Config) {
		c.Budgets = &budget.Limits{Clusters: 3}
	})
	t.Run("create", func(t *testing.T) {
		clusters := client.Bind9V1alpha1().Bind9Clusters("creates")
		create := func(name string) error {
			_, err := clusters.Create(t.Context(), fleetCluster(name), metav1.CreateOptions{})
			return err
		}
		testClusterBudget(t, clusters, create)
		if err := create("again"); err == nil {
			t.Error("a cluster is made again")
		}
		if _, err := client.Bind9V1alpha1().Bind9Clusters("another").Create(t.Context(), fleetCluster("edge"), metav1.CreateOptions{}); err != nil {
			t.Errorf("in another namespace: %v", err)
		}
	})
	t.Run("apply", func(t *testing.T) {
		clusters := client.Bind9V1alpha1().Bind9Clusters("applies")
		apply := func(name string, replicas int) error {
			body := fmt.Sprintf(`{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":%q},"spec":{"secondary":{"replicas":%d}}}`, name, replicas)
			_, err := clusters.Patch(t.Context(), name, types.ApplyPatchType, []byte(body), metav1.PatchOptions{FieldManager: "m"})
			return err
		}
		testClusterBudget(t, clusters, func(name string) error { return apply(name, 1) })
		if err := apply("again", 2); err != nil {
			t.Errorf("a change of one that is there: %v", err)
		}
	})
}

// testClusterBudget leaves the namespace with its limit of three clusters, one of them "again".
func testClusterBudget(t *testing.T, clusters typed.Bind9ClusterInterface, create func(name string) error) {
	ctx := t.Context()
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			if err := create(fmt.Sprintf("many-%d", i)); err != nil && !apierrors.IsForbidden(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	names := func() (names []string) {
		t.Helper()
		list := must.Get(clusters.List(ctx, metav1.ListOptions{}))(t)
		for _, one := range list.Items {
			names = append(names, one.Name)
		}
		return names
	}
	for n := len(names()); n < 3; n++ {
		if err := create(fmt.Sprintf("further-%d", n)); err != nil {
			t.Fatalf("with %d of 3: %v", n, err)
		}
	}
	has := names()
	if err := create("beyond"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "has 3 Bind9Clusters and is creating 1, this one included, and the limit is 3 (S9.1)") || len(has) != 3 {
		t.Fatalf("beyond %q: %v", has, err)
	}
	if _, err := clusters.Patch(ctx, has[0], types.MergePatchType, []byte(`{"spec":{"secondary":{"replicas":9}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("a change of one that is there: %v", err)
	}
	must.Succeed(t, clusters.Delete(ctx, has[0], metav1.DeleteOptions{}))
	if err := create("again"); err != nil {
		t.Errorf("where one was: %v", err)
	}
}

// S11.2: a quantity with a huge exponent would occupy the server for hours. Look-alikes, such as a commit in a label
// or a uid, are accepted.
func testFleetQuantities(t *testing.T, client *versioned.Clientset) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clusters := client.Bind9V1alpha1().Bind9Clusters("quantities")
	cluster := fleetCluster("edge")
	cluster.Spec.Storage = &bind9.Storage{Type: bind9.StorageEmptyDir, Capacity: "2Gi"}
	made := must.Get(clusters.Create(ctx, cluster, metav1.CreateOptions{}))(t)
	object := func(storage string) string {
		return `{"apiVersion":"bind9.kubi.zone/v1alpha1","kind":"Bind9Cluster","metadata":{"name":"edge"},"spec":{"storage":{"type":"EmptyDir",` + storage + `}}}`
	}
	cluster.Spec.Storage.Capacity = "1e-1000000000"
	raw := must.Get(cluster.Marshal())(t)
	wrapped, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: bind9.SchemeGroupVersion.String(), Kind: "Bind9Cluster"}, Raw: raw}).Marshal()
	if err != nil || !bytes.Contains(wrapped, []byte("1e-1000000000")) {
		t.Fatalf("%v: %q", err, wrapped)
	}
	rest := client.Bind9V1alpha1().RESTClient()
	send := func(verb, contentType, body string) error {
		request := rest.Verb(verb).Namespace("quantities").Resource("bind9clusters").SetHeader("Content-Type", contentType).Body([]byte(body))
		if verb == "PATCH" {
			request = request.Name("edge").Param("fieldManager", "m")
		}
		if contentType == string(types.ApplyYAMLPatchType) {
			request = request.Param("force", "true")
		}
		return request.Do(ctx).Error()
	}
	for _, test := range []struct {
		verb, contentType, body string
	}{
		{"POST", "application/json", object(`"capacity":"1e-1000000000"`)},
		{"POST", "application/json", object(`"capacity":1e1000000000`)},
		{"POST", "application/json", object(`"capacity":"1Gi","capacity":" 1\u0065-1000000000"`)},
		{"POST", "application/json", object(`"capacity":"1` + strings.Repeat("0", 100_000) + `.1"`)},
		{"POST", "application/json", object(`"capacity":"lots"`)},
		{"POST", "application/yaml", "apiVersion: bind9.kubi.zone/v1alpha1\nkind: Bind9Cluster\nmetadata: {name: edge}\nspec: {storage: {type: EmptyDir, capacity: '1e-1000000000'}}\n"},
		{"POST", runtime.ContentTypeProtobuf, "k8s\x00" + string(wrapped)},
		{"PATCH", string(types.MergePatchType), `{"spec":{"primary":{"resources":{"limits":{"cpu":"1e-1000000000"}}}}}`},
		{"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/spec/storage","value":{"type":"EmptyDir","capacity":"1e-1000000000"}}]`},
		{"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/metadata/labels","value":{"n":"1e1000000000"}},{"op":"copy","from":"/metadata/labels/n","path":"/spec/storage/capacity"}]`},
		{"PATCH", string(types.ApplyYAMLPatchType), object(`"capacity":"1e1000000000"`)},
	} {
		err := send(test.verb, test.contentType, test.body)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `such as "1Gi"`) || len(err.Error()) > 1000 {
			t.Errorf("%s %.150q: %.1000v", test.contentType, test.body, err)
		}
	}
	for _, body := range []string{
		`{"metadata":{"uid":"` + string(made.UID) + `","labels":{"commit":"36e05271","n":"1e12345"},"annotations":{"a":"36e05271-9b92-4972-a264-a24f6ba0f682"}}}`,
		`{"spec":{"storage":{"capacity":"1.5Gi"},"primary":{"resources":{"requests":{"cpu":0.5},"limits":{"cpu":"1e3","memory":4294967296}}}}}`,
	} {
		if err := send("PATCH", string(types.MergePatchType), body); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if got, err := clusters.Get(ctx, "edge", metav1.GetOptions{}); err != nil || got.Spec.Storage.Capacity != "1.5Gi" || got.Spec.Primary.Resources.Limits.Memory != "4294967296" {
		t.Errorf("%v: %v", err, got)
	}
}
