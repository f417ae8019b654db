// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// TestCluster_replacesOneServerAtATime_S11_9: a pod with claims goes before the next pod starts. So a change of the
// cluster reaches a server only when the server before is ready, and no server while any is unready (F2).
func TestCluster_replacesOneServerAtATime_S11_9(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "turns")
	w.node.Leave(w.namespace)
	var newPods atomic.Int32 // number of new pods that may become ready
	isNew := func(pod *corev1.Pod) bool {
		return strings.HasSuffix(pod.Spec.Containers[0].Image, ":9.18")
	}
	go func() {
		started := map[types.UID]bool{}
		for ; w.ctx.Err() == nil; time.Sleep(200 * time.Millisecond) { // a kubelet's interval
			list, err := w.core.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for i := range list.Items {
				pod := &list.Items[i]
				if pod.DeletionTimestamp == nil && isNew(pod) && !started[pod.UID] {
					if int(newPods.Load()) <= len(started) {
						continue
					}
					started[pod.UID] = true
				}
				w.runPod(pod)
			}
		}
	}()
	w.runFleet(nil, w.namespace)
	clusters := w.kubizone.Bind9V1alpha1().Bind9Clusters(w.namespace)
	must.Get(clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{
		Primary: &bind9.RoleSettings{Replicas: 1}, Secondary: &bind9.RoleSettings{Replicas: 2},
		ServerSettings: bind9.ServerSettings{Version: "9.20", Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}},
	}}, metav1.CreateOptions{}))(w.t)
	names := []string{"prod-primary-0", "prod-secondary-0", "prod-secondary-1"}
	for _, name := range names {
		w.waitInstance(name, bind9.ConditionReady, "True")
	}
	changed := func() (of []string) {
		t.Helper()
		for _, name := range names {
			set := must.Get(w.core.AppsV1().StatefulSets(w.namespace).Get(w.ctx, name, metav1.GetOptions{}))(w.t)
			if strings.HasSuffix(set.Spec.Template.Spec.Containers[0].Image, ":9.18") {
				of = append(of, name)
			}
		}
		return of
	}
	must.Get(clusters.Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"version":"9.18"}}`), metav1.PatchOptions{}))(w.t)
	for turn := 1; turn <= len(names); turn++ {
		w.waitUntil(fmt.Sprintf("server %d has its turn", turn), func() error {
			if got := changed(); len(got) != turn {
				return fmt.Errorf("%q", got)
			}
			return nil
		})
		waiting := 0
		w.waitUntil("the others say that they wait", func() error {
			waiting = 0
			for _, name := range names {
				if expectCondition(w.getInstance(name).Status.Conditions, bind9.ConditionProgressing, "True/RollingOut") == nil {
					waiting++
				}
			}
			if waiting < len(names)-turn+1 {
				return errors.New("they do not")
			}
			return nil
		})
		// The pod is not ready: reconciles of the others change nothing.
		for i := range 5 {
			for _, name := range names {
				must.Get(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Patch(w.ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"nudge":"%d-%d"}}}`, turn, i), metav1.PatchOptions{}))(w.t)
			}
			if got := changed(); len(got) != turn {
				t.Fatalf("at turn %d: %q", turn, got)
			}
		}
		newPods.Store(int32(turn))
	}
	for _, name := range names {
		w.waitInstance(name, bind9.ConditionReady, "True")
		w.waitInstance(name, bind9.ConditionProgressing, "False")
	}
}
