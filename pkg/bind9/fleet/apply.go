// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// applyAll applies the objects of a server in order. It stops at an error, because the workload comes last and must not
// lack a volume. However, it continues if another manager's object cannot be taken over yet.
func (c *children) applyAll(ctx context.Context, namespace string, objects []render.Object, checkServing func() error) error {
	var firstErr error
	for _, o := range objects {
		err := c.applyObject(ctx, namespace, o, checkServing)
		if mustWait := (*takingOver)(nil); err != nil && !errors.As(err, &mustWait) {
			return err
		}
		firstErr = cmp.Or(firstErr, err)
	}
	return firstErr
}

// applyObject writes an object by server-side apply. A foreign object (of another manager) is an error, unless
// annotated with TakeOver. A foreign Service is taken over once checkServing returns nil, because our pod can then
// replace its pods.
func (c *children) applyObject(ctx context.Context, namespace string, o render.Object, checkServing func() error) error {
	text, err := json.Marshal(o.Config)
	if err != nil {
		return err
	}

	// Decide whether to apply at all, and whether over fields of other managers.
	key := childKey{o.Resource, namespace, o.Name}
	force := true
	// No informer sees foreign objects, since they lack our labels. If none is cached, mayTake reads the API.
	if existing := c.cached(o.Resource, namespace, o.Name); existing != nil {
		// Neither the rendered text nor the object has changed since the last apply (F1).
		if c.isApplied(key, text, existing) {
			return nil
		}
		if err := c.checkOwner(key, accessor(existing), text); err != nil {
			return err
		}
	} else if force, err = c.mayTake(ctx, key, o.Config, checkServing); err != nil {
		return err
	}

	// Without force, a foreign object created since the lookup gives a conflict.
	result, err := c.clientFor(o.Resource).Patch(types.ApplyPatchType).Namespace(namespace).Resource(o.Resource.Resource).Name(o.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: FieldManager, Force: &force}, scheme.ParameterCodec).Body(text).Do(ctx).Get()
	if err != nil {
		return fmt.Errorf("applying %s %q: %w", o.Resource.Resource, o.Name, err)
	}

	if accessor(result).GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %q is being deleted; it is made again when it is gone", o.Resource.Resource, o.Name)
	}

	// Remember the result, for the next comparison.
	c.mu.Lock()
	c.applied[key] = appliedObject{sha256.Sum256(text), formatFingerprint(result)}
	c.mu.Unlock()
	return nil
}

func (c *children) isApplied(key childKey, text []byte, existing runtime.Object) bool {
	c.mu.Lock()
	last := c.applied[key]
	c.mu.Unlock()
	return last == appliedObject{sha256.Sum256(text), formatFingerprint(existing)}
}

// checkOwner returns an error if the object belongs to another live server or cluster of this fleet. The objects of a
// dead owner may be taken.
func (c *children) checkOwner(key childKey, have metav1.Object, asked []byte) error {
	var wanted struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal(asked, &wanted); err != nil {
		return err
	}
	// Server x's agent has a Service named x-agent, and so has server x-agent.
	owner := have.GetAnnotations()[render.AnnotationOwner]
	if owner == "" || owner == wanted.Metadata.Annotations[render.AnnotationOwner] || !c.isOwner(key.namespace, owner) {
		return nil
	}
	return &foreign{resource: key.resource.Resource, name: key.name, owner: owner}
}

// mayTake reports whether an apply may overwrite the fields of other managers. For a missing object the result is
// false. A foreign object without the annotation TakeOver is an error.
func (c *children) mayTake(ctx context.Context, key childKey, wanted any, checkServing func() error) (bool, error) {
	live, err := c.getLive(ctx, key.resource, key.namespace, key.name)
	if err != nil || live == nil {
		return false, err
	}
	o := accessor(live)
	// The informer lags behind our own apply.
	if c.isOwned(o) {
		return true, nil
	}
	if o.GetAnnotations()[TakeOver] != "" {
		return true, c.takeOver(ctx, live, key, wanted, checkServing)
	}
	manager := ""
	if name := o.GetLabels()[render.LabelManager]; name != "" {
		manager = fmt.Sprintf(" (%q)", name)
	}
	return false, &foreign{resource: key.resource.Resource, name: key.name, manager: manager}
}

var workloads = []schema.GroupVersionResource{render.Deployments, render.StatefulSets}

// listSurplus returns the objects that are not wanted. A workload stays until its replacement is ready: team-a changes
// storage, and the old Deployment answers until the new StatefulSet does.
func listSurplus(made []childObject, wanted []render.Object, ready bool) []childObject {
	return slices.DeleteFunc(slices.Clone(made), func(one childObject) bool {
		isWanted := slices.ContainsFunc(wanted, func(w render.Object) bool {
			return w.Resource == one.resource && w.Name == one.object.GetName()
		})
		answersStill := !ready && slices.Contains(workloads, one.resource)
		return isWanted || answersStill
	})
}

func (c *children) removeChildren(ctx context.Context, surplus []childObject) error {
	var wrong []error
	for _, one := range surplus {
		wrong = append(wrong, c.removeObject(ctx, one.resource, one.object))
	}
	return errors.Join(wrong...)
}

// During the take-over of a foreign object, the Service always has a ready pod:
//
//   - The selector of a Deployment cannot change. The foreign Deployment is replaced, but its ReplicaSets and pods
//     stay.
//   - A Service keeps the selector until our pod is ready and has all zones. Then it selects our pod alone, at the
//     former address.
//   - Other objects are applied without the foreign labels, ownerReferences, data and ports. With the ownerReferences,
//     the garbage collector would remove the object with the other manager's custom resources. The annotation TakeOver
//     goes, too, so that an object which the other manager still writes stays with that manager.

const (
	annotationIdle = bind9.GroupName + "/idle-since"
	drainTime      = 10 * time.Second
)

var replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")

// takingOver is the error of applyObject while an object of another manager cannot be taken over yet, for example until
// the new server has all zones.
type takingOver struct {
	text string
	// service is the other manager's Service, or nil for a Deployment. The Bind9Instance's status gets its addresses at
	// once, because only servers with an address get zones.
	service *corev1.Service
}

func (e *takingOver) Error() string { return e.text }

// takeOver prepares a foreign object, annotated with TakeOver, for an apply with force: this fleet becomes the manager
// of the fields that the next apply leaves out, so that the apply removes them. The error is a *takingOver if the
// object must wait.
func (c *children) takeOver(ctx context.Context, live runtime.Object, key childKey, wanted any, checkServing func() error) error {
	switch live := live.(type) {
	case *appsv1.Deployment:
		return c.removeDeployment(ctx, live)
	case *corev1.Service:
		// A change of the type would lose the address known to clients.
		if to, ok := wanted.(*coreac.ServiceApplyConfiguration); ok && to.Spec != nil && to.Spec.Type != nil &&
			*to.Spec.Type != live.Spec.Type {
			return &takingOver{fmt.Sprintf("Service %q is of type %s, and the server asks for %s: set type and annotations in service "+
				"of the role or the instance, so that it keeps its addresses", key.name, live.Spec.Type,
				*to.Spec.Type), live}
		}
		if err := checkServing(); err != nil {
			return &takingOver{fmt.Sprintf("Service %q selects the pods of another manager until that of this server has the zones: %v",
				key.name, err), live}
		}
	}

	// Replace all other managers of the object, but not those of the status.
	o := accessor(live)
	fields, err := json.Marshal(foreignFields(live))
	if err != nil {
		return err
	}

	owners := []metav1.ManagedFieldsEntry{}
	for _, entry := range o.GetManagedFields() {
		if entry.Subresource != "" { // the status belongs to the cluster's controllers
			owners = append(owners, entry)
		}
	}

	now := metav1.Now()
	owners = append(owners, metav1.ManagedFieldsEntry{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: key.resource.GroupVersion().String(), Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
	})
	return c.patchMeta(ctx, key, o, map[string]any{"managedFields": owners})
}

// foreignFields returns the fields of a foreign object for the apply to remove, in the form of managedFields
// (FieldsV1).
func foreignFields(object runtime.Object) map[string]any {
	type set = map[string]any
	o, meta := accessor(object), set{"f:annotations": set{"f:" + TakeOver: set{}}}
	all := set{"f:metadata": meta}
	// add adds a map with these keys as a field of parent.
	add := func(parent set, field string, keys iter.Seq[string]) {
		fields := set{}
		for key := range keys {
			fields["f:"+key] = set{}
		}
		parent[field] = fields
	}
	add(meta, "f:labels", maps.Keys(o.GetLabels()))
	// With ownerReferences, the object would go with the other manager's resource.
	owners := set{}
	for _, owner := range o.GetOwnerReferences() {
		owners[fmt.Sprintf("k:{\"uid\":%q}", owner.UID)] = set{".": set{}}
	}
	if len(owners) > 0 {
		meta["f:ownerReferences"] = owners
	}
	switch object := object.(type) {
	case *corev1.ConfigMap:
		add(all, "f:data", maps.Keys(object.Data))
	case *corev1.Secret:
		add(all, "f:data", maps.Keys(object.Data))
	case *corev1.Service:
		ports := set{}
		for _, port := range object.Spec.Ports {
			ports[fmt.Sprintf("k:{\"port\":%d,\"protocol\":%q}", port.Port, port.Protocol)] = set{".": set{}}
		}
		all["f:spec"] = set{"f:ports": ports}
	}
	return all
}

// removeDeployment deletes a foreign Deployment and keeps its pods, which answer until this server's pod does. The
// error is a *takingOver until the Deployment is gone.
func (c *children) removeDeployment(ctx context.Context, former *appsv1.Deployment) error {
	waits := &takingOver{fmt.Sprintf("Deployment %q of another manager is being removed; its pods answer until the one of this server does",
		former.Name), nil}
	if former.DeletionTimestamp != nil {
		return waits
	}

	sets, err := c.cluster.AppsV1().ReplicaSets(former.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(former.Spec.Selector)})
	if err != nil {
		return err
	}

	// Label the ReplicaSets first, since nothing else names them when the Deployment is gone.
	for i := range sets.Items {
		if set := &sets.Items[i]; metav1.IsControlledBy(set, former) && set.Labels[labelSuperseded] == "" {
			if err := c.patchMeta(ctx, childKey{replicaSets, set.Namespace, set.Name}, set,
				map[string]any{"labels": map[string]string{labelSuperseded: former.Name}}); err != nil {
				return err
			}
		}
	}

	// A Deployment changed since the list may have another ReplicaSet, so the resourceVersion must match.
	leavePods := metav1.DeletePropagationOrphan
	err = c.cluster.AppsV1().Deployments(former.Namespace).Delete(ctx, former.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &former.UID, ResourceVersion: &former.ResourceVersion}, PropagationPolicy: &leavePods,
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return waits
}

func (c *children) listSuperseded(namespace, instance string) []*appsv1.ReplicaSet {
	all, _ := factoryFor(c.superseded, namespace).Apps().V1().ReplicaSets().Lister().ReplicaSets(namespace).List(
		labels.SelectorFromSet(labels.Set{labelSuperseded: instance}))
	return all
}

// dropSuperseded removes the pods left by a take-over when their server is deleted. While the Service exists they may
// get queries, and stay.
func (c *children) dropSuperseded(ctx context.Context, namespace, instance string) error {
	var wrong []error
	for _, set := range c.listSuperseded(namespace, instance) {
		service, err := c.getLive(ctx, render.Services, namespace, instance)
		if err != nil || service != nil {
			return errors.Join(append(wrong, err)...)
		}
		wrong = append(wrong, c.removeObject(ctx, replicaSets, set))
	}
	return errors.Join(wrong...)
}

// formerPods are the ReplicaSets of another manager's Deployment that this server has replaced. Nodes may still send
// queries to their pods. So a ReplicaSet is marked as idle first, and removed drainTime later.
type formerPods struct {
	idle, remove []*appsv1.ReplicaSet
	// wait is the time until the next call of splitFormer; 0 means none.
	wait time.Duration
}

// splitFormer sorts the ReplicaSets of a take-over: to mark as idle now, to remove now, or to look at again after wait.
func splitFormer(sets []*appsv1.ReplicaSet, now time.Time) (split formerPods) {
	for _, set := range sets {
		if metav1.GetControllerOf(set) != nil {
			split.wait = sooner(split.wait, askAgain) // not orphaned yet by the garbage collector
			continue
		}
		since, err := time.Parse(time.RFC3339, set.Annotations[annotationIdle])
		// No time is noted yet, so the drain begins now.
		if err != nil {
			split.idle, since = append(split.idle, set), now
		}
		if left := since.Add(drainTime).Sub(now); left > 0 {
			split.wait = sooner(split.wait, left)
		} else {
			split.remove = append(split.remove, set)
		}
	}
	return split
}

func (c *children) drainFormer(ctx context.Context, split *formerPods, now time.Time) error {
	var wrong []error
	for _, set := range split.idle {
		wrong = append(wrong, c.patchMeta(ctx, childKey{replicaSets, set.Namespace, set.Name}, set,
			map[string]any{"annotations": map[string]string{annotationIdle: now.UTC().Format(time.RFC3339)}}))
	}
	for _, set := range split.remove {
		wrong = append(wrong, c.removeObject(ctx, replicaSets, set))
	}
	return errors.Join(wrong...)
}
