// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	ours "kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
)

// A status write must not reconcile all of a thousand servers.
func TestFollowChange_looksAtWhatIsConcerned(t *testing.T) {
	f := newFleet(t, ours.NewSimpleClientset(), nil, "dns")
	cluster := &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "prod", UID: "c", Generation: 1}}
	one := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "prod-secondary-0"}, Spec: bind9.Bind9InstanceSpec{ClusterRef: &bind9.ClusterReference{Name: "prod"}}}
	other := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "lone"}}
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "public", UID: "d", Generation: 1}, Spec: v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: "dns", Name: "prod"}}}}
	former := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "x", Labels: map[string]string{labelSuperseded: "lone"}}}
	owned := metav1.ObjectMeta{Namespace: "dns", Name: "x", Annotations: map[string]string{render.AnnotationOwner: render.KindCluster + "/prod"}}
	for _, instance := range []*bind9.Bind9Instance{one, other} {
		must.Succeed(t, f.Informers.Bind9().V1alpha1().Bind9Instances().Informer().GetIndexer().Add(instance))
	}
	written, changed, used, retired := cluster.DeepCopy(), cluster.DeepCopy(), cluster.DeepCopy(), of.DeepCopy()
	used.Finalizers = []string{v1alpha1.FinalizerDelivery}
	written.Status.Secondaries.Ready = 1
	changed.Generation = 2
	signer := one.DeepCopy()
	signer.Name, signer.Spec.Role = "prod-signer-0", bind9.RoleSigner
	reached := signer.DeepCopy()
	reached.Status.Addresses = []string{"192.0.2.1:53"}
	retired.Generation, retired.Spec.Bind9.ClusterRef = 2, nil
	for name, test := range map[string]struct {
		before, after metav1.Object
		want          string
	}{
		"status of a cluster":     {cluster, written, "cluster dns/prod, provider /prod"},
		"spec of a cluster":       {cluster, changed, "cluster dns/prod, instance dns/prod-secondary-0, provider /prod"},
		"cluster that is a class": {cluster, used, "cluster dns/prod, instance dns/prod-secondary-0, provider /prod"},
		"status of an instance":   {one, one, "cluster dns/prod, instance dns/prod-secondary-0"},
		"address of the signer":   {signer, reached, "cluster dns/prod, instance dns/prod-secondary-0, instance dns/prod-signer-0"},
		"status of the signer":    {reached, reached, "cluster dns/prod, instance dns/prod-signer-0"},
		"status of a class":       {of, of, ""},
		"class that was reduced":  {of, retired, "instance dns/prod-secondary-0"},
		"superseded ReplicaSet":   {former, former, "instance dns/lone"},
		"budget of a cluster":     {&policyv1.PodDisruptionBudget{ObjectMeta: owned}, &policyv1.PodDisruptionBudget{ObjectMeta: owned}, "cluster dns/prod"},
		"TSIG key of the cluster": {&corev1.Secret{ObjectMeta: owned}, &corev1.Secret{ObjectMeta: owned}, "cluster dns/prod, instance dns/prod-secondary-0"},
	} {
		f.followChange(test.after, test.before)
		var looked []string
		for kind, loop := range f.loops {
			for loop.queue.Len() > 0 {
				at, _ := loop.queue.Get()
				looked = append(looked, fmt.Sprintf("%s %s/%s", kind, at.Namespace, at.Name))
				loop.queue.Done(at)
			}
		}
		slices.Sort(looked)
		if got := strings.Join(looked, ", "); got != test.want {
			t.Errorf("%s: looked at %q, want %q", name, got, test.want)
		}
	}
}
