// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

type action int

const (
	// In the order of a reconcile. decideNext compares them with lastAction.
	actionNone action = iota
	actionAddFinalizer
	actionRead
	actionReserve
	actionApply
	actionDrain // another manager's pods
	actionRemove
	actionWait   // write the status and wait for the next event
	actionIgnore // another installation's object
)

const notCovered = "kubizone fleet runs no servers in this namespace: a cluster admin adds it to --server-namespace, with the rights there"

type facts struct {
	now      time.Time
	instance *bind9.Bind9Instance
	// cluster is nil if missing, or if the instance names none.
	cluster *bind9.Bind9Cluster
	covered bool

	lastAction action
	err        error

	// The desired state, set by actionRead. invalid is the reason why objects cannot be rendered, blocked the reason
	// why the pod may not be replaced yet.
	server  *render.Server
	keys    chosenKeys
	objects []render.Object
	hash    string
	invalid error
	blocked string

	// The observed state. finished is true after a complete rollout. formerSets are the ReplicaSets left by a
	// take-over.
	workload        metav1.Object
	ready, finished bool
	service         *corev1.Service
	pods            []*corev1.Pod
	children        []childObject
	formerSets      []*appsv1.ReplicaSet
	agentErr        error
}

type decision struct {
	action       action
	apply        []render.Object
	drain        formerPods
	remove       []childObject
	requeueAfter time.Duration
	err          error
}

func (f *facts) lacksCluster() bool { return f.instance.Spec.ClusterRef != nil && f.cluster == nil }

func (f *facts) ownsKeys() bool { return f.cluster == nil || f.instance.Spec.Role == bind9.RoleSigner }

func (f *facts) goesFirst() bool {
	return f.server.Cluster != "" && f.server.GoesFirst() && f.workload != nil
}

func (f *facts) hasSameTemplate() bool {
	return f.workload != nil && f.workload.GetAnnotations()[render.AnnotationTemplate] == f.server.TemplateHash()
}

func (f *facts) isRotating() bool {
	return f.server.Transfer.SecondKey() != nil || f.server.Peers != nil && f.server.Peers.SecondKey() != nil
}

func (f *facts) takeOverError() *takingOver {
	var waits *takingOver
	errors.As(f.err, &waits)
	return waits
}

func (f *facts) hasFailed(step action) bool {
	return f.lastAction == step && f.err != nil && f.takeOverError() == nil
}

func (f *facts) isApplied() bool { return f.lastAction >= actionApply && !f.hasFailed(actionApply) }

// decideNext returns the next step of an instance's reconcile. Steps come in the order of action, each at most once,
// and end with actionWait or actionIgnore. It reads only facts.
func decideNext(f *facts) decision {
	switch {
	case f.instance.Spec.External != nil:
		return decision{action: actionWait}
	// The finalizer is another installation's, which writes the status.
	case !f.covered && hasFinalizer(f.instance):
		return decision{action: actionIgnore}
	// Without the cluster's settings, an apply would take version and storage away from a running server.
	case !f.covered, f.lacksCluster():
		return decision{action: actionWait}
	}

	switch f.lastAction {
	case actionNone:
		if !hasFinalizer(f.instance) {
			return decision{action: actionAddFinalizer}
		}
		return decision{action: actionRead}
	case actionAddFinalizer:
		return decision{action: actionRead}
	case actionRead:
		return f.decideApply()
	case actionReserve:
		return decision{action: actionApply, apply: f.listDue()}
	}
	return f.decideRemoval()
}

// decideApply returns the step after actionRead: the apply, unless the desired state is unknown, or invalid.
func (f *facts) decideApply() decision {
	switch {
	case errors.Is(f.err, errNoTransferKey):
		return decision{action: actionWait, requeueAfter: askAgain}
	case f.err != nil:
		return decision{action: actionWait, err: f.err}
	// The servers keep their last configuration (F4).
	case f.invalid != nil:
		return decision{action: actionWait, requeueAfter: f.keys.requeueAfter}
	// A pod that stops before its replacement starts needs the turn of the cluster.
	case f.goesFirst():
		return decision{action: actionReserve}
	}
	return decision{action: actionApply, apply: f.listDue()}
}

func (f *facts) listDue() []render.Object {
	if f.blocked == "" {
		return f.objects
	}
	return slices.DeleteFunc(slices.Clone(f.objects), func(o render.Object) bool { return o.Resource == f.server.Workload() })
}

// nextCheck is the time until keys or the turn of the cluster may have changed; 0 means at the next event.
func (f *facts) nextCheck() time.Duration {
	if f.blocked != "" || f.isRotating() {
		return sooner(f.keys.requeueAfter, askAgain)
	}
	return f.keys.requeueAfter
}

// decideRemoval returns the steps after the apply: drain the pods of a take-over, remove surplus objects, and wait.
// Most servers have neither, and the steps do nothing.
func (f *facts) decideRemoval() decision {
	drain := splitFormer(f.formerSets, f.now)
	switch {
	// The former server answers still, so nothing is removed.
	case f.takeOverError() != nil:
		return decision{action: actionWait, requeueAfter: askAgain}
	case f.err != nil:
		return decision{action: actionWait, err: f.err}
	case f.lastAction < actionDrain:
		return decision{action: actionDrain, drain: drain}
	case drain.wait > 0:
		return decision{action: actionWait, requeueAfter: drain.wait}
	case f.lastAction < actionRemove:
		return decision{action: actionRemove, remove: listSurplus(f.children, f.objects, f.ready)}
	}
	return decision{action: actionWait, requeueAfter: f.nextCheck()}
}

// judgeInstance returns conditions and status of an instance. It reads only facts.
func judgeInstance(f *facts) (*conditionSet, bind9.Bind9InstanceStatus) {
	s, status := newConditionSet(f.instance.Generation, f.instance.Status.Conditions), *f.instance.Status.DeepCopy()
	switch external := f.instance.Spec.External; {
	case external != nil:
		status.Addresses, status.AgentURL = []string{external.Address}, external.AgentURL
		s.setStatus(bind9.ConditionReady, metav1.ConditionUnknown, ReasonExternal,
			"the server is not run here; the Deliveries of its zones say how far it is")
	case !f.covered:
		s.set(bind9.ConditionReady, false, ReasonNotCovered, notCovered)
	case f.lacksCluster():
		// A cluster may be missing for a moment, for example after a restore, so servers keep their objects.
		s.set(bind9.ConditionReady, false, ReasonClusterNotFound, fmt.Sprintf("there is no Bind9Cluster %q in the namespace; "+
			"make it, or delete this object", f.instance.Spec.ClusterRef.Name))
	case errors.Is(f.err, errNoTransferKey):
		s.set(bind9.ConditionProgressing, true, ReasonKeyNotReady, f.err.Error())
		s.set(bind9.ConditionReady, false, ReasonKeyNotReady, f.err.Error())
	case f.hasFailed(actionRead):
		s.degrade(f.err)
	default:
		f.judgeServer(s, &status)
	}
	return s, status
}

// judgeServer sets the conditions and the addresses of a server that this fleet runs. An address gets the server zones,
// so the address of a Service counts before its take-over ends.
func (f *facts) judgeServer(s *conditionSet, status *bind9.Bind9InstanceStatus) {
	if f.invalid == nil {
		s.set(bind9.ConditionConfigValid, true, ReasonValid, "")
	} else {
		s.set(bind9.ConditionConfigValid, false, ReasonInvalid, f.invalid.Error()+"; the running servers keep their configuration (F4)")
	}
	switch {
	case f.server.Replicas == 0:
		s.set(bind9.ConditionReady, false, ReasonStopped, "spec.replicas is 0")
	case f.ready:
		s.set(bind9.ConditionReady, true, ReasonReady, "")
	default:
		s.set(bind9.ConditionReady, false, ReasonNotReady, "the pod is not ready")
	}
	// A new server is not Degraded before its first Ready.
	switch wasThere := meta.IsStatusConditionTrue(s.before, bind9.ConditionReady) || wasUnavailable(s.before); {
	case f.hasFailed(actionApply):
		s.degrade(f.err)
	case f.server.Replicas > 0 && !f.ready && wasThere:
		s.set(bind9.ConditionDegraded, true, ReasonUnavailable, "the server is no longer ready")
	case f.ready && f.agentErr != nil:
		s.set(bind9.ConditionDegraded, true, ReasonAgentSilent, fmt.Sprintf("BIND serves its present zones, but its agent, which "+
			"changes them, does not answer: %v; see kubectl logs -n %s -l %s=%s -c %s", f.agentErr,
			f.server.Namespace, bind9.LabelInstance, f.server.Name, render.AgentContainer))
	}
	f.judgeProgress(s)
	status.AgentURL = "https://" + render.AgentHost(f.server.Namespace, f.server.Name)
	status.Addresses = serviceAddresses(f.service)
	if waits := f.takeOverError(); waits != nil && waits.service != nil {
		status.Addresses = serviceAddresses(waits.service)
	}
	// Before the apply, the status would name a configuration that no pod has.
	if f.isApplied() {
		status.ConfigHash, status.TSIGKey = f.hash, nil
		if f.cluster == nil {
			status.TSIGKey = rotation(&f.keys.TransferKeys, f.server.Settings.TSIGKey)
		}
	}
}

// judgeProgress sets Progressing to the most urgent of the reasons why the server is not as specified yet.
func (f *facts) judgeProgress(s *conditionSet) {
	if waits := f.takeOverError(); waits != nil {
		s.set(bind9.ConditionProgressing, true, ReasonTakingOver, waits.Error())
		return
	}
	if !f.finished {
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, "")
	}
	if !f.isApplied() {
		return
	}

	// After an apply, a reason with a text precedes.
	switch drains := f.hasFailed(actionDrain) || splitFormer(f.formerSets, f.now).wait > 0; {
	case drains:
		s.set(bind9.ConditionProgressing, true, ReasonTakingOver, "the Service selects the pod of this server; pods of the other "+
			"manager answer until every node has the change")
	case f.isRotating():
		s.set(bind9.ConditionProgressing, true, ReasonRotating, "two TSIG keys are accepted until every server and the primary accept "+
			"the new one")
	case f.blocked != "":
		s.set(bind9.ConditionProgressing, true, ReasonRollingOut, f.blocked)
	default:
		s.setHeld(f.keys.heldBy)
	}
}

func wasUnavailable(before []metav1.Condition) bool {
	had := meta.FindStatusCondition(before, bind9.ConditionDegraded)
	return had != nil && had.Status == metav1.ConditionTrue && had.Reason == ReasonUnavailable
}

// serviceAddresses returns the DNS addresses of a Service: cluster IPs first, then those of the load balancer. A
// headless Service has the IP "None".
func serviceAddresses(service *corev1.Service) []string {
	if service == nil {
		return nil
	}
	ips := slices.Clone(service.Spec.ClusterIPs)
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		ips = append(ips, ingress.IP) // "" if the load balancer has a host name
	}
	var all []string
	for _, ip := range ips {
		if net.ParseIP(ip) != nil {
			all = append(all, net.JoinHostPort(ip, "53"))
		}
	}
	return all
}
