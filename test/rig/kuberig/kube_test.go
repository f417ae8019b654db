// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func makeClients(t *testing.T, kubeconfig string) *kubernetes.Clientset {
	t.Helper()
	config := must.Get(ClientConfig(kubeconfig))(t)
	c := must.Get(kubernetes.NewForConfig(config))(t)
	return c
}

// A control plane authenticates tenants by certificate and by token, authorizes only granted requests, does not
// answer while paused, deletes a namespace, and is gone after Close.
func TestKube_tenantsHaveWhatTheyAreGranted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "kube")
	k, err := StartKube(ctx, dir, KubeConfig{ControllerManager: true})
	rig.SkipMissing(t, err)
	defer k.Close()

	alice, err := k.Tenant("alice", "tenants")
	if err != nil {
		t.Fatal(err)
	}
	robot, err := k.ServiceAccount(ctx, "team-a", "robot")
	if err != nil {
		t.Fatal(err)
	}
	for who, kubeconfig := range map[string]string{"alice": alice, "system:serviceaccount:team-a:robot": robot} {
		c := makeClients(t, kubeconfig)
		if _, err := c.CoreV1().ConfigMaps("team-a").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists without a right: %v", who, err)
		}
		must.Succeed(t, k.Grant(ctx, "team-a", who, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"},
			Verbs: []string{"list"}}))
		// The authorizer follows an informer.
		for err = errors.New("not asked"); err != nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			_, err = c.CoreV1().ConfigMaps("team-a").List(ctx, metav1.ListOptions{})
		}
		if err != nil {
			t.Errorf("%s does not list: %v", who, err)
		}
		if _, err := c.CoreV1().Secrets("team-a").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists secrets: %v", who, err)
		}
	}

	admin := makeClients(t, k.AdminKubeconfig())
	must.Succeed(t, k.Pause())
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	if _, err := admin.CoreV1().Namespaces().Get(short, "team-a", metav1.GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it answers while it is paused: %v", err)
	}
	stop()
	must.Succeed(t, k.Resume())

	must.Succeed(t, admin.CoreV1().Namespaces().Delete(ctx, "team-a", metav1.DeleteOptions{}))
	for err = nil; !apierrors.IsNotFound(err) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		var namespace *corev1.Namespace
		if namespace, err = admin.CoreV1().Namespaces().Get(ctx, "team-a", metav1.GetOptions{}); err == nil && namespace.Status.Phase != corev1.NamespaceTerminating {
			t.Fatalf("phase %s after delete", namespace.Status.Phase)
		}
	}
	if !apierrors.IsNotFound(err) {
		t.Errorf("kube-controller-manager leaves the namespace: %v\n%s", err, k.ControllerManagerLog())
	}

	pids := []int{k.apiserver.Pid(), k.manager.Pid()}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is still there: %v", pid, err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}
