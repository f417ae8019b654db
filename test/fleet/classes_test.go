// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

var catalogNames = regexp.MustCompile(`zone "([^"]*\.catalog\.example|[^"]*\.bind9clusters\.kubizone\.invalid)\.?"`)

// TestFleet_followsClassesAtOnce: a server's catalogs follow each change of its classes, without a change of any
// Bind9Instance: of a DNSClass (S11.13), and of the own cluster once a zone has that class (S11.30).
func TestFleet_followsClassesAtOnce(t *testing.T) {
	w := newWorld(t, "followed")
	w.runKubelet(w.namespace)
	w.runFleet(clock.RealClock{}, w.namespace)
	clusters := w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace)
	_, err := clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 1}}}, metav1.CreateOptions{})
	w.mustSucceed(err)
	follows := func(what string, want ...string) {
		t.Helper()
		w.waitUntil(what, func() error {
			config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "edge-secondary-0-config", metav1.GetOptions{})
			if err != nil {
				return err
			}
			found := map[string]bool{}
			for _, text := range config.Data {
				for _, zone := range catalogNames.FindAllStringSubmatch(text, -1) {
					found[zone[1]] = true
				}
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
				return fmt.Errorf("it follows %q, not %q", got, want)
			}
			return nil
		})
	}
	follows("a server of no class")
	classes := w.kubizone.KubizoneV1alpha1().DNSClasses()
	patch := func(body string) {
		t.Helper()
		_, err := classes.Patch(w.ctx, "followed", types.MergePatchType, []byte(body), metav1.PatchOptions{})
		w.mustSucceed(err)
	}
	_, err = classes.Create(w.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "followed"}, Spec: v1alpha1.DNSClassSpec{
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
		Bind9:      &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "edge"}, CatalogZone: "one.catalog.example."},
	}}, metav1.CreateOptions{})
	w.mustSucceed(err)
	follows("a class that has it", "one.catalog.example")
	patch(`{"spec":{"bind9":{"catalogZone":"two.catalog.example."}}}`)
	follows("a class with another catalog", "two.catalog.example")
	patch(`{"spec":{"namespaces":{"names":["` + w.namespace + `","elsewhere"]}}}`)
	follows("a class for a namespace that it does not consent to")
	patch(`{"spec":{"namespaces":{"names":["` + w.namespace + `"]}}}`)
	follows("the class as it was", "two.catalog.example")

	// The controller adds the finalizer before delivering the first zone that names the cluster.
	own := "edge." + w.namespace + ".bind9clusters.kubizone.invalid"
	_, err = clusters.Patch(w.ctx, "edge", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+v1alpha1.FinalizerDelivery+`"]}}`), metav1.PatchOptions{}, "finalizers")
	w.mustSucceed(err)
	follows("its own cluster as a class", own, "two.catalog.example")
	w.mustSucceed(classes.Delete(w.ctx, "followed", metav1.DeleteOptions{}))
	follows("its own cluster alone", own)

	// A deleted cluster and its servers go after the finalizer.
	w.mustSucceed(clusters.Delete(w.ctx, "edge", metav1.DeleteOptions{}))
	_, err = clusters.Patch(w.ctx, "edge", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}, "finalizers")
	w.mustSucceed(err)
	w.waitUntil("nothing is left", func() error {
		if left := w.listMade(w.namespace); len(left) > 0 {
			return fmt.Errorf("left: %q", left)
		}
		return nil
	})
}
