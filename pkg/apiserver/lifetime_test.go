// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// A8, A5: clients get Retry-After until the server was ready once, and are sent away when it stops.
func TestServer_sendsClientsToAnotherOneUnlessItServes(t *testing.T) {
	etcd := must.Get(kuberig.StartEtcd(t.Context(), t.TempDir()))(t)
	t.Cleanup(etcd.Close)
	us := must.Get(pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now()))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := must.Get(New(t.Context(), Config{
		Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey, ClientCA: us.CA,
		Zones: zoneview.NewSet(zoneview.Config{}), Etcd: storagebackend.TransportConfig{ServerList: []string{etcd.Endpoint}},
	}))(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- server.Run(ctx) }()
	client, url := makeHTTPClient(t, us, us.AdminCert, us.AdminKey), "https://"+listener.Addr().String()
	list := func() *http.Response {
		answer := must.Get(client.Get(url + "/apis/kubi.zone/v1alpha1/namespaces/team/records"))(t)
		must.Succeed(t, answer.Body.Close())
		return answer
	}
	early := list() // before the stored objects are read
	if early.StatusCode != http.StatusServiceUnavailable || early.Header.Get("Retry-After") == "" {
		t.Errorf("before it is ready: %s %v", early.Status, early.Header)
	}
	server.firstMissing = func() (fault, step string) {
		return "the identity of --kubeconfig lacks the RBAC rule x", "have a cluster admin apply"
	}
	if _, text := getPage(t, client, url+"/apis/kubi.zone/v1alpha1/zones"); !strings.Contains(text,
		"is not ready: the identity of --kubeconfig lacks the RBAC rule x; nothing was done: have a cluster admin apply") {
		t.Errorf("without a permission: %s", text)
	}
	if code, _ := getPage(t, client, url+"/version"); code != http.StatusOK {
		t.Errorf("/version: %d", code)
	}
	go func() { ended <- server.RunLedger(ctx) }()
	closeAfterTest(t, server, stop, ended)
	for start := time.Now(); ; rig.Pause(start) {
		code, unready := getPage(t, client, url+"/readyz")
		if code == http.StatusOK {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal(unready)
		}
	}
	if serving := list(); serving.StatusCode != http.StatusOK || serving.Close {
		t.Errorf("when it is ready: %s, and the connection ends: %v", serving.Status, serving.Close)
	}
	leaving, leave := context.WithCancel(t.Context())
	server.leaveAfter(leaving)
	leave()
	for start := time.Now(); ; rig.Pause(start) {
		answer := list()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("when it stops: %s", answer.Status)
		}
		if answer.Close {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("when it stops, connections stay")
		}
	}
}
