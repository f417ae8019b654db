// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/cmd/adoptcluster"
	"kubi.zone/kubizone/pkg/ledger"
	"kubi.zone/kubizone/test/store"
)

// S8.3: a store belongs to the cluster that the kubeconfig leads to, and says whose it was.
func TestAdoptCluster(t *testing.T) {
	s := store.New(t)
	s.Damaged = true // the store is at the server's own prefix, and under that of the test there is none
	if _, err := ledger.Open(t.Context(), ledger.Config{Client: s.Client.Client, Prefix: apiserver.Prefix, Zones: store.Codec(), Records: store.Codec()}); err != nil {
		t.Fatal(err)
	}
	uid := "first"
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
	}))
	defer cluster.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", cluster.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	adopt := func(args ...string) (string, error) {
		var out bytes.Buffer
		command := adoptcluster.NewCommand()
		command.SilenceUsage, command.SilenceErrors = true, true
		command.SetOut(&out)
		command.SetArgs(append(args, "--kubeconfig", kubeconfig))
		err := command.ExecuteContext(t.Context())
		return out.String(), err
	}
	servers := "--etcd-servers=" + strings.Join(s.Client.Endpoints(), ",")
	for _, test := range []struct{ uid, want string }{
		{"first", "(kube-system first); it belonged to none"}, {"first", "already (kube-system first)"},
		{"second", "(kube-system second); it belonged to the one with kube-system first"},
	} {
		uid = test.uid
		if out, err := adopt(servers); err != nil || !strings.Contains(out, test.want) {
			t.Errorf("cluster %s: %q, %v; want %q", test.uid, out, err, test.want)
		}
	}
	// As a standalone server answers for every name.
	uid = ""
	if _, err := adopt(servers); err == nil || !strings.Contains(err.Error(), "is no kube-apiserver") {
		t.Errorf("by a server that has no namespaces: %v", err)
	}
	if _, err := adopt(); err == nil || !strings.Contains(err.Error(), "--data-dir or --etcd-servers") {
		t.Errorf("without a store: %v", err)
	}
}
