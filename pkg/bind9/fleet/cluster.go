// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	bind9ac "kubi.zone/kubizone/api/client/applyconfiguration/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

// reconcileCluster makes the TSIG key, the disruption budgets and the Bind9Instances of a cluster, and writes the
// status. The result is the time until the next step of a key rotation.
func (f *Fleet) reconcileCluster(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	cluster, err := f.clusters.Bind9Clusters(at.Namespace).Get(at.Name)
	if err != nil {
		return 0, ignoreNotFound(err)
	}
	w := &clusterFacts{cluster: cluster, covered: f.children.covers(at.Namespace)}
	switch {
	case cluster.DeletionTimestamp != nil:
		return f.finishCluster(ctx, cluster)
	// Another installation runs this namespace.
	case !w.covered && hasFinalizer(cluster):
		return 0, nil
	case w.covered:
		if w.cluster, err = addFinalizer(ctx, cluster, f.Client.Bind9V1alpha1().Bind9Clusters(at.Namespace).Patch); err != nil {
			return 0, err
		}
		w.keys, w.err = f.makeCommon(ctx, w.cluster)
		w.err = errors.Join(w.err, f.makeInstances(ctx, w.cluster))
		w.instances = f.listOwned(w.cluster)
	}
	return w.keys.requeueAfter, errors.Join(w.err, f.writeCluster(ctx, w))
}

func (f *Fleet) listOwned(cluster *bind9.Bind9Cluster) []*bind9.Bind9Instance {
	owned := slices.DeleteFunc(f.instancesOf(cluster.Namespace, cluster.Name),
		func(i *bind9.Bind9Instance) bool { return !metav1.IsControlledBy(i, cluster) })
	slices.SortFunc(owned, func(x, y *bind9.Bind9Instance) int { return strings.Compare(x.Name, y.Name) })
	return owned
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

func signers(cluster *bind9.Bind9Cluster) *bind9.RoleSettings {
	if cluster.Spec.DNSSEC == nil {
		return nil
	}
	return &bind9.RoleSettings{Replicas: 1}
}

// makeCommon applies the common objects of a cluster's servers, the TSIG Secret and the disruption budgets, and returns
// the present keys.
func (f *Fleet) makeCommon(ctx context.Context, cluster *bind9.Bind9Cluster) (chosenKeys, error) {
	// A rotation waits for these servers. External servers get their keys by hand.
	members := slices.DeleteFunc(f.instancesOf(cluster.Namespace, cluster.Name), func(one *bind9.Bind9Instance) bool {
		return one.Spec.External != nil || one.DeletionTimestamp != nil
	})
	secret, err := f.children.readSecret(ctx, cluster.Namespace, render.TransferSecretName(cluster.Name))
	if err != nil {
		return chosenKeys{}, err
	}
	keys, err := f.chooseKeys(secret, cluster.Namespace, cluster.Name, cluster.Spec.TSIGKey, members)
	if err != nil {
		return chosenKeys{}, err
	}
	owner := clusterOwner(cluster)
	objects := render.TransferObjects(cluster.Namespace, owner, keys.TransferKeys, &f.Platform)
	if replicas(cluster.Spec.Primary) > 0 {
		objects = append(objects, render.Disruption(cluster.Namespace, owner, bind9.RolePrimary, &f.Platform))
	}
	if replicas(cluster.Spec.Secondary) > 0 {
		objects = append(objects, render.Disruption(cluster.Namespace, owner, bind9.RoleSecondary, &f.Platform))
	}
	if err := f.children.applyAll(ctx, cluster.Namespace, objects, nil); err != nil {
		return keys, err
	}
	made := f.children.listChildren(cluster.Namespace, owner.Kind+"/"+owner.Name)
	return keys, f.children.removeChildren(ctx, listSurplus(made, objects, false))
}

func instanceName(cluster string, role bind9.Role, index int) string {
	return cluster + "-" + strings.ToLower(string(role)) + "-" + strconv.Itoa(index)
}

// makeInstances makes the Bind9Instances of each role, and deletes those beyond the number of replicas, the highest
// index first. An error for a server does not keep the others.
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
	surplus := slices.DeleteFunc(f.listOwned(cluster), func(i *bind9.Bind9Instance) bool { return wanted[i.Name] })
	slices.SortFunc(surplus, func(x, y *bind9.Bind9Instance) int { return indexOf(y.Name) - indexOf(x.Name) })
	return errors.Join(append(wrong, deleteEach(ctx, surplus, f.Client.Bind9V1alpha1().Bind9Instances))...)
}

func indexOf(name string) int {
	index, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil {
		return 0
	}
	return index
}

// Instances do not repeat the cluster's settings, so that a change is a single write.
func (f *Fleet) makeInstance(ctx context.Context, cluster *bind9.Bind9Cluster, role bind9.Role, settings *bind9.RoleSettings,
	name string) error {
	wanted := labels.Merge(settings.Labels, labels.Set{bind9.LabelManagedBy: render.KindCluster, bind9.LabelCluster: cluster.Name,
		bind9.LabelRole: strings.ToLower(string(role))})

	have, err := f.instances.Bind9Instances(cluster.Namespace).Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}

	if err == nil {
		if !metav1.IsControlledBy(have, cluster) && have.Annotations[TakeOver] == "" {
			return &foreign{resource: "bind9instances", name: name}
		}
		// Other fields of the instance belong to users: spec.replicas: 0 stops a single server.
		same := metav1.IsControlledBy(have, cluster) && have.Spec.Role == role &&
			ptr.Equal(have.Spec.ClusterRef, &bind9.ClusterReference{Name: cluster.Name}) &&
			wanted.AsSelectorPreValidated().Matches(labels.Set(have.Labels))
		if same || have.DeletionTimestamp != nil {
			return nil
		}
	}

	instance := bind9ac.Bind9Instance(name, cluster.Namespace).WithLabels(wanted).
		WithOwnerReferences(ownerReference(render.KindCluster, cluster.Name, cluster.UID)).
		WithSpec(bind9ac.Bind9InstanceSpec().WithRole(role).WithClusterRef(bind9ac.ClusterReference().WithName(cluster.Name)))
	_, err = f.Client.Bind9V1alpha1().Bind9Instances(cluster.Namespace).Apply(ctx, instance, metav1.ApplyOptions{FieldManager: FieldManager,
		Force: have != nil})
	if err != nil {
		return fmt.Errorf("applying Bind9Instance %q: %w", name, err)
	}
	return nil
}

// ownerReference serves only owners in our own store, which is restored as a whole (R4 of package render).
func ownerReference(kind, name string, uid types.UID) *metaac.OwnerReferenceApplyConfiguration {
	return metaac.OwnerReference().WithAPIVersion(bind9.SchemeGroupVersion.String()).WithKind(kind).WithName(name).WithUID(
		uid).WithController(true).WithBlockOwnerDeletion(true)
}

type clusterFacts struct {
	cluster   *bind9.Bind9Cluster
	covered   bool
	keys      chosenKeys
	instances []*bind9.Bind9Instance
	err       error
}

// countServers counts the servers of each role. stable counts those without a rollout in progress.
func (w *clusterFacts) countServers() (counts map[bind9.Role]*bind9.ServerCount, stable map[*bind9.ServerCount]int32) {
	spec := &w.cluster.Spec
	counts = map[bind9.Role]*bind9.ServerCount{
		bind9.RolePrimary:   {Desired: int32(replicas(spec.Primary))},
		bind9.RoleSecondary: {Desired: int32(replicas(spec.Secondary))},
		bind9.RoleSigner:    {Desired: int32(replicas(signers(w.cluster)))},
	}
	stable = map[*bind9.ServerCount]int32{}
	for _, instance := range w.instances {
		count, of := cmp.Or(counts[instance.Spec.Role], counts[bind9.RoleSecondary]), instance.Status.Conditions
		// A leaving server still runs, and counts for nothing else.
		if count.Current++; instance.DeletionTimestamp != nil {
			continue
		}
		if meta.IsStatusConditionTrue(of, bind9.ConditionReady) {
			count.Ready++
		}
		if !meta.IsStatusConditionTrue(of, bind9.ConditionProgressing) {
			stable[count]++
		}
	}
	return counts, stable
}

// judgeCluster returns conditions and status of a cluster. It reads only w, so a test can pose any case.
func judgeCluster(w *clusterFacts) (*conditionSet, bind9.Bind9ClusterStatus) {
	s, status := newConditionSet(w.cluster.Generation, w.cluster.Status.Conditions), *w.cluster.Status.DeepCopy()
	if !w.covered {
		s.set(bind9.ConditionReady, false, ReasonNotCovered, notCovered)
		return s, status
	}

	counts, stable := w.countServers()
	status.Primaries, status.Secondaries = *counts[bind9.RolePrimary], *counts[bind9.RoleSecondary]
	status.TSIGKey = rotation(&w.keys.TransferKeys, w.cluster.Spec.TSIGKey)
	desired := sumCounts(status.Primaries, status.Secondaries, *counts[bind9.RoleSigner]).Desired

	// 1. Ready: per role, so that a surplus primary does not make up for a missing secondary.
	var ready, rolledOut, surplus int32
	for _, one := range counts {
		ready += min(one.Ready, one.Desired)
		rolledOut += min(stable[one], one.Desired)
		surplus += max(0, one.Current-one.Desired)
	}
	judgeCount(s, desired, ready)

	// 2. A fault of any instance is the cluster's.
	s.set(bind9.ConditionConfigValid, true, ReasonValid, "")
	for _, instance := range w.instances {
		for _, of := range instance.Status.Conditions {
			switch {
			case of.Type == bind9.ConditionConfigValid && of.Status == metav1.ConditionFalse:
				s.set(bind9.ConditionConfigValid, false, of.Reason, of.Message)
			case of.Type == bind9.ConditionDegraded && of.Status == metav1.ConditionTrue:
				s.set(bind9.ConditionDegraded, true, of.Reason, fmt.Sprintf("Bind9Instance %q: %s", instance.Name, of.Message))
			}
		}
	}

	if w.err != nil {
		s.degrade(w.err)
	}

	// 3. Progressing: the message about a rotation precedes a rollout's.
	switch {
	case w.keys.SecondKey() != nil:
		s.set(bind9.ConditionProgressing, true, ReasonRotating, "two TSIG keys are accepted: when all servers and the primary accept "+
			"the next key, it signs and the former is removed")
	case surplus > 0 || rolledOut != desired:
		text := fmt.Sprintf("%d of %d servers are rolled out", rolledOut, desired)
		if surplus > 0 {
			text += fmt.Sprintf(", %d leaving", surplus)
		}
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, text)
	default:
		s.setHeld(w.keys.heldBy)
	}
	return s, status
}

func (f *Fleet) writeCluster(ctx context.Context, w *clusterFacts) error {
	s, status := judgeCluster(w)
	next := w.cluster.DeepCopy()
	next.Status = status
	next.Status.Conditions, next.Status.ObservedGeneration = s.conditions, next.Generation
	return writeStatus(ctx, f, s, w.cluster, next, f.Client.Bind9V1alpha1().Bind9Clusters(next.Namespace).UpdateStatus)
}

// finishCluster deletes the instances of a deleted cluster, and then the objects. The timeout is twice an instance's,
// which has to finish first.
func (f *Fleet) finishCluster(ctx context.Context, cluster *bind9.Bind9Cluster) (time.Duration, error) {
	owned := f.listOwned(cluster)
	return finishObject(ctx, f, finisher[*bind9.Bind9Cluster]{object: cluster, covered: f.children.covers(cluster.Namespace),
		timeout: 2 * deletionLimit, childCount: len(owned),
		patch:          f.Client.Bind9V1alpha1().Bind9Clusters(cluster.Namespace).Patch,
		deleteChildren: func() error { return deleteEach(ctx, owned, f.Client.Bind9V1alpha1().Bind9Instances) },
		removeObjects: func() (int, error) {
			return f.children.removeAll(ctx, cluster.Namespace, render.KindCluster+"/"+cluster.Name)
		}})
}
