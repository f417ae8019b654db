// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	bind9typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/bind9/v1alpha1"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// statusWriter writes the status of Zones, Records and DNSClasses, and a condition of Bind9Clusters.
type statusWriter struct {
	client   typed.KubizoneV1alpha1Interface
	clusters bind9typed.Bind9ClustersGetter
}

// readyPatch is a Ready to be written, with what the object said before.
type readyPatch struct {
	of metav1.ObjectMeta
	// serial is that of which the Ready speaks: where the object is past it by now, the server drops it (S6.13).
	serial    int64
	before    []metav1.Condition
	judgement judgement
	stalled   *metav1.Condition
}

// encode makes a patch of it with the further fields of the status. A judgement that says nothing leaves Ready as it
// is.
func (p *readyPatch) encode(fields map[string]any) map[string]any {
	conditions := stallPatch(p.before, p.stalled)
	if p.judgement.status != "" {
		ready := p.judgement.condition()
		ready.ObservedGeneration, ready.LastTransitionTime = p.of.Generation, metav1.NewTime(time.Now())
		if before := readyOf(p.before); before != nil && before.Status == ready.Status {
			ready.LastTransitionTime = before.LastTransitionTime
		}
		conditions = append(conditions, ready)
	}
	fields["serial"], fields["conditions"] = p.serial, conditions
	return map[string]any{"metadata": map[string]any{"uid": p.of.UID}, "status": fields}
}

// patcher is a client of one kind of object.
type patcher[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, sub ...string) (T, error)
}

// patchObject patches an object, or a subresource of it. Conditions are merged by their type and finalizers by their
// value, so that no two writers undo each other.
func patchObject[T any](ctx context.Context, of patcher[T], name string, patch map[string]any, sub ...string) (patched T, err error) {
	data, err := json.Marshal(patch)
	if err != nil {
		return patched, err
	}
	return of.Patch(ctx, name, types.StrategicMergePatchType, data, metav1.PatchOptions{FieldManager: FieldManager}, sub...)
}

func (w statusWriter) writeZone(ctx context.Context, p readyPatch) error {
	_, err := patchObject(ctx, w.client.Zones(p.of.Namespace), p.of.Name, p.encode(map[string]any{}), "status")
	return ignoreGone(err)
}

// writeRecord writes the Ready of a Record with the error of its own RRset.
func (w statusWriter) writeRecord(ctx context.Context, p readyPatch, lastError string) error {
	patch := p.encode(map[string]any{"lastDeliveryError": lastError})
	_, err := patchObject(ctx, w.client.Records(p.of.Namespace), p.of.Name, patch, "status")
	return ignoreGone(err)
}

// writeUnadopted writes Stalled alone, and nothing where a zone has taken the Record in meanwhile.
func (w statusWriter) writeUnadopted(ctx context.Context, record *v1alpha1.Record, stalled *metav1.Condition) error {
	_, err := patchObject(ctx, w.client.Records(record.Namespace), record.Name, map[string]any{
		"metadata": map[string]any{"uid": record.UID, "resourceVersion": record.ResourceVersion},
		"status":   map[string]any{"conditions": stallPatch(record.Status.Conditions, stalled)},
	}, "status")
	return ignoreGone(err)
}

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

// writeKeyNames writes the names of TSIG keys that a class uses.
func (w statusWriter) writeKeyNames(ctx context.Context, of *v1alpha1.DNSClass, names []string) error {
	_, err := patchObject(ctx, w.client.DNSClasses(), of.Name,
		map[string]any{"metadata": map[string]any{"uid": of.UID}, "status": map[string]any{"keyNames": names}}, "status")
	return ignoreGone(err)
}

// writeDelivering writes the condition Delivering, after the one that the cluster has; nil for none.
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

// stallPatch is the part of a patch of conditions that says stalled, or removes what says otherwise.
func stallPatch(conditions []metav1.Condition, stalled *metav1.Condition) []any {
	switch {
	case stalled != nil:
		return []any{stalled}
	case stalledOf(conditions) != nil:
		return []any{map[string]any{"$patch": "delete", "type": v1alpha1.ConditionStalled}}
	}
	return nil
}

// written is the last write of a Ready: what it said, and the version that it was worked out from.
type written struct {
	from string
	judgement
	stalled bool
}
