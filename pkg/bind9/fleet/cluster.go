// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	bind9ac "kubi.zone/kubizone/api/client/applyconfiguration/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// reconcileCluster makes the instances of a cluster, and what they have in common.
func (f *Fleet) reconcileCluster(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	cluster, err := f.clusters.Bind9Clusters(at.Namespace).Get(at.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if cluster.DeletionTimestamp != nil {
		return f.finishCluster(ctx, cluster)
	}
	s := newStanding(cluster.Generation, cluster.Status.Conditions)
	status := *cluster.Status.DeepCopy()
	if !f.children.covers(at.Namespace) {
		if isHeld(cluster) {
			return 0, nil
		}
		s.set(bind9.ConditionReady, false, ReasonNotCovered, notCovered)
		return 0, f.writeCluster(ctx, cluster, status, s)
	}
	if cluster, err = hold(cluster, func(patch []byte) (*bind9.Bind9Cluster, error) {
		return f.Client.Bind9V1alpha1().Bind9Clusters(at.Namespace).Patch(ctx, at.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: FieldManager})
	}); err != nil {
		return 0, err
	}
	keys, heldBy, again, err := f.makeCommon(ctx, cluster)
	err = errors.Join(err, f.makeInstances(ctx, cluster))
	f.judgeCluster(cluster, &status, s)
	status.TSIGKey = rotation(&keys, cluster.Spec.TSIGKey)
	if keys.Other() != nil {
		s.set(bind9.ConditionProgressing, true, ReasonRotating, "two TSIG keys are taken: the next one signs when all servers and the "+
			"primary take it, and the former one goes then")
	}
	s.setHeld(heldBy)
	if err != nil {
		err = f.degrade(s, err)
	}
	return again, errors.Join(err, f.writeCluster(ctx, cluster, status, s))
}

func clusterOwner(cluster *bind9.Bind9Cluster) render.Owner {
	return render.Owner{Kind: render.KindCluster, Name: cluster.Name, UID: cluster.UID}
}

func replicas(role *bind9.RoleSettings) int {
	if role == nil {
		return 0
	}
	return int(role.Replicas)
}

// signers are the settings of the one server that signs, nil where none is asked for.
func signers(cluster *bind9.Bind9Cluster) *bind9.RoleSettings {
	if cluster.Spec.DNSSEC == nil {
		return nil
	}
	return &bind9.RoleSettings{Replicas: 1}
}

// makeCommon makes the TSIG keys and the budgets of the cluster.
func (f *Fleet) makeCommon(ctx context.Context, cluster *bind9.Bind9Cluster) (keys render.TransferKeys, heldBy *v1alpha1.DNSClass,
	again time.Duration, err error) {
	var members []cache.ObjectName
	for _, instance := range f.instancesOf(cluster.Namespace, cluster.Name) {
		if instance.Spec.External == nil && instance.DeletionTimestamp == nil {
			members = append(members, cache.MetaObjectToName(instance))
		}
	}
	if keys, heldBy, again, err = f.chooseTransferKeys(ctx, cluster.Namespace, cluster.Name, cluster.Spec.TSIGKey, members); err != nil {
		return keys, nil, 0, err
	}
	owner := clusterOwner(cluster)
	objects := render.TransferObjects(cluster.Namespace, owner, keys, &f.Platform)
	if replicas(cluster.Spec.Primary) > 0 {
		objects = append(objects, render.Disruption(cluster.Namespace, owner, bind9.RolePrimary, &f.Platform))
	}
	if replicas(cluster.Spec.Secondary) > 0 {
		objects = append(objects, render.Disruption(cluster.Namespace, owner, bind9.RoleSecondary, &f.Platform))
	}
	if err := f.applyAll(ctx, cluster.Namespace, objects, nil); err != nil {
		return keys, heldBy, again, err
	}
	return keys, heldBy, again, f.removeOthers(ctx, cluster.Namespace, owner.Kind+"/"+owner.Name, objects, newStanding(0, nil))
}

// instanceName is that of a server of a cluster, as bindy names them.
func instanceName(cluster string, role bind9.Role, index int) string {
	return cluster + "-" + strings.ToLower(string(role)) + "-" + strconv.Itoa(index)
}

// makeInstances applies the instances of the cluster, and removes those beyond their number, the highest first.
func (f *Fleet) makeInstances(ctx context.Context, cluster *bind9.Bind9Cluster) error {
	var wrong []error
	wanted := map[string]bool{}
	for _, of := range []struct {
		role     bind9.Role
		settings *bind9.RoleSettings
	}{{bind9.RolePrimary, cluster.Spec.Primary}, {bind9.RoleSecondary, cluster.Spec.Secondary}, {bind9.RoleSigner, signers(cluster)}} {
		for index := range replicas(of.settings) {
			name := instanceName(cluster.Name, of.role, index)
			wanted[name] = true
			wrong = append(wrong, f.makeInstance(ctx, cluster, of.role, of.settings, name))
		}
	}
	surplus := slices.DeleteFunc(f.instancesOf(cluster.Namespace, cluster.Name), func(i *bind9.Bind9Instance) bool {
		return wanted[i.Name] || !metav1.IsControlledBy(i, cluster) || i.DeletionTimestamp != nil
	})
	slices.SortFunc(surplus, func(x, y *bind9.Bind9Instance) int { return indexOf(y.Name) - indexOf(x.Name) })
	for _, instance := range surplus {
		wrong = append(wrong, f.deleteInstance(ctx, instance))
	}
	return errors.Join(wrong...)
}

func indexOf(name string) int {
	index, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return 0
	}
	return index
}

func (f *Fleet) deleteInstance(ctx context.Context, instance *bind9.Bind9Instance) error {
	uid := instance.UID
	err := f.Client.Bind9V1alpha1().Bind9Instances(instance.Namespace).Delete(ctx, instance.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// makeInstance applies one instance. Its settings are the cluster's: it says none of its own, so that a change of the
// cluster is one write.
func (f *Fleet) makeInstance(ctx context.Context, cluster *bind9.Bind9Cluster, role bind9.Role, settings *bind9.RoleSettings,
	name string) error {
	labels := maps.Clone(settings.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, map[string]string{bind9.LabelManagedBy: render.KindCluster, bind9.LabelCluster: cluster.Name,
		bind9.LabelRole: strings.ToLower(string(role))})
	have, err := f.instances.Bind9Instances(cluster.Namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil {
		if !metav1.IsControlledBy(have, cluster) && have.Annotations[TakeOver] == "" {
			return &foreign{resource: "bind9instances", name: name}
		}
		same := metav1.IsControlledBy(have, cluster) && have.Spec.Role == role && have.Spec.ClusterRef != nil &&
			have.Spec.ClusterRef.Name == cluster.Name
		for key, value := range labels {
			same = same && have.Labels[key] == value
		}
		if same || have.DeletionTimestamp != nil {
			return nil
		}
	}
	instance := bind9ac.Bind9Instance(name, cluster.Namespace).WithLabels(labels).
		WithOwnerReferences(ownerReference(render.KindCluster, cluster.Name, cluster.UID)).
		WithSpec(bind9ac.Bind9InstanceSpec().WithRole(role).WithClusterRef(bind9ac.ClusterReference().WithName(cluster.Name)))
	_, err = f.Client.Bind9V1alpha1().Bind9Instances(cluster.Namespace).Apply(ctx, instance, metav1.ApplyOptions{FieldManager: FieldManager,
		Force: have != nil})
	if err != nil {
		return fmt.Errorf("applying Bind9Instance %q: %w", name, err)
	}
	return nil
}

// ownerReference is for objects of our own store alone, which is restored as a whole (R4 of package render).
func ownerReference(kind, name string, uid types.UID) *metaac.OwnerReferenceApplyConfiguration {
	return metaac.OwnerReference().WithAPIVersion(bind9.SchemeGroupVersion.String()).WithKind(kind).WithName(name).WithUID(
		uid).WithController(true).WithBlockOwnerDeletion(true)
}

// judgeCluster counts the servers.
func (f *Fleet) judgeCluster(cluster *bind9.Bind9Cluster, status *bind9.Bind9ClusterStatus, s *standing) {
	status.Primaries, status.Secondaries = bind9.ServerCount{Desired: int32(replicas(cluster.Spec.Primary))},
		bind9.ServerCount{Desired: int32(replicas(cluster.Spec.Secondary))}
	signer := bind9.ServerCount{Desired: int32(replicas(signers(cluster)))}
	valid, progressing, degraded := true, false, ""
	for _, instance := range f.instancesOf(cluster.Namespace, cluster.Name) {
		if !metav1.IsControlledBy(instance, cluster) {
			continue
		}
		count := &status.Secondaries
		switch instance.Spec.Role {
		case bind9.RolePrimary:
			count = &status.Primaries
		case bind9.RoleSigner:
			count = &signer
		}
		count.Current++
		if isTrue(instance.Status.Conditions, bind9.ConditionReady) && instance.DeletionTimestamp == nil {
			count.Ready++
		}
		for _, condition := range instance.Status.Conditions {
			switch {
			case condition.Type == bind9.ConditionConfigValid && condition.Status == metav1.ConditionFalse:
				valid = false
				s.set(bind9.ConditionConfigValid, false, condition.Reason, condition.Message)
			case condition.Type == bind9.ConditionProgressing && condition.Status == metav1.ConditionTrue:
				progressing = true
			case condition.Type == bind9.ConditionDegraded && condition.Status == metav1.ConditionTrue:
				degraded = fmt.Sprintf("Bind9Instance %q: %s", instance.Name, condition.Message)
				s.set(bind9.ConditionDegraded, true, condition.Reason, degraded)
			}
		}
		progressing = progressing || instance.DeletionTimestamp != nil
	}
	if valid {
		s.set(bind9.ConditionConfigValid, true, ReasonValid, "")
	}
	desired, current, ready := signer.Desired, signer.Current, signer.Ready
	for _, count := range []bind9.ServerCount{status.Primaries, status.Secondaries} {
		desired, current, ready = desired+count.Desired, current+count.Current, ready+count.Ready
	}
	if progressing || current != desired {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, fmt.Sprintf("%d of %d servers are there", current, desired))
	}
	judgeCount(s, desired, ready)
}

func judgeCount(s *standing, desired, ready int32) {
	switch {
	case desired == 0:
		s.set(bind9.ConditionReady, false, ReasonNone, "no server is asked for")
	case ready >= desired:
		s.set(bind9.ConditionReady, true, ReasonReady, "")
	case ready > 0:
		s.set(bind9.ConditionReady, false, ReasonPartlyReady, fmt.Sprintf("%d of %d servers are ready", ready, desired))
	default:
		s.set(bind9.ConditionReady, false, ReasonNotReady, fmt.Sprintf("none of %d servers is ready", desired))
	}
}

// finishCluster removes the instances, then what they had in common, and lets the object go.
func (f *Fleet) finishCluster(ctx context.Context, cluster *bind9.Bind9Cluster) (time.Duration, error) {
	if !isHeld(cluster) {
		return 0, nil
	}
	if wait := f.waitForOther(cluster, 2*leaveAfter); wait > 0 {
		return wait, nil
	}
	owned := slices.DeleteFunc(f.instancesOf(cluster.Namespace, cluster.Name),
		func(i *bind9.Bind9Instance) bool { return !metav1.IsControlledBy(i, cluster) })
	var wrong []error
	for _, instance := range owned {
		if instance.DeletionTimestamp == nil {
			wrong = append(wrong, f.deleteInstance(ctx, instance))
		}
	}
	late := f.Clock.Since(cluster.DeletionTimestamp.Time) >= 2*leaveAfter
	if len(owned) > 0 && !late {
		return askAgain, errors.Join(wrong...)
	}
	if f.children.covers(cluster.Namespace) {
		left, err := f.children.removeAll(ctx, cluster.Namespace, render.KindCluster+"/"+cluster.Name)
		if (left > 0 || err != nil) && !late {
			return askAgain, err
		}
		if late {
			f.Events.Eventf(cluster, nil, corev1.EventTypeWarning, ReasonLeft, "Delete", "%d servers and %d objects are not removed "+
				"within %s; they are removed later", len(owned), left, 2*leaveAfter)
		}
	}
	_, err := f.Client.Bind9V1alpha1().Bind9Clusters(cluster.Namespace).Patch(ctx, cluster.Name, types.MergePatchType,
		finalizersPatch(cluster.ObjectMeta, without(cluster.Finalizers)), metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}
