// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

// TestFleet_handsANamespaceOver_S11_12: of two fleets with one mark and namespaces of their own the second gets a
// namespace of the first. No pod is replaced and no object of a server changes, so no client has another server to
// ask; each fleet leaves the servers of the other alone, and the second changes and removes what it has got.
func TestFleet_handsANamespaceOver_S11_12(t *testing.T) {
	w := newWorld(t, "handed")
	const kept, own = "handed-kept", "handed-own"
	for _, namespace := range []string{kept, own} {
		_, err := w.core.CoreV1().Namespaces().Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		w.must(err)
	}
	w.runKubelet(w.namespace)
	w.runKubelet(kept)
	w.runFleet(nil, w.namespace, kept)
	stopFirst := w.stop
	clusters := w.ours.Bind9V1alpha1().Bind9Clusters(w.namespace)
	_, err := clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 2}}}, metav1.CreateOptions{})
	w.must(err)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary, ServerSettings: bind9.ServerSettings{Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}}})
	_, err = w.ours.Bind9V1alpha1().Bind9Instances(kept).Create(w.ctx, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: "ns9"}, Spec: bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary}}, metav1.CreateOptions{})
	w.must(err)
	servers := []string{"ns1", "prod-secondary-0", "prod-secondary-1"}
	for _, name := range servers {
		w.waitInstance(name, bind9.ConditionReady, "True")
		w.waitInstance(name, bind9.ConditionProgressing, "False")
	}
	// states are what a write changes: of objects whose status others write, the generation.
	states := func() map[string]string {
		t.Helper()
		all := map[string]string{}
		w.eachMade(w.namespace, func(at string, o *unstructured.Unstructured) {
			state := o.GetResourceVersion()
			if strings.HasPrefix(at, "pods/") {
				state = ""
			} else if o.GetGeneration() != 0 {
				state = fmt.Sprint(o.GetGeneration())
			}
			all[at] = string(o.GetUID()) + " " + state
		})
		return all
	}
	before := states()
	if pods := slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(at string) bool { return !strings.HasPrefix(at, "pods/") }); len(pods) != 3 {
		t.Fatalf("pods %q, want one of each server", pods)
	}

	stopFirst() // The first fleet is restarted without the namespace, then the second one with it.
	w.runFleet(nil, kept)
	w.runFleet(nil, own, w.namespace)
	_, err = clusters.Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{})
	w.must(err)
	_, err = w.ours.Bind9V1alpha1().Bind9Instances(w.namespace).Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{})
	w.must(err)
	for _, name := range servers {
		w.until("a change reaches "+name, func() error {
			config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, name+"-config", metav1.GetOptions{})
			if err != nil || !strings.Contains(config.Data["named.conf"], "querylog yes") {
				return fmt.Errorf("named.conf is as before: %v", err)
			}
			return nil
		})
		w.waitInstance(name, bind9.ConditionReady, "True")
	}
	after := states()
	for _, all := range []map[string]string{before, after} {
		maps.DeleteFunc(all, func(at, _ string) bool { return strings.HasPrefix(at, "configmaps/") })
	}
	if !maps.Equal(before, after) {
		t.Errorf("objects before the namespace was handed over and after it:\n%v\n%v", before, after)
	}
	// A change in the namespace of the first fleet passes the second one by, and says that both have looked.
	_, err = w.ours.Bind9V1alpha1().Bind9Instances(kept).Patch(w.ctx, "ns9", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{})
	w.must(err)
	w.until("the first fleet works for its namespace", func() error {
		instance, err := w.ours.Bind9V1alpha1().Bind9Instances(kept).Get(w.ctx, "ns9", metav1.GetOptions{})
		if err != nil || instance.Status.ObservedGeneration != instance.Generation {
			return fmt.Errorf("generation %d: %v", instance.Status.ObservedGeneration, err)
		}
		return is(instance.Status.Conditions, bind9.ConditionReady, "True")
	})
	w.must(clusters.Delete(w.ctx, "prod", metav1.DeleteOptions{}))
	w.must(w.ours.Bind9V1alpha1().Bind9Instances(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.until("the second fleet removes all of it", func() error {
		if left := w.listMade(w.namespace); len(left) > 0 {
			return fmt.Errorf("%q", left)
		}
		if _, err := clusters.Get(w.ctx, "prod", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errStillThere
		}
		return nil
	})
}
