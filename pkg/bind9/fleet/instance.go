// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/pkg/dns/name"
)

// reconcileInstance makes the objects of one server, and writes how it is.
func (f *Fleet) reconcileInstance(ctx context.Context, at cache.ObjectName) (time.Duration, error) {
	instance, err := f.instances.Bind9Instances(at.Namespace).Get(at.Name)
	if apierrors.IsNotFound(err) {
		return 0, nil // what it may have left the sweep removes
	}
	if err != nil {
		return 0, err
	}
	s := newStanding(instance.Generation, instance.Status.Conditions)
	status := *instance.Status.DeepCopy()
	switch {
	case instance.DeletionTimestamp != nil:
		return f.finishInstance(ctx, instance)
	case instance.Spec.External != nil:
		status.Addresses, status.AgentURL = []string{instance.Spec.External.Address}, instance.Spec.External.AgentURL
		s.setStatus(bind9.ConditionReady, metav1.ConditionUnknown, ReasonExternal, "the server is not run here; "+
			"the Deliveries of its zones say how far it is")
		return 0, f.writeInstance(ctx, instance, status, s)
	case !f.children.covers(at.Namespace) && isHeld(instance):
		return 0, nil
	case !f.children.covers(at.Namespace):
		s.set(bind9.ConditionReady, false, ReasonNotCovered, notCovered)
		return 0, f.writeInstance(ctx, instance, status, s)
	}
	if instance, err = hold(instance, func(patch []byte) (*bind9.Bind9Instance, error) {
		return f.Client.Bind9V1alpha1().Bind9Instances(at.Namespace).Patch(ctx, at.Name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: FieldManager})
	}); err != nil {
		return 0, err
	}
	var cluster *bind9.Bind9Cluster
	if ref := instance.Spec.ClusterRef; ref != nil {
		if cluster, err = f.clusters.Bind9Clusters(at.Namespace).Get(ref.Name); err != nil {
			if !apierrors.IsNotFound(err) {
				return 0, err
			}
			// A cluster may be missing for a moment, as after a restore: its servers keep what they have.
			s.set(bind9.ConditionReady, false, ReasonClusterNotFound, fmt.Sprintf("there is no Bind9Cluster %q in the namespace; "+
				"make it, or delete this object", ref.Name))
			return 0, f.writeInstance(ctx, instance, status, s)
		}
	}
	again, err := f.makeServer(ctx, instance, cluster, &status, s)
	return again, errors.Join(err, f.writeInstance(ctx, instance, status, s))
}

const notCovered = "kubizone fleet makes nothing in this namespace: a cluster admin adds it to --server-namespace, with the rights there"

// isHeld reports whether a fleet works for an object, or has done so. In a namespace that is not covered that is the
// fleet of another installation, which writes the status and lets the object go.
func isHeld(object metav1.Object) bool { return slices.Contains(object.GetFinalizers(), Finalizer) }

// waitForOther is how long the fleet of another installation has still to finish a deleted object of a namespace that
// is not covered here. After wait there is none, and the object may go.
func (f *Fleet) waitForOther(object metav1.Object, wait time.Duration) time.Duration {
	if f.children.covers(object.GetNamespace()) {
		return 0
	}
	return max(0, wait-f.Clock.Since(object.GetDeletionTimestamp().Time))
}

// hold puts the finalizer on an object that has none yet, and returns the object as it is then: its status is written
// next, and of an object as it was before the API would refuse that.
func hold[T metav1.Object](object T, patch func([]byte) (T, error)) (T, error) {
	if isHeld(object) {
		return object, nil
	}
	return patch(finalizersPatch(metav1.ObjectMeta{ResourceVersion: object.GetResourceVersion(), UID: object.GetUID()},
		append(slices.Clone(object.GetFinalizers()), Finalizer)))
}

// finalizersPatch sets the finalizers of an object as it was read; of one that has changed since it is refused.
func finalizersPatch(object metav1.ObjectMeta, finalizers []string) []byte {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": finalizers,
		"resourceVersion": object.ResourceVersion, "uid": object.UID}})
	if err != nil {
		panic(err) // strings marshal
	}
	return patch
}

func without(finalizers []string) []string {
	return append([]string{}, slices.DeleteFunc(slices.Clone(finalizers), func(one string) bool { return one == Finalizer })...)
}

// finishInstance removes the objects of an instance and then lets the instance go. Objects that cannot be removed are
// left to the sweep after leaveAfter: an instance that can never be deleted would hold up its namespace.
func (f *Fleet) finishInstance(ctx context.Context, instance *bind9.Bind9Instance) (time.Duration, error) {
	if !isHeld(instance) {
		return 0, nil
	}
	if wait := f.waitForOther(instance, leaveAfter); wait > 0 {
		return wait, nil
	}
	owner := render.KindInstance + "/" + instance.Name
	if f.children.covers(instance.Namespace) {
		left, err := f.children.removeAll(ctx, instance.Namespace, owner)
		if left == 0 && err == nil {
			err = f.children.dropSuperseded(ctx, instance.Namespace, instance.Name)
		}
		if left > 0 || err != nil {
			if f.Clock.Since(instance.DeletionTimestamp.Time) < leaveAfter {
				return askAgain, err
			}
			f.Events.Eventf(instance, nil, corev1.EventTypeWarning, ReasonLeft, "Delete", "%d objects are not removed within %s; "+
				"they are removed later: %v", left, leaveAfter, err)
		}
	}
	_, err := f.Client.Bind9V1alpha1().Bind9Instances(instance.Namespace).Patch(ctx, instance.Name, types.MergePatchType,
		finalizersPatch(instance.ObjectMeta, without(instance.Finalizers)), metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}

// makeServer applies the objects of a server and says how they are.
func (f *Fleet) makeServer(ctx context.Context, instance *bind9.Bind9Instance, cluster *bind9.Bind9Cluster,
	status *bind9.Bind9InstanceStatus, s *standing) (time.Duration, error) {
	server := render.Merge(instance, cluster)
	server.Platform = f.Platform
	owner := render.KindInstance + "/" + instance.Name
	var again time.Duration
	var heldBy *v1alpha1.DNSClass
	var err error
	ownKey := cluster == nil || server.Role == bind9.RoleSigner
	if ownKey {
		server.Transfer, heldBy, again, err = f.chooseTransferKeys(ctx, server.Namespace, server.Group(), server.Settings.TSIGKey,
			[]cache.ObjectName{cache.MetaObjectToName(instance)})
	} else {
		server.Transfer, err = f.readTransferKeys(ctx, server.Namespace, server.Group())
	}
	if err == nil && cluster != nil && ownKey {
		var peers render.TransferKeys
		if peers, err = f.readTransferKeys(ctx, server.Namespace, cluster.Name); err == nil {
			server.Peers = &peers
			server.Hidden, err = f.Primaries(ctx)
		}
	}
	if err == nil {
		server.Access, err = f.ensureAccess(ctx, &server)
	}
	if err == nil {
		if server.Catalogs, err = f.listCatalogs(ctx, &server); err == nil {
			server.Unkeyed, err = f.listUnkeyed(&server)
		}
		if err == nil {
			server.Control, err = f.ensureControlKey(ctx, &server)
		}
	}
	switch {
	case errors.Is(err, errNoTransferKey):
		s.set(bind9.ConditionProgressing, true, ReasonKeyNotReady, err.Error())
		s.set(bind9.ConditionReady, false, ReasonKeyNotReady, err.Error())
		return askAgain, nil
	case err != nil:
		return 0, f.degrade(s, err)
	}
	objects, err := server.Objects()
	if err != nil {
		s.set(bind9.ConditionConfigValid, false, ReasonInvalid, err.Error()+"; what runs keeps its configuration (F4)")
		f.judgeServer(&server, status, s)
		return again, nil
	}
	s.set(bind9.ConditionConfigValid, true, ReasonValid, "")
	if ownKey {
		owner := render.Owner{Kind: render.KindInstance, Name: server.Name, UID: server.UID}
		objects = append(render.TransferObjects(server.Namespace, owner, server.Transfer, &server.Platform), objects...)
	}
	var waits *takingOver
	now := objects
	turn := f.waitForTurn(&server)
	if turn != "" {
		now = slices.DeleteFunc(slices.Clone(objects), func(o render.Object) bool { return o.Resource == server.Workload() })
		again = sooner(again, askAgain)
	}
	if err := f.applyAll(ctx, server.Namespace, now, func() error { return f.checkServing(ctx, &server) }); err != nil &&
		!errors.As(err, &waits) {
		f.judgeServer(&server, status, s)
		return again, f.degrade(s, err)
	}
	f.judgeServer(&server, status, s)
	f.noteTransferKeys(ctx, &server)
	if turn != "" {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, turn)
	}
	if server.Transfer.Other() != nil || server.Peers != nil && server.Peers.Other() != nil {
		again = sooner(again, askAgain)
		s.set(bind9.ConditionProgressing, true, ReasonRotating, "two TSIG keys are taken until every server and the primary take "+
			"the new one")
	}
	s.setHeld(heldBy)
	status.TSIGKey = nil
	if cluster == nil {
		status.TSIGKey = rotation(&server.Transfer, server.Settings.TSIGKey)
	}
	if mounted, err := server.Mounted(); err == nil {
		status.ConfigHash = render.Hash(mounted)
	}
	if waits != nil {
		if waits.service != nil {
			status.Addresses = serviceAddresses(waits.service)
		}
		s.set(bind9.ConditionProgressing, true, ReasonTakingOver, waits.Error())
		return askAgain, nil
	}
	if drained, err := f.removeSuperseded(ctx, &server); err != nil || drained > 0 {
		s.set(bind9.ConditionProgressing, true, ReasonTakingOver, "the Service selects the pod of this server; "+
			"the pods of the other manager answer until every node knows")
		return cmp.Or(drained, again), err
	}
	return again, f.removeOthers(ctx, server.Namespace, owner, objects, s)
}

// sooner is the shorter of two times after which an object is looked at again, 0 for never.
func sooner(x, y time.Duration) time.Duration {
	if x == 0 || y > 0 && y < x {
		return y
	}
	return x
}

// degrade says that something could not be applied. An object of another manager is a state, not a failure: it is
// looked at again after askAgain.
func (f *Fleet) degrade(s *standing, err error) error {
	var other *foreign
	if errors.As(err, &other) {
		s.set(bind9.ConditionDegraded, true, ReasonForeign, other.Error())
	} else {
		s.set(bind9.ConditionDegraded, true, ReasonApplyFailed, err.Error())
	}
	return err
}

// applyAll applies objects until one fails: pods come last, and never without what they mount. A Service that waits for
// them to be taken over keeps none of them from being made.
func (f *Fleet) applyAll(ctx context.Context, namespace string, objects []render.Object, serving func() error) error {
	var first error
	for _, o := range objects {
		err := f.children.applyObject(ctx, namespace, o, serving)
		if waits := (*takingOver)(nil); err != nil && !errors.As(err, &waits) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// removeOthers removes what was made for the owner and is not wanted any more: the Deployment of a server that has a
// claim by now goes when the StatefulSet in its place is available.
func (f *Fleet) removeOthers(ctx context.Context, namespace, owner string, wanted []render.Object, s *standing) error {
	var wrong []error
	for _, resource := range made {
		for _, object := range f.children.of(resource, namespace, owner) {
			o := accessor(object)
			if slices.ContainsFunc(wanted, func(w render.Object) bool { return w.Resource == resource && w.Name == o.GetName() }) {
				continue
			}
			if workload := resource == render.Deployments || resource == render.StatefulSets; workload &&
				!isTrue(s.conditions, bind9.ConditionReady) {
				continue
			}
			wrong = append(wrong, f.children.removeObject(ctx, resource, o))
		}
	}
	return errors.Join(wrong...)
}

func isTrue(conditions []metav1.Condition, of string) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == of && c.Status == metav1.ConditionTrue })
}

// haveKeys reports whether every pod runs with the current key of the server's control channel. An agent of kind
// Bindcar says nothing of that; its pods are replaced by each key.
func (f *Fleet) haveKeys(ctx context.Context, server *render.Server) bool {
	if server.Agent() == bind9.AgentBindcar {
		_, finished := f.judgeWorkload(server)
		return finished
	}
	return f.haveConfig(ctx, server)
}

// judgeWorkload says whether the pod of a server is there and ready, and whether the last change of it has come about.
func (f *Fleet) judgeWorkload(server *render.Server) (ready, finished bool) {
	available := func(generation, observed int64, updated, all, available int32) (bool, bool) {
		finished := observed >= generation && updated == server.Replicas && all == server.Replicas && available == server.Replicas
		return available >= server.Replicas && server.Replicas > 0, finished
	}
	switch object := f.children.cached(server.Workload(), server.Namespace, server.Name).(type) {
	case *appsv1.Deployment:
		return available(object.Generation, object.Status.ObservedGeneration, object.Status.UpdatedReplicas, object.Status.Replicas,
			object.Status.AvailableReplicas)
	case *appsv1.StatefulSet:
		return available(object.Generation, object.Status.ObservedGeneration, object.Status.UpdatedReplicas, object.Status.Replicas,
			object.Status.AvailableReplicas)
	}
	return false, false
}

// judgeServer writes conditions and addresses.
func (f *Fleet) judgeServer(server *render.Server, status *bind9.Bind9InstanceStatus, s *standing) {
	ready, finished := f.judgeWorkload(server)
	switch {
	case server.Replicas == 0:
		s.set(bind9.ConditionReady, false, ReasonStopped, "spec.replicas is 0")
	case ready:
		s.set(bind9.ConditionReady, true, ReasonReady, "")
	default:
		s.set(bind9.ConditionReady, false, ReasonNotReady, "the pod is not ready")
	}
	if !finished {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, "")
	}
	if server.Replicas > 0 && !ready && (s.wasTrue(bind9.ConditionReady) || wasUnavailable(s.before)) {
		s.set(bind9.ConditionDegraded, true, ReasonUnavailable, "the server was ready and is not")
	}
	status.Addresses = nil
	if service, ok := f.children.cached(render.Services, server.Namespace, server.Name).(*corev1.Service); ok {
		status.Addresses = serviceAddresses(service)
	}
	status.AgentURL = "https://" + render.AgentHost(server.Namespace, server.Name)
}

func wasUnavailable(before []metav1.Condition) bool {
	return slices.ContainsFunc(before, func(c metav1.Condition) bool {
		return c.Type == bind9.ConditionDegraded && c.Status == metav1.ConditionTrue && c.Reason == ReasonUnavailable
	})
}

func podReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// serviceAddresses are where a Service is asked: its own addresses, and those of its balancer.
func serviceAddresses(service *corev1.Service) []string {
	var all []string
	for _, ip := range service.Spec.ClusterIPs {
		if net.ParseIP(ip) != nil {
			all = append(all, net.JoinHostPort(ip, "53"))
		}
	}
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		if ingress.IP != "" {
			all = append(all, net.JoinHostPort(ingress.IP, "53"))
		}
	}
	return all
}

// listCatalogs are those that the server follows: of each DNSClass with a catalog that names the TSIG key of the
// server's group, or that has the server by its block bind9, and of its cluster, once that is the class of a zone.
func (f *Fleet) listCatalogs(ctx context.Context, server *render.Server) ([]render.Catalog, error) {
	classes, err := f.classes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	if cluster, err := f.clusters.Bind9Clusters(server.Namespace).Get(server.Cluster); err == nil && apiclass.InUse(cluster) {
		classes = append(classes, apiclass.OfCluster(cluster))
	}
	want := v1alpha1.SecretReference{Namespace: server.Namespace, Name: render.TransferSecretName(server.Group())}
	var zones []name.Name
	signers := map[name.Name]netip.AddrPort{}
	if server.Role == bind9.RoleSigner {
		return nil, nil // its agent makes the zones that it signs
	}
	for _, class := range classes {
		if class.DeletionTimestamp != nil {
			continue
		}
		if class.Spec.Bind9 != nil {
			has, err := f.classHas(class, cache.ObjectName{Namespace: server.Namespace, Name: server.Name})
			if err != nil {
				return nil, err
			}
			if zone, err := name.Parse(class.Spec.Bind9.CatalogZone); err == nil && has {
				if !slices.Contains(zones, zone) {
					zones = append(zones, zone)
				}
				if at := f.findSigner(class, server); at.IsValid() {
					signers[zone] = at
				}
			}
			continue
		}
		block := class.Spec.Transfer
		if block == nil || block.CatalogZone == "" {
			continue
		}
		named := slices.ContainsFunc(block.Secondaries, func(secondary v1alpha1.Secondary) bool {
			ref := secondary.TSIGSecretRef
			if ref == nil {
				ref = block.TSIGSecretRef
			}
			return ref != nil && *ref == want && secondary.Catalog != v1alpha1.CatalogIgnore
		})
		if zone, err := name.Parse(block.CatalogZone); err == nil && named && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	if len(zones) == 0 {
		return nil, nil
	}
	primaries, err := f.Primaries(ctx)
	if err != nil || len(primaries) == 0 {
		return nil, err
	}
	slices.SortFunc(zones, name.Name.Compare)
	var catalogs []render.Catalog
	for _, zone := range zones {
		catalogs = append(catalogs, render.Catalog{Zone: zone, Primaries: primaries, Signer: signers[zone]})
	}
	return catalogs, nil
}

// listUnkeyed are the primaries that a bindcar makes zones with, sorted: it cannot name a key for them (S11.15). A key
// of another group the server does not have.
func (f *Fleet) listUnkeyed(server *render.Server) ([]netip.Addr, error) {
	if server.Agent() != bind9.AgentBindcar || server.Role == bind9.RoleSigner {
		return nil, nil
	}
	classes, err := f.classes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	instances, err := f.instances.Bind9Instances(server.Namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	key := v1alpha1.SecretReference{Namespace: server.Namespace, Name: render.TransferSecretName(server.Group())}
	var all []netip.Addr
	for _, of := range classes {
		if of.DeletionTimestamp != nil || of.Spec.Bind9 == nil || apiclass.ModeOf(of.Spec.Bind9) == v1alpha1.Bind9ModeCatalog {
			continue
		}
		servers := apiclass.ServersOf(of, instances, f.findCluster)
		if !slices.ContainsFunc(servers, func(one apiclass.Server) bool { return one.Name == server.Name }) {
			continue
		}
		addresses := of.Spec.Bind9.Primaries // in the mode Transfer
		for _, one := range servers {
			if one.Primary && one.Key != nil && *one.Key == key && server.Role == bind9.RoleSecondary &&
				apiclass.ModeOf(of.Spec.Bind9) == v1alpha1.Bind9ModeUpdate {
				addresses = append(slices.Clone(addresses), one.Address)
			}
		}
		for _, text := range addresses {
			if at, ok := readAddress(text); ok {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all), nil
}

// readAddress is the IP address of a server, with or without a port; false: it has none before its Service has.
func readAddress(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), true
	}
	at, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	return at, err == nil && at.Zone() == ""
}

// findSigner is where a server transfers the signed zones of a class from: the signer of its own cluster, if the class
// names that cluster.
func (f *Fleet) findSigner(of *v1alpha1.DNSClass, server *render.Server) netip.AddrPort {
	ref := of.Spec.Bind9.ClusterRef
	if ref == nil || ref.Namespace != server.Namespace || ref.Name != server.Cluster {
		return netip.AddrPort{}
	}
	for _, instance := range f.instancesOf(server.Namespace, server.Cluster) {
		if of, runs := apiclass.ServerOf(instance); runs && of.Signer {
			at, _ := netip.ParseAddrPort(of.Address) // none before its Service has one
			return at
		}
	}
	return netip.AddrPort{}
}

// classHas reports whether a class with a block bind9 has the server (S11.13).
func (f *Fleet) classHas(of *v1alpha1.DNSClass, server cache.ObjectName) (bool, error) {
	instance, err := f.instances.Bind9Instances(server.Namespace).Get(server.Name)
	if err != nil {
		return false, err
	}
	return len(apiclass.ServersOf(of, []*bind9.Bind9Instance{instance}, f.findCluster)) == 1, nil
}

// findCluster is a Bind9Cluster, nil if there is none.
func (f *Fleet) findCluster(namespace, name string) *bind9.Bind9Cluster {
	cluster, err := f.clusters.Bind9Clusters(namespace).Get(name)
	if err != nil {
		return nil
	}
	return cluster
}
