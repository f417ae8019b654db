// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	ours "kubi.zone/kubizone/api/client/clientset/versioned/fake"

	"kubi.zone/kubizone/test/must"
)

// Two installations with disjoint namespaces neither write the status of each other's servers and clusters, nor
// release a deleted object before the other has removed its children, unless the other is gone.
func TestFleet_leavesWhatAnotherInstallationHas_S11_12(t *testing.T) {
	at := clocktesting.NewFakeClock(time.Now())
	metaOf := func(name string, finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "theirs", Name: name, UID: "u", ResourceVersion: "1", Generation: 1, Finalizers: finalizers}
	}
	ready := []metav1.Condition{{Type: bind9.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonReady}}
	for kind, test := range map[string]struct {
		held, unheld runtime.Object
		wait         time.Duration
		reconcile    func(f *Fleet, name string) (time.Duration, error)
		conditions   func(object runtime.Object) []metav1.Condition
	}{
		"server": {
			held:   &bind9.Bind9Instance{ObjectMeta: metaOf("held", Finalizer), Status: bind9.Bind9InstanceStatus{Conditions: ready}},
			unheld: &bind9.Bind9Instance{ObjectMeta: metaOf("unheld")},
			wait:   deletionLimit,
			reconcile: func(f *Fleet, name string) (time.Duration, error) {
				return f.reconcileInstance(t.Context(), cache.ObjectName{Namespace: "theirs", Name: name})
			},
			conditions: func(object runtime.Object) []metav1.Condition { return object.(*bind9.Bind9Instance).Status.Conditions },
		},
		"cluster": {
			held:   &bind9.Bind9Cluster{ObjectMeta: metaOf("held", Finalizer), Status: bind9.Bind9ClusterStatus{Conditions: ready}},
			unheld: &bind9.Bind9Cluster{ObjectMeta: metaOf("unheld")},
			wait:   2 * deletionLimit,
			reconcile: func(f *Fleet, name string) (time.Duration, error) {
				return f.reconcileCluster(t.Context(), cache.ObjectName{Namespace: "theirs", Name: name})
			},
			conditions: func(object runtime.Object) []metav1.Condition { return object.(*bind9.Bind9Cluster).Status.Conditions },
		},
	} {
		t.Run(kind, func(t *testing.T) {
			client := ours.NewSimpleClientset(test.held, test.unheld) //nolint:staticcheck // NewClientset asks for another name of our types than OpenAPI has.
			f := newFleet(t, client, at, "ours")
			resource, informer := bind9.SchemeGroupVersion.WithResource("bind9instances"), f.Informers.Bind9().V1alpha1().Bind9Instances().Informer()
			if kind == "cluster" {
				resource, informer = bind9.SchemeGroupVersion.WithResource("bind9clusters"), f.Informers.Bind9().V1alpha1().Bind9Clusters().Informer()
			}
			look := func(name string) (time.Duration, runtime.Object) {
				t.Helper()
				again := must.Get(test.reconcile(f, name))(t)
				now := must.Get(client.Tracker().Get(resource, "theirs", name))(t)
				return again, now
			}
			for _, object := range []runtime.Object{test.held, test.unheld} {
				must.Succeed(t, informer.GetIndexer().Add(object))
			}
			if _, now := look("held"); !slices.Equal(test.conditions(now), ready) || len(client.Actions()) > 0 {
				t.Errorf("the status of what another installation has is %+v after %v", test.conditions(now), client.Actions())
			}
			if _, now := look("unheld"); meta.FindStatusCondition(test.conditions(now), bind9.ConditionReady).Reason != ReasonNotCovered {
				t.Errorf("what no installation has says %+v", test.conditions(now))
			}
			deleted := test.held.DeepCopyObject()
			since := metav1.NewTime(at.Now())
			accessor(deleted).SetDeletionTimestamp(&since)
			for _, err := range []error{informer.GetIndexer().Update(deleted), client.Tracker().Update(resource, deleted, "theirs")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			if again, now := look("held"); !hasFinalizer(accessor(now)) || again != test.wait {
				t.Errorf("deleted: finalizers %q, looked at again in %s, want %s", accessor(now).GetFinalizers(), again, test.wait)
			}
			at.Step(test.wait)
			if _, now := look("held"); hasFinalizer(accessor(now)) {
				t.Errorf("%s later, with no other installation: finalizers %q", test.wait, accessor(now).GetFinalizers())
			}
		})
	}
}
