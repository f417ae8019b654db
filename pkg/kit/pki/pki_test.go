// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/test/must"
)

func openBundle(t *testing.T, dir string, hosts []string, now time.Time) *Bundle {
	t.Helper()
	return must.Get(Open(dir, hosts, now))(t)
}

// A server with the bundle's certificates accepts a client with the bundle's kubeconfig, and sees a member of
// system:masters.
func TestKubeconfig_letsItsHolderInAsAdministrator(t *testing.T) {
	b := openBundle(t, t.TempDir(), Hosts("127.0.0.1"), time.Now())
	pair := must.Get(tls.X509KeyPair(b.ServingCert, b.ServingKey))(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.CA)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := r.TLS.PeerCertificates[0].Subject
		io.WriteString(w, peer.CommonName+" "+strings.Join(peer.Organization, ","))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	defer server.Close()

	text := must.Get(b.Kubeconfig(server.URL))(t)
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(text))(t)
	client := must.Get(rest.HTTPClientFor(config))(t)
	answer := must.Get(client.Get(server.URL))(t)
	defer answer.Body.Close()
	got, _ := io.ReadAll(answer.Body)
	if string(got) != AdminUser+" "+AdminGroup {
		t.Errorf("the server sees %q", got)
	}
}

// P1.
func TestOpen_keepsKeysFromOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	openBundle(t, dir, Hosts(""), time.Now())
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v", dir, info.Mode(), err)
	}
	keys, _ := filepath.Glob(filepath.Join(dir, "*.key"))
	if len(keys) != 3 {
		t.Errorf("keys: %v", keys)
	}
	for _, key := range keys {
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", key, info.Mode(), err)
		}
	}
}

// P2.
func TestOpen_keepsWhatIsStillGood(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first := openBundle(t, dir, []string{"localhost", "127.0.0.1"}, now)

	again := openBundle(t, dir, []string{"localhost"}, now.Add(time.Hour))
	if !bytes.Equal(first.CA, again.CA) || !bytes.Equal(first.ServingCert, again.ServingCert) || !bytes.Equal(first.AdminKey, again.AdminKey) {
		t.Error("a restart made certificates anew")
	}

	moved := openBundle(t, dir, []string{"localhost", "192.0.2.1"}, now)
	if !bytes.Equal(first.CA, moved.CA) || !bytes.Equal(first.AdminCert, moved.AdminCert) {
		t.Error("a new address changed more than the serving certificate")
	}
	if bytes.Equal(first.ServingCert, moved.ServingCert) {
		t.Error("the serving certificate does not cover the new address")
	}

	late := openBundle(t, dir, []string{"localhost"}, now.Add(validity-renewBefore))
	if bytes.Equal(first.CA, late.CA) || bytes.Equal(first.AdminCert, late.AdminCert) {
		t.Error("certificates with less than a year left were kept")
	}
}

// A crash or an editor leaves half a pair of certificate and key, or a key beside another certificate: the pair is made
// anew (P2, P3). A file that cannot be decoded is an error with its name.
func TestOpen_meetsWhatACrashOrAnEditorLeft(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	first := openBundle(t, dir, []string{"localhost"}, now)
	must.Succeed(t, os.Remove(filepath.Join(dir, "admin.crt")))
	if b := openBundle(t, dir, []string{"localhost"}, now); bytes.Equal(b.AdminKey, first.AdminKey) || !bytes.Equal(b.CA, first.CA) {
		t.Error("half a pair was kept, or the whole one was not")
	}
	// A crash between the two writes leaves a new key beside the old certificate.
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "admin.key"), first.AdminKey, 0o600))
	b := openBundle(t, dir, []string{"localhost"}, now)
	if _, err := tls.X509KeyPair(b.AdminCert, b.AdminKey); err != nil {
		t.Errorf("certificate and key do not belong together: %v", err)
	}
	broken := filepath.Join(dir, "serving.crt")
	must.Succeed(t, os.WriteFile(broken, []byte("poem"), 0o600))
	if _, err := Open(dir, []string{"localhost"}, now); err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("a broken file: %v", err)
	}
}

func TestHosts_coversWhatIsListenedOn(t *testing.T) {
	if hosts := Hosts("192.0.2.7"); !slices.Contains(hosts, "192.0.2.7") || !slices.Contains(hosts, "localhost") {
		t.Errorf("one address: %v", hosts)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Skip("this machine has no name")
	}
	for _, unspecified := range []string{"", "0.0.0.0", "::"} {
		if hosts := Hosts(unspecified); !slices.Contains(hosts, name) {
			t.Errorf("%q: %v lacks this machine's name", unspecified, hosts)
		}
	}
}
