// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"crypto/x509"
	"errors"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/test/must"
)

func makePair(t *testing.T) *pki.Pair {
	t.Helper()
	template := pki.Serving("a", []string{"primary.example.org"})
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return must.Get(pki.Issue(nil, template, time.Now(), time.Hour))(t)
}

func tlsClass(secondaries ...v1alpha1.Secondary) *v1alpha1.DNSClass {
	return &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "tls"}, Spec: v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{
		Secondaries: secondaries, TLS: &v1alpha1.TransferTLS{
			ServerSecretRef:   v1alpha1.SecretReference{Name: "server", Namespace: "dns"},
			ClientCASecretRef: v1alpha1.SecretReference{Name: "clients", Namespace: "dns"},
		}}}}
}

// The rules of a class with TLS: a certificate stands for the address of a server without a key, and never for a key
// (S17.2). The controller asks a server with tlsServer over TLS, and compares no content of another.
func TestReadPeers_withTLS_S17_2(t *testing.T) {
	pair := makePair(t)
	data := map[string]map[string][]byte{
		"dns/server": {"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM}, "dns/clients": {"ca.crt": pair.CertPEM},
		"dns/key": {"name": []byte("k."), "secret": []byte("YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s=")},
	}
	read := func(namespace, name string) (map[string][]byte, error) {
		if found := data[namespace+"/"+name]; found != nil {
			return found, nil
		}
		return nil, secrets.ErrNotFound
	}
	key := &v1alpha1.SecretReference{Name: "key", Namespace: "dns"}
	for title, test := range map[string]struct {
		secondaries []v1alpha1.Secondary
		rules       []string // the keys
	}{
		"no server":              {nil, []string{""}},
		"a server without a key": {[]v1alpha1.Secondary{{Address: "192.0.2.1", TLSServer: "ns1.example.org"}}, []string{""}},
		"a server with a key":    {[]v1alpha1.Secondary{{Address: "192.0.2.1", TSIGSecretRef: key}}, []string{"k."}},
		"both": {[]v1alpha1.Secondary{{Address: "192.0.2.1", TSIGSecretRef: key}, {Address: "192.0.2.2"}},
			[]string{"k.", ""}},
	} {
		peers, err := ReadPeers(tlsClass(test.secondaries...), read)
		if err != nil || peers.Class.TLS == nil || len(peers.Class.Allow) != len(test.rules) {
			t.Fatalf("%s: %v\n%+v", title, err, peers.Class.Allow)
		}
		for i, rule := range peers.Class.Allow {
			if rule.Key != test.rules[i] || len(rule.Prefixes) > 0 {
				t.Errorf("%s: rule %d is %+v", title, i, rule)
			}
		}
		for _, s := range peers.Secondaries {
			if s.InClear == (s.TLS != nil) {
				t.Errorf("%s: %+v", title, s)
			}
			if s.TLS != nil && (s.TLSAddr.String() != "192.0.2.1:853" || s.TLS.ServerName != "ns1.example.org") {
				t.Errorf("%s: it asks %s as %s", title, s.TLSAddr, s.TLS.ServerName)
			}
		}
	}

	// A rotated Secret changes the peers, and an equal one does not.
	before := must.Get(ReadPeers(tlsClass(), read))(t)
	if again := must.Get(ReadPeers(tlsClass(), read))(t); !samePeers(before, again) {
		t.Error("the same Secrets are other peers")
	}
	next := makePair(t)
	data["dns/clients"] = map[string][]byte{"ca.crt": next.CertPEM}
	if again := must.Get(ReadPeers(tlsClass(), read))(t); samePeers(before, again) {
		t.Error("another authority are the same peers")
	}

	// Faults name the Secret, its key and the next step, and no value.
	for want, change := range map[string]func(){
		`Secret dns/clients: data["ca.crt"] is missing`: func() { data["dns/clients"] = map[string][]byte{} },
		"there is no such Secret":                       func() { delete(data, "dns/clients") },
		"do not make a pair": func() {
			data["dns/clients"] = map[string][]byte{"ca.crt": pair.CertPEM}
			data["dns/server"] = map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": next.KeyPEM}
		},
	} {
		change()
		_, err := ReadPeers(tlsClass(), read)
		must.Say(t, err, want)
		data["dns/clients"] = map[string][]byte{"ca.crt": pair.CertPEM}
		data["dns/server"] = map[string][]byte{"tls.crt": pair.CertPEM, "tls.key": pair.KeyPEM}
	}
}

// Attack 145: the Secret of another namespace. A class reads only the namespace that it names; names that would lead
// out of it are refused by the API (TestDNSClass_tls).
func TestReadPeers_readsNoOtherNamespace(t *testing.T) {
	directory := secrets.Directory(t.TempDir())
	pair := makePair(t)
	must.Succeed(t, directory.Create("team-a", "server",
		map[string]string{"tls.crt": string(pair.CertPEM), "tls.key": string(pair.KeyPEM)}))
	must.Succeed(t, directory.Create("dns", "clients", map[string]string{"ca.crt": string(pair.CertPEM)}))
	_, err := ReadPeers(tlsClass(), func(namespace, name string) (map[string][]byte, error) {
		return directory.Get(t.Context(), namespace, name)
	})
	if !errors.Is(err, secrets.ErrNotFound) {
		t.Errorf("the Secret of team-a: %v", err)
	}
}

// A server that transfers nothing over TLS has a row with cause and next step, which goes with the fault. Each cause
// has texts (S17.4).
func TestReports_ofTLS_S17_4(t *testing.T) {
	s := transfer.Secondary{Name: "192.0.2.1", Addr: netip.MustParseAddrPort("192.0.2.1:53")}
	peers, r, clock := Peers{Secondaries: []transfer.Secondary{s}}, newReports(), time.Unix(1700000000, 0)
	at, known := cache.NewObjectName("team", "d"), &waiting{serial: 7}
	for _, cause := range []string{primary.TLSNotUsed, primary.TLSNoALPN, primary.TLSVersion, primary.TLSNoCertificate,
		primary.TLSUnknownAuthority, primary.TLSCertificateExpired, primary.TLSWrongName, primary.TLSRefusedByPeer, primary.TLSHandshake} {
		faults := map[netip.Addr]primary.TLSFault{s.Addr.Addr(): {Cause: cause, Text: "why", Since: clock}}
		rows, fresh := r.decideRows(at, known, peers, nil, faults, clock)
		if len(rows) != 1 || rows[0].Answer != cause || rows[0].Remedy == "" || class.TLSFault(&rows[0]) == "" ||
			class.ReasonOfNotify(&rows[0]) != v1alpha1.ReasonTLSFailing {
			t.Fatalf("%s: %+v", cause, rows)
		}
		known.notify = rows
		for k, v := range fresh {
			r.last[k] = v
		}
	}
	if rows, _ := r.decideRows(at, known, peers, nil, nil, clock); len(rows) != 0 {
		t.Errorf("a row stays without a fault: %+v", rows)
	}
}
