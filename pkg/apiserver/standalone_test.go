// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apiserver/pki"
)

// door is a server with nothing in it but the question who may enter.
func door(t *testing.T) (url string, us *pki.Bundle) {
	t.Helper()
	us, err := pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config, err := genericConfig(install.New())
	if err != nil {
		t.Fatal(err)
	}
	if err := serveStandalone(&config.Config, Config{Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey}); err != nil {
		t.Fatal(err)
	}
	if err := applyStandalone(&config.Config, us.CA); err != nil {
		t.Fatal(err)
	}
	server, err := config.Complete().New(Component, genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.PrepareRun().RunWithContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return "https://" + listener.Addr().String(), us
}

// visitor trusts the server of us and shows the client certificate given, if any.
func visitor(t *testing.T, us *pki.Bundle, cert, key []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(us.CA)
	config := &tls.Config{RootCAs: pool}
	if cert != nil {
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	answer, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// A3
func TestStandalone_letsInTheAdministratorAndProbers(t *testing.T) {
	url, us := door(t)
	stranger, err := pki.Open(t.TempDir(), []string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	anonymous := visitor(t, us, nil, nil)
	admin := visitor(t, us, us.AdminCert, us.AdminKey)
	foreign := visitor(t, us, stranger.AdminCert, stranger.AdminKey)
	for _, path := range publicPaths {
		if code, body := get(t, anonymous, url+path); code != http.StatusOK {
			t.Errorf("anonymous %s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/", "/apis", "/metrics", "/openapi/v3", "/readyz/ping", "/version/", "/debug/pprof/"} {
		if code, body := get(t, anonymous, url+path); code != http.StatusUnauthorized {
			t.Errorf("anonymous %s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/apis", "/metrics", "/openapi/v3", "/readyz"} {
		if code, body := get(t, admin, url+path); code != http.StatusOK {
			t.Errorf("administrator %s: %d %s", path, code, body)
		}
		if code, body := get(t, foreign, url+path); code != http.StatusUnauthorized {
			t.Errorf("administrator of another server %s: %d %s", path, code, body)
		}
	}
}

// A3: what impersonation makes of the administrator is refused like any other user, with the reason.
func TestStandalone_refusesOthersWithTheReason(t *testing.T) {
	url, us := door(t)
	request, err := http.NewRequest(http.MethodGet, url+"/apis", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Impersonate-User", "jane")
	answer, err := visitor(t, us, us.AdminCert, us.AdminKey).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "jane") || !strings.Contains(string(body), "system:masters") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

func TestVersion_isOurs(t *testing.T) {
	url, us := door(t)
	_, body := get(t, visitor(t, us, nil, nil), url+"/version")
	var info apimachineryversion.Info
	if err := json.Unmarshal([]byte(body), &info); err != nil {
		t.Fatal(err)
	}
	if info.GitVersion != "v"+Version+"+kubizone" || info.Major+"."+info.Minor != "0.1" {
		t.Errorf("version: %s", body)
	}
}

// A4
func TestGates_refuseDeletionWithoutReading(t *testing.T) {
	door(t)
	if utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion) {
		t.Error("a corrupt object can be deleted unread")
	}
}
