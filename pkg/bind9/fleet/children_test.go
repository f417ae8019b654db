// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"

	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
)

// The memory of an object ends with the object: servers that come and go leave nothing there.
func TestChildren_forgetWhatIsGone(t *testing.T) {
	labels := map[string]string{render.LabelManager: render.Manager, render.LabelInstallation: "a"}
	stays := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "stays", Labels: labels}}
	goes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "goes", Labels: labels}}
	cluster := fake.NewClientset(stays, goes)
	c := newChildren(cluster, []string{"team"}, "a")
	kept, gone := childKey{render.ConfigMaps, "team", "stays"}, childKey{render.Secrets, "team", "goes"}
	c.applied[kept], c.applied[gone] = applied{got: "1"}, applied{got: "1"}
	factoryFor(c.factories, "team").Start(t.Context().Done())
	factoryFor(c.factories, "team").WaitForCacheSync(t.Context().Done())
	must.Succeed(t, cluster.CoreV1().Secrets("team").Delete(t.Context(), "goes", metav1.DeleteOptions{}))
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, knowsKept := c.applied[kept]
		_, knowsGone := c.applied[gone]
		return knowsKept && !knowsGone, nil
	}); err != nil {
		t.Errorf("known: %v", c.applied)
	}
}
