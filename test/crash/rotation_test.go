// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// F26: the front proxy's authority changes while the server runs. A certificate of the new authority authenticates
// users only while the cluster trusts that authority. The old authority is trusted throughout.
func TestF26_frontProxyAuthorityChanges(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	maps := must.Get(w.kube.Clients())(t).CoreV1().ConfigMaps("kube-system")
	const trust, key = "extension-apiserver-authentication", "requestheader-client-ca-file"
	believe := func(authorities string) {
		t.Helper()
		until(ctx, t, "the cluster says whom to believe", func() error {
			m, err := maps.Get(ctx, trust, metav1.GetOptions{})
			if err == nil {
				m.Data[key] = authorities
				_, err = maps.Update(ctx, m, metav1.UpdateOptions{})
			}
			return err
		})
	}
	before := must.Get(maps.Get(ctx, trust, metav1.GetOptions{}))(t).Data[key]
	defer believe(before)

	next := must.Get(rig.NewAuthority("the next front proxy"))(t)
	foreign := must.Get(must.Get(next.Client(kuberig.FrontProxyName))(t).TLS())(t)
	own := must.Get(w.kube.FrontProxy())(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.kube.ClusterCA.PEM)
	ask := func(as tls.Certificate) (int, error) { // on a new connection
		client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{as}}}}
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, one.URL()+"/apis/kubi.zone/v1alpha1/namespaces/"+owner+"/zones",
			nil))(t)
		request.Header.Set("X-Remote-User", "somebody")
		request.Header.Set("X-Remote-Group", "system:masters")
		answer, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	is := func(code int) {
		t.Helper()
		until(ctx, t, fmt.Sprintf("whom the next authority signed reads %d", code), func() error {
			if have, err := ask(own); err != nil || have != http.StatusOK {
				t.Fatalf("whom the authority signed that stays reads %d, %v", have, err)
			}
			have, err := ask(foreign)
			if err == nil && have != code {
				err = fmt.Errorf("it reads %d", have)
			}
			return err
		})
		l.waitAcked(ctx, t, 5)
	}
	is(http.StatusUnauthorized)
	believe(before + string(next.PEM))
	is(http.StatusOK)
	believe(before)
	is(http.StatusUnauthorized)
	l.endLoad()
	if l.unknown["no answer"] > 0 {
		t.Errorf("requests without an answer: %v", l.unknown)
	}
	w.checkAll(ctx, t, l, e, one)
}

// F26: the authorities of etcd and of the server's client certificate are replaced: both authorities are trusted
// before the new certificates are used. Without a restart, writes go on when etcd trusts only the new authority.
func TestF26_etcdAuthorityChanges(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	old, next := must.Get(rig.NewAuthority("etcd's first"))(t), must.Get(rig.NewAuthority("etcd's next"))(t)
	trust := func(name string, authorities ...*rig.Authority) {
		t.Helper()
		var bundle []byte
		for _, a := range authorities {
			bundle = append(bundle, a.PEM...)
		}
		must.Succeed(t, errors.Join(os.WriteFile(file(name+".new"), bundle, 0o600), os.Rename(file(name+".new"), file(name))))
	}
	use := func(a *rig.Authority) {
		t.Helper()
		_, _, err := must.Get(a.Serving("127.0.0.1"))(t).Write(file("serving"))
		if err == nil {
			_, _, err = must.Get(a.Client("kubizone"))(t).Write(file("client"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trust("ca.crt", old, next)      // of etcd
	trust("etcd-ca.crt", old, next) // of the server
	use(old)
	e := startSecureEtcd(ctx, t, dir, "--etcd-cafile", file("etcd-ca.crt"), "--etcd-certfile", file("client.crt"), "--etcd-keyfile", file("client.key"))
	one := w.serverWith(ctx, t, e.listEndpoints(), slices.Clone(e.access))
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)
	first := must.Get(tls.LoadX509KeyPair(file("client.crt"), file("client.key")))(t)

	use(next)
	shown := func() []byte { // returns etcd's certificate; nil if etcd refuses the first client's certificate
		connection, err := tls.Dial("tcp", e.members[0].clients.Addr.String(), &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{first}}) // the test inspects the certificate
		if err != nil {
			return nil
		}
		defer connection.Close()
		_ = connection.SetDeadline(time.Now().Add(time.Second))
		if _, err := connection.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil // TLS 1.3 refuses after the handshake
		}
		return connection.ConnectionState().PeerCertificates[0].RawIssuer
	}
	e.members[0].clients.resetConnections()
	until(ctx, t, "etcd shows its new certificate", func() error {
		if issuer := shown(); !bytes.Contains(issuer, []byte("etcd's next")) {
			return fmt.Errorf("issued by %q", issuer)
		}
		return nil
	})
	l.waitAcked(ctx, t, 20)

	trust("ca.crt", next)
	e.members[0].killMember()
	e.members[0].startMember(t)
	e.members[0].waitReady(ctx, t)
	if shown() != nil {
		t.Error("etcd takes a client of the authority that it does not trust any more")
	}
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one)
}
