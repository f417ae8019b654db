// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	semver "k8s.io/apimachinery/pkg/util/version"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// startBareServer serves only authentication and authorization. It returns after the server's start hooks.
func startBareServer(t *testing.T) (url string, us *pki.Bundle) {
	t.Helper()
	us = must.Get(pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now()))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	registry := install.New(addReviews)
	config := must.Get(genericConfig(registry))(t)
	must.Succeed(t, serveStandalone(&config.Config, Config{Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey}))
	must.Succeed(t, applyStandalone(&config.Config, us.CA))
	server := must.Get(config.Complete().New(version.Component, genericapiserver.NewEmptyDelegate()))(t)
	must.Succeed(t, serveCluster(server, registry, config.Authorization.Authorizer))
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.PrepareRun().RunWithContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	url = "https://" + listener.Addr().String()
	client := makeHTTPClient(t, us, us.AdminCert, us.AdminKey)
	store.Eventually(t, "the server is ready", func() bool {
		code, _ := getPage(t, client, url+"/readyz")
		return code == http.StatusOK
	})
	return url, us
}

func makeHTTPClient(t *testing.T, us *pki.Bundle, cert, key []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(us.CA)
	config := &tls.Config{RootCAs: pool}
	if cert != nil {
		pair := must.Get(tls.X509KeyPair(cert, key))(t)
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func getPage(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	answer := must.Get(client.Get(url))(t)
	defer answer.Body.Close()
	body := must.Get(io.ReadAll(answer.Body))(t)
	return answer.StatusCode, string(body)
}

// A3
func TestStandalone_letsInTheAdministratorAndProbers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: one request at a time, which the race detector learns nothing from")
	}
	url, us := startBareServer(t)
	stranger := must.Get(pki.Open(t.TempDir(), []string{"localhost"}, time.Now()))(t)
	anonymous := makeHTTPClient(t, us, nil, nil)
	admin := makeHTTPClient(t, us, us.AdminCert, us.AdminKey)
	foreign := makeHTTPClient(t, us, stranger.AdminCert, stranger.AdminKey)
	for _, path := range publicPaths {
		if code, body := getPage(t, anonymous, url+path); code != http.StatusOK {
			t.Errorf("anonymous %s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/", "/api", "/api/v1", "/apis", "/metrics", "/openapi/v3", "/readyz/ping", "/version/", "/debug/pprof/"} {
		if code, body := getPage(t, anonymous, url+path); code != http.StatusUnauthorized {
			t.Errorf("anonymous %s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/apis", "/metrics", "/openapi/v3", "/readyz"} {
		if code, body := getPage(t, admin, url+path); code != http.StatusOK {
			t.Errorf("administrator %s: %d %s", path, code, body)
		}
		if code, body := getPage(t, foreign, url+path); code != http.StatusUnauthorized {
			t.Errorf("administrator of another server %s: %d %s", path, code, body)
		}
	}
}

// A3: impersonated users are refused with the reason.
func TestStandalone_refusesOthersWithTheReason(t *testing.T) {
	url, us := startBareServer(t)
	request := must.Get(http.NewRequest(http.MethodGet, url+"/apis", nil))(t)
	request.Header.Set("Impersonate-User", "jane")
	answer := must.Get(makeHTTPClient(t, us, us.AdminCert, us.AdminKey).Do(request))(t)
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "jane") || !strings.Contains(string(body), "system:masters") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// Clients compare the version from /version with Kubernetes releases, so the server reports a Kubernetes version of
// 1.30 or later. Kubizone's own version is appended as build metadata.
func TestVersion_isKubernetesWithOurs(t *testing.T) {
	url, us := startBareServer(t)
	_, body := getPage(t, makeHTTPClient(t, us, nil, nil), url+"/version")
	var info apimachineryversion.Info
	must.Succeed(t, json.Unmarshal([]byte(body), &info))
	served, err := semver.ParseSemantic(info.GitVersion)
	if err != nil || served.BuildMetadata() != "kubizone-v"+version.Number() {
		t.Fatalf("version: %s: %v", body, err)
	}
	if served.LessThan(semver.MustParseSemantic("1.30.0")) || served.PreRelease() != "" || fmt.Sprintf("%d.%d", served.Major(), served.Minor()) != info.Major+"."+info.Minor {
		t.Errorf("version: %s", body)
	}
}

// A3: the authorizer gets every attribute of the review.
func TestReviews_askTheAuthorizer(t *testing.T) {
	var asked authorizer.Attributes
	review := newAccessReviews(authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (
		authorizer.Decision, string, error) {
		asked = a
		return authorizer.DecisionDeny, "because", errors.New("not all was read")
	}))
	jane := &user.DefaultInfo{Name: "jane"}
	answer := must.Get(review.Create(request.WithUser(t.Context(), jane), &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "n", Verb: "v", Group: "g", Resource: "r", Subresource: "s", Name: "o"},
	}}, rest.ValidateAllObjectFunc, nil))(t)
	want := authorizer.AttributesRecord{User: jane, Namespace: "n", Verb: "v", APIGroup: "g", APIVersion: "*", Resource: "r", Subresource: "s", Name: "o", ResourceRequest: true}
	if !reflect.DeepEqual(asked, authorizer.Attributes(want)) {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
	if got, want := answer.(*authorizationv1.SelfSubjectAccessReview).Status, (authorizationv1.SubjectAccessReviewStatus{Denied: true, Reason: "because", EvaluationError: "not all was read"}); got != want {
		t.Errorf("status %+v, want %+v", got, want)
	}
	both := authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{},
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{}}
	for _, spec := range []authorizationv1.SelfSubjectAccessReviewSpec{{}, both} {
		asked := &authorizationv1.SelfSubjectAccessReview{Spec: spec}
		_, err := review.Create(request.WithUser(t.Context(), jane), asked, rest.ValidateAllObjectFunc, nil)
		if err == nil || !strings.Contains(err.Error(), "exactly one of") {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// A4
func TestGates_refuseDeletionWithoutReading(t *testing.T) {
	startBareServer(t)
	if utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion) {
		t.Error("a corrupt object can be deleted unread")
	}
}
