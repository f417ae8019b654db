// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
)

// A namespace deleted while no server ran leaves its records. No new record enters the namespace, the old records can
// be deleted by hand (S2.4), and doctor and a metric name the namespace until then (S8.5).
func TestNamespace_deletedWhileNobodyServed(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, 25*time.Minute)
	for _, namespace := range []string{"left", "left-zone"} {
		must.Succeed(t, c.kube.Namespace(ctx, namespace))
	}
	typed, objects := makeClients(t, c.kube.Admin())
	must.Get(objects.Resource(zones).Namespace("left-zone").Create(ctx, zoneObject("left-zone", "zone", "left.example.", everyName("left"),
		everyName("left-zone")), metav1.CreateOptions{}))(t)
	for namespace, names := range map[string][]string{"left": {"by-hand", "remains"}, "left-zone": {"stays"}} {
		for _, name := range names {
			must.Get(objects.Resource(records).Namespace(namespace).Create(ctx, recordObject(namespace, name, name+".left.example."),
				metav1.CreateOptions{}))(t)
		}
	}
	must.Succeed(t, c.server.Stop(ctx))
	// An unavailable APIService would block the deletion; without an APIService, Kubernetes does not know records.
	must.Succeed(t, c.kube.Unaggregate(ctx))
	must.Succeed(t, typed.CoreV1().Namespaces().Delete(ctx, "left", metav1.DeleteOptions{}))
	for gone := false; !gone; time.Sleep(20 * time.Millisecond) {
		_, err := typed.CoreV1().Namespaces().Get(ctx, "left", metav1.GetOptions{})
		gone = apierrors.IsNotFound(err)
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, c.startServer(ctx))
	must.Succeed(t, c.kube.Aggregate(ctx, c.service.Addr, c.kube.ClusterCA.PEM))
	if _, _, err := c.kube.WaitAvailable(ctx, true); err != nil {
		t.Fatal(err)
	}
	present := func(namespace, name string) bool {
		t.Helper()
		for {
			_, err := objects.Resource(records).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
			switch {
			case err == nil:
				return true
			case apierrors.IsNotFound(err) && strings.Contains(err.Error(), name):
				return false
			case ctx.Err() != nil:
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // the aggregator learns the group's address after a moment
		}
	}
	if !present("left", "by-hand") || !present("left", "remains") {
		t.Fatal("records went with nobody to delete them")
	}
	if _, err := objects.Resource(records).Namespace("left").Create(ctx, recordObject("left", "new", "new.left.example."), metav1.CreateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a record in a namespace that is gone: %v", err)
	}
	if err := objects.Resource(records).Namespace("left").Delete(ctx, "by-hand", metav1.DeleteOptions{}); err != nil {
		t.Errorf("delete in a namespace that is gone: %v", err)
	}
	if present("left", "by-hand") {
		t.Error("it was deleted and is there")
	}
	output, _ := exec.CommandContext(ctx, c.client, "doctor", "--kubeconfig", c.kube.AdminKubeconfig()).CombinedOutput()
	if !strings.Contains(string(output), "still served: left") {
		t.Errorf("doctor does not name the namespace:\n%s", output)
	}
	if !present("left-zone", "stays") {
		t.Error("a record of a namespace that is there is gone")
	}
}
