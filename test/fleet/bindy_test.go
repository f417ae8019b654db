// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
)

// bindy rewrites its objects of a cluster continually, as bindy's operator does.
type bindy struct {
	w       *world
	cluster string
	servers []string // names of the instances
	owners  map[string]types.UID
	mu      sync.Mutex
	running bool
	writes  int
}

const bindyManager = "bindy-controller"

func (b *bindy) makeLabels(server string) map[string]string {
	return map[string]string{
		"app": "bind9", "instance": server, "app.kubernetes.io/name": "bind9", "app.kubernetes.io/instance": server,
		"app.kubernetes.io/component": "dns-server", "app.kubernetes.io/part-of": "bindy", "app.kubernetes.io/managed-by": "Bind9Cluster",
	}
}

func (b *bindy) makeObjects() ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile("testdata/bindy_cluster.yaml")
	if err != nil {
		return nil, err
	}
	inline := func(of any) string {
		text, err := json.Marshal(of)
		if err != nil {
			panic(err) // strings always marshal
		}
		return string(text)
	}
	common := b.makeLabels(b.cluster)
	common["app.kubernetes.io/component"] = "dns-cluster"
	all := strings.NewReplacer("CLUSTERLABELS", inline(common), "CLUSTER", b.cluster).Replace(string(text))
	if text, err = os.ReadFile("testdata/bindy_server.yaml"); err != nil {
		return nil, err
	}
	for _, server := range b.servers {
		var owners []map[string]any
		if uid := b.owners[server]; uid != "" {
			owners = append(owners, map[string]any{"apiVersion": "bindy.firestoned.io/v1beta1", "kind": "Bind9Instance", "name": server, "uid": uid, "controller": true, "blockOwnerDeletion": true})
		}
		all += "\n---\n" + strings.NewReplacer("LABELS", inline(b.makeLabels(server)), "OWNERS", inline(owners), "NAME", server, "CLUSTER",
			b.cluster).Replace(string(text))
	}
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split(all, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			return nil, err
		}
		if object.Object != nil {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func (b *bindy) applyObjects(ctx context.Context) error {
	objects, err := b.makeObjects()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(b.w.kube.Admin())
	if err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(b.w.kube.Admin())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	var wrong []error
	for _, object := range objects {
		mapping, err := mapper.RESTMapping(object.GroupVersionKind().GroupKind(), object.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		_, err = client.Resource(mapping.Resource).Namespace(b.w.namespace).Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: bindyManager, Force: true})
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

func (b *bindy) readChildren() map[string]string {
	b.w.t.Helper()
	objects, err := b.makeObjects()
	must.Succeed(b.w.t, err)
	client, err := dynamic.NewForConfig(b.w.kube.Admin())
	must.Succeed(b.w.t, err)
	states := map[string]string{}
	for _, object := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		live, err := client.Resource(resource).Namespace(b.w.namespace).Get(b.w.ctx, object.GetName(), metav1.GetOptions{})
		must.Succeed(b.w.t, err)
		managers := map[string]bool{}
		for _, entry := range live.GetManagedFields() {
			managers[entry.Manager] = true
		}
		if managers[fleet.FieldManager] {
			b.w.t.Errorf("%s %s has fields of the fleet", live.GetKind(), live.GetName())
		}
		states[live.GetKind()+"/"+live.GetName()] = fmt.Sprint(live.GetUID(), live.GetGeneration(), live.GetLabels(), live.Object["metadata"].(map[string]any)["ownerReferences"])
	}
	return states
}

// The annotation permits the take-over of bindy's objects.
func (w *world) annotateObject(resource schema.GroupVersionResource, name string) {
	w.t.Helper()
	client := must.Get(dynamic.NewForConfig(w.kube.Admin()))(w.t)
	must.Get(client.Resource(resource).Namespace(w.namespace).Patch(w.ctx, name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"kubi.zone/take-over":"true"}}}`), metav1.PatchOptions{FieldManager: "kubectl-annotate"}))(w.t)
}

// TestInstance_takesOverADeployment_S11_10: another manager's pods stay behind the Service, at the same address,
// until the server's own pod is ready and follows a catalog. No object keeps a trace of the other manager, and if
// that manager writes again, the fleet does not fight.
func TestInstance_takesOverADeployment_S11_10(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "taken")
	ready := w.runPods(w.namespace)
	b := &bindy{w: w, cluster: "prod", servers: []string{"ns1"}}
	must.Succeed(w.t, b.applyObjects(w.ctx))
	services, deployments := w.core.CoreV1().Services(w.namespace), w.core.AppsV1().Deployments(w.namespace)
	service := func() *corev1.Service {
		t.Helper()
		service := must.Get(services.Get(w.ctx, "ns1", metav1.GetOptions{}))(w.t)
		return service
	}
	before := service()
	podsOf := func(selector map[string]string) int {
		t.Helper()
		list := must.Get(w.core.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: selector})}))(w.t)
		return len(list.Items)
	}
	w.waitUntil("bindy's pod runs", func() error {
		deployment, err := deployments.Get(w.ctx, "ns1", metav1.GetOptions{})
		if err != nil || deployment.Status.AvailableReplicas != 1 {
			return fmt.Errorf("%v %v", deployment.Status, err)
		}
		return nil
	})
	untouched := b.readChildren()

	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	w.annotateObject(render.Secrets, "ns1-rndc-key")
	w.annotateObject(render.Deployments, "ns1")
	// Without the annotation, the Service blocks the Deployment, so that none of its selected pods goes.
	w.waitInstance("ns1", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	w.waitUntil("the Secret is taken over", func() error {
		secret, err := w.core.CoreV1().Secrets(w.namespace).Get(w.ctx, "ns1-rndc-key", metav1.GetOptions{})
		if err != nil || secret.Labels[render.LabelManager] != render.Manager || secret.Labels["app.kubernetes.io/part-of"] != "" || secret.Annotations[fleet.TakeOver] != "" {
			return fmt.Errorf("%v %v", secret.ObjectMeta, err)
		}
		if string(secret.Data["key-name"]) != "bindy-operator" {
			return fmt.Errorf("the key is another one: %q", secret.Data["key-name"])
		}
		return nil
	})
	if now := service(); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Service was changed: %v", now)
	}
	if deployment, err := deployments.Get(w.ctx, "ns1", metav1.GetOptions{}); err != nil || deployment.Labels["app"] != "bind9" {
		t.Errorf("the Deployment was taken before the Service: %v %v", deployment, err)
	}

	ready(false)
	w.annotateObject(render.Services, "ns1")
	w.waitInstance("ns1", bind9.ConditionProgressing, "True/"+fleet.ReasonTakingOver)
	w.waitUntil("the Deployment is that of the fleet, and bindy's pod runs on", func() error {
		deployment, err := deployments.Get(w.ctx, "ns1", metav1.GetOptions{})
		if err != nil || deployment.Spec.Selector.MatchLabels[bind9.LabelInstance] != "ns1" {
			return fmt.Errorf("%v", err)
		}
		if mine, remote := podsOf(deployment.Spec.Selector.MatchLabels), podsOf(before.Spec.Selector); mine != 1 || remote != 1 {
			return fmt.Errorf("%d pods of the fleet, %d of bindy", mine, remote)
		}
		return nil
	})
	if now := service(); now.Spec.Selector["app"] != "bind9" {
		t.Errorf("the Service selects %v, and the pod is not ready", now.Spec.Selector)
	}
	ready(true)
	// A server without a zone would refuse clients.
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	w.waitInstance("ns1", bind9.ConditionProgressing, "True/"+fleet.ReasonTakingOver)
	if now := service(); now.Spec.Selector["app"] != "bind9" {
		t.Errorf("the Service selects %v, and the server follows no catalog", now.Spec.Selector)
	}
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "taken"}, Spec: v1alpha1.DNSClassSpec{
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
		Bind9:      &v1alpha1.Bind9Provider{CatalogZone: "taken.catalog.example.", InstancesFrom: []v1alpha1.Bind9InstanceSelection{{Namespaces: []string{w.namespace}, Selector: metav1.LabelSelector{}}}},
	}}, metav1.CreateOptions{}))(w.t)
	t.Cleanup(func() { // other tests have classes of their own
		_ = w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(context.WithoutCancel(w.ctx), "taken", metav1.DeleteOptions{})
	})
	w.waitUntil("the pod has read the catalog's configuration", func() error {
		w.load("ns1")
		if service := service(); service.Spec.Selector[bind9.LabelInstance] != "ns1" {
			return fmt.Errorf("the Service selects %v", service.Spec.Selector)
		}
		return nil
	})
	after := service()
	if after.Spec.ClusterIP != before.Spec.ClusterIP || after.UID != before.UID || len(after.OwnerReferences) > 0 || after.Labels["app"] != "" || after.Annotations[fleet.TakeOver] != "" || len(after.Spec.Selector) != 2 {
		t.Errorf("the Service after the take-over: %+v", after)
	}
	var ports []string
	for _, port := range after.Spec.Ports {
		ports = append(ports, port.Name)
	}
	if slices.Sort(ports); !slices.Equal(ports, []string{"dns-tcp", "dns-udp"}) {
		t.Errorf("the Service has the ports %v", ports)
	}
	w.waitUntil("bindy's pod goes", func() error {
		if n := podsOf(before.Spec.Selector); n > 0 {
			return errStillThere
		}
		sets, err := w.core.AppsV1().ReplicaSets(w.namespace).List(w.ctx, metav1.ListOptions{LabelSelector: "app=bind9"})
		if err != nil || len(sets.Items) > 0 {
			return fmt.Errorf("%d ReplicaSets: %v", len(sets.Items), err)
		}
		return nil
	})
	w.waitInstance("ns1", bind9.ConditionProgressing, "False")
	if len(untouched) != 5 {
		t.Errorf("bindy has %v", untouched)
	}

	// A restarted bindy reclaims its objects if possible, and both do not fight.
	if err := b.applyObjects(w.ctx); err == nil || !apierrors.IsInvalid(errors.Unwrap(err)) && !strings.Contains(err.Error(), "immutable") {
		t.Errorf("a Deployment has another selector now: %v", err)
	}
	w.waitInstance("ns1", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	written := w.writes.Load()
	for range 3 {
		_ = b.applyObjects(w.ctx)
	}
	must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{}))(w.t)
	w.waitUntil("the fleet has looked", func() error {
		if instance := w.getInstance("ns1"); instance.Status.ObservedGeneration != instance.Generation {
			return errors.New("it has not")
		}
		return nil
	})
	if n := w.writes.Load() - written; n > 0 {
		t.Errorf("the fleet wrote %d times", n)
	}
}

// runPods is runKubelet with a switch for the readiness of the fleet's pods.
func (w *world) runPods(namespace string) (ready func(bool)) {
	w.runKubelet(namespace)
	var mu sync.Mutex
	are := true
	go func() {
		for w.ctx.Err() == nil {
			list, err := w.core.CoreV1().Pods(namespace).List(w.ctx, metav1.ListOptions{LabelSelector: render.LabelManager + "=" + render.Manager})
			if err == nil {
				mu.Lock()
				want := corev1.ConditionFalse
				if are {
					want = corev1.ConditionTrue
				}
				mu.Unlock()
				for _, pod := range list.Items {
					for _, c := range pod.Status.Conditions {
						if c.Type == corev1.PodReady && c.Status != want {
							_, _ = w.core.CoreV1().Pods(namespace).Patch(w.ctx, pod.Name, types.StrategicMergePatchType, fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, want), metav1.PatchOptions{}, "status")
						}
					}
				}
			}
			select {
			case <-w.ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		are = is
	}
}
