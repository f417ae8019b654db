// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// ledger A20: when a newer version raises the store's least reader, older servers answer no requests, but keep their
// etcd members for the majority that the migration needs, also after a restart.
func TestRun_keepsTheMemberOfAStoreThatWasOutgrown(t *testing.T) {
	k := newKube(t)
	names := []string{"a", "b", "c"}
	peers, dir := newAuthority(t, "peers"), t.TempDir()
	peer := issueLeaf(t, peers, "peer")
	for file, content := range map[string][]byte{"ca.crt": peers.CertPEM, "peer.crt": peer.CertPEM, "peer.key": peer.KeyPEM} {
		must.Succeed(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	}
	listen, initial := map[string]string{}, make([]string, len(names))
	for i, name := range names {
		at := must.Get(rig.FreePort())(t)
		listen[name] = "https://" + at.String()
		initial[i] = name + "=" + listen[name]
	}
	run := func(name string) *running {
		return startServer(t, k, "--etcd-data-dir", filepath.Join(dir, name), "--etcd-member-name", name, "--etcd-initial-cluster",
			strings.Join(initial, ","), "--etcd-listen-peer", listen[name],
			"--etcd-peer-ca-file", filepath.Join(dir, "ca.crt"), "--etcd-peer-cert-file", filepath.Join(dir, "peer.crt"), "--etcd-peer-key-file", filepath.Join(dir, "peer.key"))
	}
	servers := map[string]*running{}
	for _, name := range names {
		servers[name] = run(name)
	}
	for _, r := range servers {
		r.waitReady(t)
	}
	member := func(name string) *clientv3.Client {
		endpoint, ok := embed.RunningEndpoint(filepath.Join(dir, name))
		if !ok {
			t.Fatalf("no member %s", name)
		}
		client := must.Get(clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second}))(t)
		t.Cleanup(func() { client.Close() })
		return client
	}
	config := func(least int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		client, key := member("a"), layout.Keys{Prefix: apiserver.Prefix}.Internal()+"config"
		r, err := client.Get(ctx, key)
		if err != nil || len(r.Kvs) != 1 {
			t.Fatalf("%v, %v", r, err)
		}
		stored := map[string]json.RawMessage{}
		must.Succeed(t, json.Unmarshal(r.Kvs[0].Value, &stored))
		stored["leastReader"], _ = json.Marshal(least)
		text, _ := json.Marshal(stored)
		must.Get(client.Put(ctx, key, string(text)))(t)
	}
	outgrown := func(name string) {
		t.Helper()
		r := servers[name]
		anyone := r.makeClient(t, nil, "")
		must.Eventually(t, name+" says what it lacks", func() bool {
			code, body := sendRequest(t, anyone, http.MethodGet, r.url+"/readyz?verbose", nil, "")
			return code == http.StatusServiceUnavailable && strings.Contains(body, "[-]format failed") && strings.Contains(body, "for programs that know format 99 or later") && strings.Contains(body, "start a version that knows it")
		})
		if code, body := sendRequest(t, anyone, http.MethodGet, r.url+"/livez?exclude=etcd", nil, ""); code != http.StatusOK {
			t.Errorf("%s /livez: %d %s", name, code, body)
		}
		if code, body := sendRequest(t, r.makeClient(t, k.proxies, allowedProxy), http.MethodGet, r.url+zonesPath, makeAdminHeaders(),
			""); code != http.StatusServiceUnavailable {
			t.Errorf("%s answers: %d %s", name, code, body)
		}
	}
	write := func(by string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if _, err := member(by).Put(ctx, "/of-a-newer-version", by); err != nil {
			t.Errorf("etcd takes no writes by member %s: %v", by, err)
		}
	}

	config(99)
	for _, name := range names {
		outgrown(name)
		write(name)
	}
	if err := servers["c"].stop(); err != nil {
		t.Errorf("stopping one that only keeps its member: %v", err)
	}
	write("a")
	servers["c"] = run("c")
	outgrown("c")
	if err := servers["b"].stop(); err != nil {
		t.Error(err)
	}
	write("c") // a majority of a and c: the restarted member counts

	config(1)
	for _, name := range names {
		if err := servers[name].stop(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range names {
		servers[name] = run(name)
	}
	for _, r := range servers {
		r.waitReady(t)
	}
}
