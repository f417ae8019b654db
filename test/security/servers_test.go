// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/test/must"
)

// serversByProxy: a tenant that may write Bind9Clusters and may not run pods gets neither pods by them, nor a
// connection of the controller to a server of the platform (S11.5, S11.6). With rights on Deployments and Services,
// the tenant gets the pods.
func serversByProxy(t *testing.T, a *arena) {
	ctx := t.Context()
	user := mallory + "-user"
	must.Succeed(t, a.kube.Bind(ctx, mallory, user, "kubizone-bind9-editor"))
	client := must.Get(versioned.NewForConfig(a.tenants[mallory].config))(t)
	api := client.Bind9V1alpha1()
	cluster := func(namespace string) *bind9.Bind9Cluster {
		return &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "edge"}, Spec: bind9.Bind9ClusterSpec{Primary: &bind9.RoleSettings{Replicas: 1}}}
	}
	create := func(ctx context.Context, of *bind9.Bind9Cluster) error {
		_, err := api.Bind9Clusters(of.Namespace).Create(ctx, of, metav1.CreateOptions{})
		return err
	}
	// The authorizer follows informers: until the role is known, the refusal is RBAC's.
	refusal := func(want string, do func(ctx context.Context) error) {
		t.Helper()
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for {
			err := do(waiting)
			switch {
			case err == nil:
				t.Fatalf("allowed, want %s", want)
			case strings.Contains(err.Error(), want):
				return
			case waiting.Err() != nil:
				t.Fatalf("%v, want %s", err, want)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	refusal("create deployments.apps in namespace "+mallory, func(ctx context.Context) error { return create(ctx, cluster(mallory)) })
	for what, image := range map[string]*bind9.Image{"agent": {Repository: "docker.io/mallory/agent"}, "bind": {Repository: "docker.io/mallory/bind9"}} {
		of := cluster(mallory)
		if of.Spec.Image = image; what == "agent" {
			of.Spec.Image, of.Spec.Agent = nil, &bind9.Agent{Image: image}
		}
		refusal("--bind9-image-repositories", func(ctx context.Context) error { return create(ctx, of) })
	}
	inject := cluster(mallory)
	inject.Spec.Config = &bind9.Config{AllowQuery: []string{`any; }; include "/var/run/secrets/kubernetes.io/serviceaccount/token"; allow-transfer { any`}}
	refusal("is no element of an address list", func(ctx context.Context) error { return create(ctx, inject) })

	for _, of := range []*bind9.Bind9Cluster{cluster(victim), cluster(platform)} {
		if err := create(ctx, of); !apierrors.IsForbidden(err) {
			t.Errorf("in namespace %s: %v", of.Namespace, err)
		}
	}
	if _, err := api.ClusterBind9Providers().Create(ctx, &bind9.ClusterBind9Provider{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: bind9.ClusterBind9ProviderSpec{Namespaces: []string{victim}}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a provider: %v", err)
	}

	// With the right to deploy, a tenant may create pods, but no connections of the controller.
	clients := must.Get(a.kube.Clients())(t)
	for name, rule := range map[string]rbacv1.PolicyRule{
		"deploys": {APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create"}},
		"exposes": {APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"create"}},
		// Every verb on instances is not the right by itself.
		"instances": {APIGroups: []string{bind9.GroupName}, Resources: []string{"bind9instances"}, Verbs: []string{"*"}},
	} {
		meta := metav1.ObjectMeta{Namespace: mallory, Name: "mallory-" + name}
		must.Get(clients.RbacV1().Roles(mallory).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}},
			metav1.CreateOptions{}))(t)
		must.Get(clients.RbacV1().RoleBindings(mallory).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}, metav1.CreateOptions{}))(t)
	}
	made := false
	for deadline := time.Now().Add(time.Minute); !made && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		made = create(ctx, cluster(mallory)) == nil
	}
	if !made {
		t.Fatalf("with the rights: %v", create(ctx, cluster(mallory)))
	}
	outside := &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: mallory, Name: "outside"}, Spec: bind9.Bind9InstanceSpec{
		Role: bind9.RoleSecondary, External: &bind9.ExternalServer{Address: "10.0.0.1", AgentURL: "https://10.0.0.1:443", TokenSecretRef: &bind9.SecretKeyReference{Name: "token", Key: "token"}},
	}}
	refusal("create bind9instances.bind9.kubi.zone/external in namespace "+mallory, func(ctx context.Context) error {
		_, err := api.Bind9Instances(mallory).Create(ctx, outside, metav1.CreateOptions{})
		return err
	})
	inside := outside.DeepCopy()
	inside.Name, inside.Spec.External = "inside", nil
	kept := must.Get(api.Bind9Instances(mallory).Create(ctx, inside, metav1.CreateOptions{}))(t)
	kept.Spec.External = outside.Spec.External
	if _, err := api.Bind9Instances(mallory).Update(ctx, kept, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.external") {
		t.Errorf("external afterwards: %v", err)
	}
	if _, err := api.Bind9Instances(mallory).UpdateStatus(ctx, kept, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("status: %v", err)
	}
}
