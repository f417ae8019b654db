// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/storagebackend"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// If the server cannot reach etcd at its start, the error names the cause (an untrusted certificate, or a refused
// connection) and the flag or check that helps.
func TestDial_saysWhyNot(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	stranger := must.Get(pki.Issue(nil, pki.Authority("another authority"), time.Now(), time.Hour))(t)
	authority := filepath.Join(t.TempDir(), "ca.crt")
	must.Succeed(t, os.WriteFile(authority, stranger.CertPEM, 0o600))
	closed := must.Get(rig.FreePort())(t)
	for name, test := range map[string]struct {
		where storagebackend.TransportConfig
		want  []string
	}{
		"its certificate is of another authority": {
			storagebackend.TransportConfig{ServerList: []string{server.URL}, TrustedCAFile: authority},
			[]string{"x509: ", "--etcd-cafile"},
		},
		"nothing listens": {
			storagebackend.TransportConfig{ServerList: []string{"http://" + closed.String()}},
			[]string{"connection refused", "is it running there?"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			_, err := dialEtcd(ctx, test.where)
			must.Say(t, err, test.want...)
		})
	}
}
