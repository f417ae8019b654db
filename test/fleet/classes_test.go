// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

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
	"kubi.zone/kubizone/test/must"
)

var catalogNames = regexp.MustCompile(`zone "([^"]*\.catalog\.example|[^"]*\.bind9clusters\.kubizone\.invalid)\.?"`)

// TestFleet_followsClassesAtOnce: a server's catalogs follow each change of its classes, without a change of any
// Bind9Instance: of a DNSClass (S11.13), and of the own cluster once a zone has that class (S11.30).
func TestFleet_followsClassesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "followed")
	w.runKubelet(w.namespace)
	w.runFleet(clock.RealClock{}, w.namespace)
	clusters := w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace)
	must.Get(clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 1}}}, metav1.CreateOptions{}))(w.t)
	follows := func(what string, want ...string) {
		t.Helper()
		w.waitConfig("edge-secondary-0", what, catalogNames, want...)
	}
	follows("a server of no class")
	classes := w.kubizone.KubizoneV1alpha1().DNSClasses()
	patch := func(body string) {
		t.Helper()
		must.Get(classes.Patch(w.ctx, "followed", types.MergePatchType, []byte(body), metav1.PatchOptions{}))(w.t)
	}
	must.Get(classes.Create(w.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "followed"}, Spec: v1alpha1.DNSClassSpec{
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{w.namespace}},
		Bind9:      &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: w.namespace, Name: "edge"}, CatalogZone: "one.catalog.example."},
	}}, metav1.CreateOptions{}))(w.t)
	follows("a class that has it", "one.catalog.example")
	patch(`{"spec":{"bind9":{"catalogZone":"two.catalog.example."}}}`)
	follows("a class with another catalog", "two.catalog.example")
	patch(`{"spec":{"namespaces":{"names":["` + w.namespace + `","elsewhere"]}}}`)
	follows("a class for a namespace that it does not consent to")
	patch(`{"spec":{"namespaces":{"names":["` + w.namespace + `"]}}}`)
	follows("the class as it was", "two.catalog.example")

	// The controller adds the finalizer before delivering the first zone that names the cluster.
	own := "edge." + w.namespace + ".bind9clusters.kubizone.invalid"
	must.Get(clusters.Patch(w.ctx, "edge", types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+v1alpha1.FinalizerDelivery+`"]}}`), metav1.PatchOptions{}, "finalizers"))(w.t)
	follows("its own cluster as a class", own, "two.catalog.example")
	must.Succeed(w.t, classes.Delete(w.ctx, "followed", metav1.DeleteOptions{}))
	follows("its own cluster alone", own)

	// A deleted cluster and its servers go after the finalizer.
	must.Succeed(w.t, clusters.Delete(w.ctx, "edge", metav1.DeleteOptions{}))
	must.Get(clusters.Patch(w.ctx, "edge", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}, "finalizers"))(w.t)
	w.waitNothing(w.namespace)
}

// waitConfig waits until the words that the pattern finds in a server's configuration are those wanted, in any order.
func (w *world) waitConfig(server, what string, pattern *regexp.Regexp, want ...string) {
	w.t.Helper()
	slices.Sort(want)
	w.waitUntil(what, func() error {
		config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, server+"-config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, text := range config.Data {
			for _, one := range pattern.FindAllStringSubmatch(text, -1) {
				found[one[1]] = true
			}
		}
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			return fmt.Errorf("it has %q, not %q", got, want)
		}
		return nil
	})
}
