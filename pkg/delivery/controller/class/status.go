// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	bind9typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/bind9/v1alpha1"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

type statusWriter struct {
	client   typed.KubizoneV1alpha1Interface
	clusters bind9typed.Bind9ClustersGetter
}

type patcher[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, sub ...string) (T, error)
}

// patchObject merges conditions by type and finalizers by value, so that no writer undoes another.
func patchObject[T any](ctx context.Context, of patcher[T], name string, patch map[string]any, sub ...string) (patched T, err error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return patched, err
	}
	return of.Patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{FieldManager: FieldManager}, sub...)
}

// writeClass writes Ready, Stalled and health of a class. A class deleted and made again is left alone, by its UID.
func (w statusWriter) writeClass(ctx context.Context, of *v1alpha1.DNSClass, ready metav1.Condition, stalled *metav1.Condition,
	health v1alpha1.ClassHealth) error {
	status := map[string]any{
		"observedGeneration": of.Generation, "lastHealthCheck": health.LastCheck,
		"conditions": append([]any{ready}, stallPatch(of.Status.Conditions, stalled)...),
		"health":     map[string]any{"status": health.Status, "lastCheck": health.LastCheck, "message": health.Message},
	}
	_, err := patchObject(ctx, w.client.DNSClasses(), of.Name,
		map[string]any{"metadata": map[string]any{"uid": of.UID}, "status": status}, "status")
	return ignoreGone(err)
}

func (w statusWriter) writeTarget(ctx context.Context, name string, uid types.UID, target string) (err error) {
	patch := map[string]any{"metadata": map[string]any{"uid": uid}, "status": map[string]any{"target": target}}
	if namespace, cluster, ok := class.SplitCluster(name); ok {
		_, err = patchObject(ctx, w.clusters.Bind9Clusters(namespace), cluster, patch, "status")
	} else {
		_, err = patchObject(ctx, w.client.DNSClasses(), name, patch, "status")
	}
	return ignoreGone(err)
}

func (w statusWriter) writeKeyNames(ctx context.Context, of *v1alpha1.DNSClass, names []string) error {
	_, err := patchObject(ctx, w.client.DNSClasses(), of.Name,
		map[string]any{"metadata": map[string]any{"uid": of.UID}, "status": map[string]any{"keyNames": names}}, "status")
	return ignoreGone(err)
}

// writeDelivering sets the condition Delivering of a Bind9Cluster, or deletes it if next is nil. It sets the transition
// time of next.
func (w statusWriter) writeDelivering(ctx context.Context, cluster *bind9.Bind9Cluster, before, next *metav1.Condition) error {
	var condition any = map[string]any{"$patch": "delete", "type": bind9.ConditionDelivering}
	if next != nil {
		if before != nil && before.Status == next.Status {
			next.LastTransitionTime = before.LastTransitionTime
		}
		condition = next
	}
	_, err := patchObject(ctx, w.clusters.Bind9Clusters(cluster.Namespace), cluster.Name, map[string]any{
		"metadata": map[string]any{"uid": cluster.UID}, "status": map[string]any{"conditions": []any{condition}},
	}, "status")
	return ignoreGone(err)
}

func stallPatch(conditions []metav1.Condition, stalled *metav1.Condition) []any {
	switch {
	case stalled != nil:
		return []any{stalled}
	case objects.StalledOf(conditions) != nil:
		return []any{map[string]any{"$patch": "delete", "type": v1alpha1.ConditionStalled}}
	}
	return nil
}
