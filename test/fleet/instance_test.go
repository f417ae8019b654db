// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/test/must"
)

// TestInstance_isMadeRepairedAndRemoved_S11_9: a standalone server gets its objects in a namespace with Pod Security
// restricted. Each removed or changed object is restored, and the deletion leaves nothing (F1, F5).
func TestInstance_isMadeRepairedAndRemoved_S11_9(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "lone")
	w.runKubelet(w.namespace)
	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	w.waitInstance("ns1", bind9.ConditionProgressing, "False")
	instance := w.getInstance("ns1")
	for condition, want := range map[string]string{bind9.ConditionDegraded: "False", bind9.ConditionConfigValid: "True"} {
		if err := expectCondition(instance.Status.Conditions, condition, want); err != nil {
			t.Error(err)
		}
	}
	if len(instance.Status.Addresses) == 0 || instance.Status.ConfigHash == "" ||
		instance.Status.ObservedGeneration != instance.Generation {
		t.Errorf("status %+v", instance.Status)
	}
	first := w.listMade(w.namespace)
	want := []string{
		"configmaps/ns1-config", "deployments/ns1", "networkpolicies/ns1", "secrets/ns1-agent", "secrets/ns1-rndc-key", "secrets/ns1-tsig", "serviceaccounts/ns1", "services/ns1", "services/ns1-agent",
	}
	made := slices.DeleteFunc(slices.Clone(first), func(o string) bool { return strings.HasPrefix(o, "pods/") })
	if slices.Sort(made); !slices.Equal(made, want) {
		t.Errorf("made: %q", made)
	}

	secrets, services := w.core.CoreV1().Secrets(w.namespace), w.core.CoreV1().Services(w.namespace)
	before := must.Get(secrets.Get(w.ctx, "ns1-tsig", metav1.GetOptions{}))(w.t)
	must.Get(services.Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"selector":{"bind9.kubi.zone/instance":"elsewhere"}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}))(w.t)
	must.Get(w.core.CoreV1().ConfigMaps(w.namespace).Patch(w.ctx, "ns1-config", types.MergePatchType, []byte(`{"data":{"named.conf":"options { recursion yes; };"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}))(w.t)
	must.Succeed(w.t, w.core.AppsV1().Deployments(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	must.Succeed(w.t, w.core.NetworkingV1().NetworkPolicies(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	must.Succeed(w.t, secrets.Delete(w.ctx, "ns1-agent", metav1.DeleteOptions{}))
	w.waitUntil("all is repaired", func() error {
		service, err := services.Get(w.ctx, "ns1", metav1.GetOptions{})
		if err != nil || service.Spec.Selector[bind9.LabelInstance] != "ns1" {
			return fmt.Errorf("service: %v %v", service.Spec.Selector, err)
		}
		config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "ns1-config", metav1.GetOptions{})
		if err != nil || strings.Contains(config.Data["named.conf"], "recursion yes") {
			return fmt.Errorf("named.conf: %v", err)
		}
		if _, err := w.core.NetworkingV1().NetworkPolicies(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := secrets.Get(w.ctx, "ns1-agent", metav1.GetOptions{}); err != nil {
			return err
		}
		_, err = w.core.AppsV1().Deployments(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{})
		return err
	})
	after := must.Get(secrets.Get(w.ctx, "ns1-tsig", metav1.GetOptions{}))(w.t)
	if string(after.Data["secret"]) != string(before.Data["secret"]) || len(before.Data["secret"]) == 0 {
		t.Error("the key was made anew")
	}

	// Reconciles of an unchanged object cost no request, and a changed option costs one.
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	w.waitInstance("ns1", bind9.ConditionProgressing, "False")
	var written int64
	quiet := 0
	w.waitUntil("the last of what was repaired has been looked at", func() error {
		if now := w.writes.Load(); now != written {
			written, quiet = now, 0
		}
		if quiet++; quiet < 20 {
			return errors.New("requests come")
		}
		return nil
	})
	instances := w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace)
	for i := range 5 {
		must.Get(instances.Patch(w.ctx, "ns1", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"x":"%d"}}}`, i), metav1.PatchOptions{}))(w.t)
	}
	must.Get(instances.Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{}))(w.t)
	w.waitUntil("the option is there", func() error {
		config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "ns1-config", metav1.GetOptions{})
		if err != nil || !strings.Contains(config.Data["named.conf"], "querylog yes") {
			return fmt.Errorf("it is not: %v", err)
		}
		if instance := w.getInstance("ns1"); instance.Status.ObservedGeneration != instance.Generation {
			return errors.New("the status is about a former spec")
		}
		return nil
	})
	// A reconcile before the informer's event applies the ConfigMap again. Six reconciles of nine objects without a
	// memory would make 54 requests.
	if n := w.writes.Load() - written; n < 1 || n > 3 {
		t.Errorf("%d requests that change something, want 1 for the ConfigMap", n)
	}

	// Without its key the control channel needs another, which a running pod does not take: the Deployment replaces the
	// pod (S11.11).
	deployments := w.core.AppsV1().Deployments(w.namespace)
	deployment := must.Get(deployments.Get(w.ctx, "ns1", metav1.GetOptions{}))(w.t)
	must.Succeed(w.t, secrets.Delete(w.ctx, "ns1-rndc-key", metav1.DeleteOptions{}))
	w.waitUntil("a key is made, and the pod replaced", func() error {
		if _, err := secrets.Get(w.ctx, "ns1-rndc-key", metav1.GetOptions{}); err != nil {
			return err
		}
		now, err := deployments.Get(w.ctx, "ns1", metav1.GetOptions{})
		if err == nil && now.Generation == deployment.Generation {
			err = errors.New("the Deployment is as before")
		}
		return err
	})

	// The instance ns1-agent needs a Service of the name that ns1's agent has: the first keeps the Service (S11.10).
	agent := must.Get(services.Get(w.ctx, "ns1-agent", metav1.GetOptions{}))(w.t)
	w.createInstance("ns1-agent", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1-agent", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	w.waitInstance("ns1", bind9.ConditionDegraded, "False")
	if now, err := services.Get(w.ctx, "ns1-agent", metav1.GetOptions{}); err != nil || now.ResourceVersion != agent.ResourceVersion {
		t.Errorf("the Service of the agent was changed: %v %+v", err, now)
	}
	must.Succeed(w.t, instances.Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.waitInstance("ns1-agent", bind9.ConditionReady, "True")
	must.Succeed(w.t, instances.Delete(w.ctx, "ns1-agent", metav1.DeleteOptions{}))
	w.waitUntil("both are gone", func() error {
		list, err := instances.List(w.ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = errStillThere
		}
		return err
	})
	if left := w.listMade(w.namespace); len(left) > 0 {
		t.Errorf("they left %q", left)
	}
}
