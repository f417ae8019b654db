// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package peercert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"kubi.zone/kubizone/test/must"
)

const host = "kubizone-apiserver-0.kubizone-etcd.kubizone-system.svc"

func makeOptions(t *testing.T) *Options {
	return &Options{Secret: "kubizone-system/kubizone-etcd-peer", Hosts: []string{"*.kubizone-etcd.kubizone-system.svc"}, Dir: t.TempDir()}
}

func runCommand(t *testing.T, o *Options, client *fake.Clientset, now time.Time) (pool *x509.CertPool, pair tls.Certificate) {
	t.Helper()
	must.Succeed(t, o.Validate())
	must.Succeed(t, o.Run(t.Context(), client.CoreV1(), now))
	pair = must.Get(tls.LoadX509KeyPair(filepath.Join(o.Dir, "tls.crt"), filepath.Join(o.Dir, "tls.key")))(t)
	text := must.Get(os.ReadFile(filepath.Join(o.Dir, "ca.crt")))(t)
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool, pair
}

// K1, K3: three members that start at once trust each other.
func TestRun_makesMembersAuthenticateEachOther(t *testing.T) {
	client := fake.NewClientset()
	type member struct {
		pool *x509.CertPool
		pair tls.Certificate
	}
	members := make([]member, 3)
	var group sync.WaitGroup
	for i := range members {
		o := makeOptions(t)
		group.Go(func() { members[i].pool, members[i].pair = runCommand(t, o, client, time.Now()) })
	}
	group.Wait()
	for _, one := range members {
		for _, other := range members {
			if _, err := other.pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: one.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
				t.Error("as server:", err)
			}
			if _, err := other.pair.Leaf.Verify(x509.VerifyOptions{Roots: one.pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Error("as client:", err)
			}
		}
	}
}

func TestRun_keepsKeysFromOthers(t *testing.T) {
	o := makeOptions(t)
	runCommand(t, o, fake.NewClientset(), time.Now())
	if info, err := os.Stat(filepath.Join(o.Dir, "tls.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("tls.key: %v, %v", info.Mode(), err)
	}
}

// The leaf certificate of an etcd member is renewed when it is due, and nothing else is. The authority stays, so
// members with the old leaf and a member with the new one trust each other meanwhile (K2).
func TestRun_renewsTheLeafAloneAndOnlyWhenItIsDue(t *testing.T) {
	client, now := fake.NewClientset(), time.Now()
	o := makeOptions(t)
	pool, first := runCommand(t, o, client, now)
	_, again := runCommand(t, o, client, now.Add(leafLife/2))
	if !again.Leaf.Equal(first.Leaf) {
		t.Error("a leaf in the first half of its life was replaced")
	}
	at := now.Add(leafLife * 2 / 3)
	_, renewed := runCommand(t, o, client, at)
	if renewed.Leaf.Equal(first.Leaf) {
		t.Error("a leaf that was due was kept")
	}
	if _, err := renewed.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: at}); err != nil {
		t.Error("a member that runs does not know the new leaf:", err)
	}
	o.Hosts = append(o.Hosts, "localhost")
	if _, wider := runCommand(t, o, client, at); wider.Leaf.VerifyHostname("localhost") != nil {
		t.Error("a host was added to the flags and not to the leaf")
	}
}

func TestRun_namesAndLeavesWhatItCannotRead(t *testing.T) {
	client := fake.NewClientset()
	o := makeOptions(t)
	runCommand(t, o, client, time.Now())
	secrets := client.CoreV1().Secrets("kubizone-system")
	secret := must.Get(secrets.Get(t.Context(), "kubizone-etcd-peer", metav1.GetOptions{}))(t)
	secret.Data["ca.key"] = []byte("x")
	must.Get(secrets.Update(t.Context(), secret, metav1.UpdateOptions{}))(t)
	must.Say(t, o.Run(t.Context(), client.CoreV1(), time.Now()), o.Secret, "ca.key")
	after, _ := secrets.Get(t.Context(), "kubizone-etcd-peer", metav1.GetOptions{})
	if !bytes.Equal(after.Data["tls.crt"], secret.Data["tls.crt"]) {
		t.Error("the Secret was overwritten")
	}
}

func TestValidate_namesEveryFlag(t *testing.T) {
	err := (&Options{Secret: "x"}).Validate()
	must.Say(t, err, "--secret", "--hosts", "--dir")
}
