// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// While etcd is full, writes get 507 with the cause, reads and readiness continue, and the server frees history.
func TestServer_saysThatEtcdIsFullAndFreesIt(t *testing.T) {
	dir := must.Get(embed.OpenDir(t.TempDir(), 0))(t)
	t.Cleanup(func() { dir.Close() })
	member := must.Get(embed.Start(t.Context(), embed.Config{Dir: dir, QuotaBytes: 4 << 20}))(t)
	t.Cleanup(member.Stop)
	us := must.Get(pki.Open(t.TempDir(), pki.Hosts("127.0.0.1"), time.Now()))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := must.Get(New(t.Context(), Config{
		Listener: listener, ServingCert: us.ServingCert, ServingKey: us.ServingKey, ClientCA: us.CA,
		Etcd: storagebackend.TransportConfig{ServerList: member.Endpoints()}, Zones: zoneview.NewSet(zoneview.Config{}),
	}))(t)
	ctx, stop := context.WithCancel(context.Background())
	api, ledger := make(chan error, 1), make(chan error, 1)
	stopLedger := func() {}
	t.Cleanup(func() {
		stop()
		<-api
		stopLedger()
		server.Close()
	})
	go func() { api <- server.Run(ctx) }()
	server.ready.Store(true) // without RunLedger, which would free etcd

	client, err := clientv3.New(clientv3.Config{Endpoints: member.Endpoints(), DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	must.Succeed(t, err)
	defer client.Close()
	for n := 0; err == nil; n++ {
		_, err = client.Put(t.Context(), "/junk", strings.Repeat("v", 64<<10)+fmt.Sprint(n))
	}
	admin := makeHTTPClient(t, us, us.AdminCert, us.AdminKey)
	url := "https://" + listener.Addr().String()
	write := func() (int, string) {
		body := `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"org"},"spec":{"domainName":"example.org."}}`
		answer := must.Get(admin.Post(url+"/apis/kubi.zone/v1alpha1/namespaces/default/zones", "application/json",
			strings.NewReader(body)))(t)
		defer answer.Body.Close()
		text := make([]byte, 4096)
		n, _ := answer.Body.Read(text)
		return answer.StatusCode, string(text[:n])
	}
	if code, body := write(); code != http.StatusInsufficientStorage || !strings.Contains(body, "etcd is full (NOSPACE)") || !strings.Contains(body, "InsufficientStorage") {
		t.Errorf("a write: %d %s", code, body)
	}
	if code, body := getPage(t, admin, url+"/apis/kubi.zone/v1alpha1/zones"); code != http.StatusOK {
		t.Errorf("a read: %d %s", code, body)
	}

	ctxLedger, cancel := context.WithCancel(context.Background())
	go func() { ledger <- server.RunLedger(ctxLedger) }()
	stopLedger = func() { cancel(); <-ledger }
	full := false // /healthz says so until the next check, some seconds later
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		code, body := write()
		if health, _ := getPage(t, admin, url+"/healthz/etcd-space"); health == http.StatusInternalServerError {
			full = true
		}
		if code == http.StatusCreated {
			break
		}
		if code != http.StatusInsufficientStorage || time.Now().After(deadline) {
			t.Fatalf("a write: %d %s", code, body)
		}
	}
	if !full {
		t.Error("/healthz never said that etcd was full")
	}
	if code, body := getPage(t, admin, url+"/readyz?exclude=views"); code != http.StatusOK {
		t.Errorf("readiness: %d %s", code, body)
	}
}
