// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
)

// TestInstance_isMadeRepairedAndRemoved_S11_9: a standalone server gets its objects in a namespace with Pod Security
// restricted. Each removed or changed object is restored, and the deletion leaves nothing (F1, F5).
func TestInstance_isMadeRepairedAndRemoved_S11_9(t *testing.T) {
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
	before, err := secrets.Get(w.ctx, "ns1-tsig", metav1.GetOptions{})
	w.mustSucceed(err)
	_, err = services.Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"selector":{"bind9.kubi.zone/instance":"elsewhere"}}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	w.mustSucceed(err)
	_, err = w.core.CoreV1().ConfigMaps(w.namespace).Patch(w.ctx, "ns1-config", types.MergePatchType, []byte(`{"data":{"named.conf":"options { recursion yes; };"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"})
	w.mustSucceed(err)
	w.mustSucceed(w.core.AppsV1().Deployments(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.mustSucceed(w.core.NetworkingV1().NetworkPolicies(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.mustSucceed(secrets.Delete(w.ctx, "ns1-agent", metav1.DeleteOptions{}))
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
	after, err := secrets.Get(w.ctx, "ns1-tsig", metav1.GetOptions{})
	w.mustSucceed(err)
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
		_, err = instances.Patch(w.ctx, "ns1", types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"x":"%d"}}}`, i), metav1.PatchOptions{})
		w.mustSucceed(err)
	}
	_, err = instances.Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"config":{"queryLog":true}}}`), metav1.PatchOptions{})
	w.mustSucceed(err)
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

	w.mustSucceed(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.waitUntil("it is gone", func() error {
		_, err := w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errStillThere
	})
	if left := w.listMade(w.namespace); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

// TestInstance_leavesObjectsOfOthers_S11_10: an object of another manager has the name that a server needs. The fleet
// neither changes nor removes it, starts no pod that would mount it, and reports Foreign, until the object has the
// annotation take-over (F2).
func TestInstance_leavesObjectsOfOthers_S11_10(t *testing.T) {
	w := newWorld(t, "foreign")
	w.runKubelet(w.namespace)
	configs := w.core.CoreV1().ConfigMaps(w.namespace)
	foreign, err := configs.Create(w.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "ns1-config", Labels: map[string]string{"app.kubernetes.io/managed-by": "bindy"}}, Data: map[string]string{"named.conf": "theirs"},
	}, metav1.CreateOptions{FieldManager: "bindy"})
	w.mustSucceed(err)
	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	now, err := configs.Get(w.ctx, "ns1-config", metav1.GetOptions{})
	w.mustSucceed(err)
	if now.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("it was changed: %+v", now)
	}
	if _, err := w.core.AppsV1().Deployments(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a pod would mount what is another manager's: %v", err)
	}
	_, err = configs.Patch(w.ctx, "ns1-config", types.MergePatchType, []byte(`{"metadata":{"annotations":{"kubi.zone/take-over":"true"}}}`), metav1.PatchOptions{})
	w.mustSucceed(err)
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	w.waitInstance("ns1", bind9.ConditionDegraded, "False")
	if now, err = configs.Get(w.ctx, "ns1-config", metav1.GetOptions{}); err != nil || !strings.Contains(now.Data["named.conf"], "options {") || now.Labels["app.kubernetes.io/managed-by"] != "kubizone-fleet" {
		t.Errorf("after it was taken over: %v %+v", err, now)
	}
}

// TestInstance_changesReachServers_S11_9: changed options reach named.conf, a changed version the image. When the
// instance gets a volume claim, a StatefulSet replaces its Deployment (F4).
func TestInstance_changesReachServers_S11_9(t *testing.T) {
	w := newWorld(t, "changes")
	w.runKubelet(w.namespace)
	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	instances := w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace)
	_, err := instances.Patch(w.ctx, "ns1", types.MergePatchType, []byte(`{"spec":{"version":"9.18","config":{"queryLog":true}}}`), metav1.PatchOptions{})
	w.mustSucceed(err)
	w.waitUntil("options and image are there", func() error {
		config, err := w.core.CoreV1().ConfigMaps(w.namespace).Get(w.ctx, "ns1-config", metav1.GetOptions{})
		if err != nil || !strings.Contains(config.Data["named.conf"], "querylog yes") {
			return fmt.Errorf("named.conf is not changed: %v", err)
		}
		deployment, err := w.core.AppsV1().Deployments(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{})
		if err != nil || !strings.HasSuffix(deployment.Spec.Template.Spec.Containers[0].Image, ":9.18") {
			return fmt.Errorf("the image is not changed: %v", err)
		}
		return nil
	})
	instance := w.getInstance("ns1")
	instance.Spec.Storage = &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}
	w.waitUntil("storage is written", func() error {
		instance = w.getInstance("ns1")
		instance.Spec.Storage = &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}
		_, err := instances.Update(w.ctx, instance, metav1.UpdateOptions{})
		return err
	})
	w.waitUntil("the StatefulSet stands for the Deployment", func() error {
		if _, err := w.core.AppsV1().StatefulSets(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := w.core.AppsV1().Deployments(w.namespace).Get(w.ctx, "ns1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errStillThere
		}
		return nil
	})
}

// TestInstance_saysWhatHasBecomeOfIt: while its pod is not ready, an instance is Degraded and not Ready, and a Warning
// Event is sent; when the pod is ready again, both conditions return.
func TestInstance_saysWhatHasBecomeOfIt_S11_9(t *testing.T) {
	w := newWorld(t, "unavailable")
	w.runKubelet(w.namespace)
	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	setReady := func(status string) {
		t.Helper()
		list, err := w.core.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{})
		w.mustSucceed(err)
		for _, pod := range list.Items {
			_, err := w.core.CoreV1().Pods(w.namespace).Patch(w.ctx, pod.Name, types.StrategicMergePatchType, fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, status), metav1.PatchOptions{}, "status")
			w.mustSucceed(err)
		}
	}
	setReady("False")
	w.waitInstance("ns1", bind9.ConditionDegraded, "True/"+fleet.ReasonUnavailable)
	if err := expectCondition(w.getInstance("ns1").Status.Conditions, bind9.ConditionReady, "False/"+fleet.ReasonNotReady); err != nil {
		t.Error(err)
	}
	setReady("True")
	w.waitInstance("ns1", bind9.ConditionDegraded, "False")
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	w.stop()
	warned := false
	for done := false; !done; {
		select {
		case event := <-w.reported.Events:
			warned = warned || strings.HasPrefix(event, "Warning "+fleet.ReasonUnavailable)
		default:
			done = true
		}
	}
	if !warned {
		t.Error("no Warning says so")
	}
}

// TestInstance_finalizerHasADeadline: an object of a deleted instance has a foreign finalizer and cannot be removed. It
// delays the deletion of the instance for ten minutes, not for ever, and all other objects are removed at once.
func TestInstance_finalizerHasADeadline_S11_12(t *testing.T) {
	w := newWorld(t, "held")
	w.runKubelet(w.namespace)
	at := clocktesting.NewFakeClock(time.Now())
	w.runFleet(at, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	configs := w.core.CoreV1().ConfigMaps(w.namespace)
	_, err := configs.Patch(w.ctx, "ns1-config", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/held"]}}`), metav1.PatchOptions{})
	w.mustSucceed(err)
	instances := w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace)
	w.mustSucceed(instances.Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.waitUntil("all else is gone", func() error {
		if left := w.listMade(w.namespace); len(left) != 1 {
			return fmt.Errorf("%q", left)
		}
		return nil
	})
	if w.getInstance("ns1").DeletionTimestamp == nil {
		t.Error("it is not being deleted")
	}
	at.Step(11 * time.Minute)
	w.waitUntil("it goes", func() error {
		if _, err := instances.Get(w.ctx, "ns1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return errStillThere
		}
		return nil
	})
	_, err = configs.Patch(w.ctx, "ns1-config", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	w.mustSucceed(err)
}

// TestInstance_keepsTheNameThatItHas_S11_10: two instances need a Service of the same name, because the agent of the
// instance "ns1" has the Service "ns1-agent", and so has the instance called "ns1-agent". The first keeps the Service
// unchanged, and the second is Degraded with reason Foreign until the first is deleted.
func TestInstance_keepsTheNameThatItHas_S11_10(t *testing.T) {
	w := newWorld(t, "collides")
	w.runKubelet(w.namespace)
	w.runFleet(nil, w.namespace)
	w.createInstance("ns1", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1", bind9.ConditionReady, "True")
	services := w.core.CoreV1().Services(w.namespace)
	before, err := services.Get(w.ctx, "ns1-agent", metav1.GetOptions{})
	w.mustSucceed(err)
	w.createInstance("ns1-agent", bind9.Bind9InstanceSpec{Role: bind9.RoleSecondary})
	w.waitInstance("ns1-agent", bind9.ConditionDegraded, "True/"+fleet.ReasonForeign)
	w.waitInstance("ns1", bind9.ConditionDegraded, "False")
	if now, err := services.Get(w.ctx, "ns1-agent", metav1.GetOptions{}); err != nil || now.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Service of the agent was changed: %v %+v", err, now)
	}
	w.mustSucceed(w.kubizone.Bind9V1alpha1().Bind9Instances(w.namespace).Delete(w.ctx, "ns1", metav1.DeleteOptions{}))
	w.waitInstance("ns1-agent", bind9.ConditionReady, "True")
}
