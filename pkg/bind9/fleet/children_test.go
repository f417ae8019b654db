// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
)

// The memory of an object ends with the object: servers that come and go must not leak.
func TestChildren_forgetWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := map[string]string{render.LabelManager: render.Manager, render.LabelInstallation: "a"}
		stays := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "stays", Labels: labels}}
		goes := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "goes", Labels: labels}}
		cluster := fake.NewClientset(stays, goes)
		c := newChildren(cluster, []string{"team"}, "a")
		kept, gone := childKey{render.ConfigMaps, "team", "stays"}, childKey{render.Secrets, "team", "goes"}
		c.applied[kept], c.applied[gone] = applied{got: "1"}, applied{got: "1"}
		ctx, cancel := context.WithCancel(t.Context())
		factory := factoryFor(c.factories, "team")
		factory.StartWithContext(ctx)
		defer factory.Shutdown()
		defer cancel()
		synctest.Wait() // an informer in sync may not watch yet, and the fake does not replay the gap
		must.Succeed(t, cluster.CoreV1().Secrets("team").Delete(t.Context(), "goes", metav1.DeleteOptions{}))
		synctest.Wait()
		if _, knows := c.applied[gone]; knows || len(c.applied) != 1 {
			t.Errorf("known: %v", c.applied)
		}
	})
}
