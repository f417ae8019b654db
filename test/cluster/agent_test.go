// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// TestAgent_takesTheTokensOfItsServiceAccounts: a real kube-apiserver reviews them. A token needs the agent's audience
// and a ServiceAccount of the agent's list; a token for kube-apiserver itself is not taken.
func TestAgent_takesTheTokensOfItsServiceAccounts(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	kube, err := kuberig.StartKube(ctx, filepath.Join(t.TempDir(), "kube"), kuberig.KubeConfig{})
	rig.SkipMissing(t, err)
	defer kube.Close()
	clients, err := kube.Clients()
	if err != nil {
		t.Fatal(err)
	}
	tokenOf := func(account string, audiences ...string) string {
		t.Helper()
		if _, err := kube.ServiceAccount(ctx, "dns", account); err != nil {
			t.Fatal(err)
		}
		answer, err := clients.CoreV1().ServiceAccounts("dns").CreateToken(ctx, account, &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Status.Token
	}
	own := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(own, []byte(tokenOf("agent")), 0o600); err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(kube.Admin().CAData) {
		t.Fatal("no authority")
	}
	identify := func(token string) (string, error) {
		// One of its own for each token: what was reviewed is kept.
		agent := &agent.Authentication{Review: &agent.TokenReview{
			Server: kube.URL(), TokenFile: own, Audience: "bindcar", Users: []string{"system:serviceaccount:dns:controller"}, Now: time.Now,
			Client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}}},
		}}
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/zones", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return agent.Identify(r)
	}
	good := tokenOf("controller", "bindcar")
	if client, err := identify(good); err == nil {
		t.Errorf("an agent without the right to review let %s in", client)
	}
	if err := kube.Grant(ctx, "", "system:serviceaccount:dns:agent", rbacv1.PolicyRule{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}}); err != nil {
		t.Fatal(err)
	}
	// The authorizer follows its informer.
	var client string
	for err = context.Canceled; err != nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		client, err = identify(good)
	}
	if err != nil || client != "system:serviceaccount:dns:controller" {
		t.Fatalf("%q, %v", client, err)
	}
	for what, token := range map[string]string{
		"for kube-apiserver":        tokenOf("controller"),
		"for another server":        tokenOf("controller", "other"),
		"of another ServiceAccount": tokenOf("other", "bindcar"),
		"with another signature":    good[:len(good)-8] + "AAAAAAAA",
		"that is none":              "nothing",
		"for several, ours not one": tokenOf("controller", "other", "bindcars"),
	} {
		if client, err := identify(token); err == nil {
			t.Errorf("a token %s was taken: %s", what, client)
		}
	}
	if client, err := identify(tokenOf("controller", "other", "bindcar")); err != nil {
		t.Errorf("a token for several, ours one of them: %q, %v", client, err)
	}
}
