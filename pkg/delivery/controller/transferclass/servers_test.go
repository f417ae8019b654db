// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/test/must"
)

// S11.17: a server without an address, without its key, or with a conflicting key name delays no other.
func TestReadServers_holdsBackNoOther_S11_17(t *testing.T) {
	of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{CatalogZone: "catalog.example."}}}
	const one, other = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s=", "YW5vdGhlciBzZWNyZXQgb2YgMzIgb2N0ZXRzLCBvay4="
	stored := map[string]map[string][]byte{
		"dns/edge-tsig": {"name": []byte("edge."), "secret": []byte(one)},
		"vm/same":       {"name": []byte("edge."), "secret": []byte(one)},
		"vm/other":      {"name": []byte("edge."), "secret": []byte(other)},
		"vm/broken":     {"name": []byte("vm."), "secret": []byte("canary !")},
	}
	server := func(namespace, name, address, key string) apiclass.Server {
		s := apiclass.Server{Namespace: namespace, Name: name, Address: address}
		if key != "" {
			s.Key = &v1alpha1.SecretReference{Namespace: namespace, Name: key}
		}
		return s
	}
	servers := []apiclass.Server{
		server("dns", "first", "192.0.2.1:53", "edge-tsig"), server("dns", "second", "192.0.2.2", "edge-tsig"), server("dns", "unmade", "", "edge-tsig"),
		server("vm", "alike", "192.0.2.3", "same"), server("vm", "unkeyed", "192.0.2.4", ""), server("vm", "another", "192.0.2.5", "other"),
		server("vm", "broken", "192.0.2.6", "broken"), server("vm", "keyless", "192.0.2.7", "missing"),
		server("vm", "refused", "192.0.2.8", "refused"),
	}
	selected := must.Get(ReadServers(of, servers, nil, func(namespace, name string) (map[string][]byte, error) {
		if data := stored[namespace+"/"+name]; data != nil {
			return data, nil
		}
		if name == "refused" {
			return nil, fmt.Errorf("%w: %w", errUnread, apierrors.NewForbidden(v1alpha1.Resource("secrets"), name, errors.New("canary")))
		}
		return nil, fmt.Errorf("Secret %s/%s: %w", namespace, name, secrets.ErrNotFound)
	}))(t)
	var known []string
	peers := selected.Peers
	for _, s := range peers.Secondaries {
		known = append(known, fmt.Sprintf("%s %s %t", s.Name, s.Addr, s.Key != nil))
	}
	if want := []string{"dns/first 192.0.2.1:53 true", "dns/second 192.0.2.2:53 true", "vm/alike 192.0.2.3:53 true", "vm/unkeyed 192.0.2.4:53 false"}; !slices.Equal(known, want) {
		t.Errorf("servers %q, want %q", known, want)
	}
	var waiting []string
	for _, s := range selected.Waiting {
		if s.Err == nil {
			waiting = append(waiting, RowName(s.Server))
			continue
		}
		waiting = append(waiting, string(s.Err.Reason)+" "+s.Err.Message)
	}
	if want := []string{
		"dns/unmade",
		"InvalidConfiguration vm/another has the TSIG key edge, and dns/first has another key of that name; a signature identifies its key by the name alone; rename the key of the server, in the Secret vm/other and at the server",
		"InvalidConfiguration vm/broken has no TSIG key: Secret vm/broken: secret: is not base64; write it as tsig-keygen does",
		"SecretNotFound vm/keyless has no TSIG key: there is no Secret vm/missing",
		"AuthenticationFailed vm/refused has a TSIG key that may not be read: give the controller and the primary the right to get the Secret vm/refused",
	}; !slices.Equal(waiting, want) {
		t.Errorf("waiting %q, want %q", waiting, want)
	}
	for i, s := range selected.Servers {
		if RowName(s) != peers.Secondaries[i].Name {
			t.Errorf("%d: %s beside %s", i, RowName(s), peers.Secondaries[i].Name)
		}
	}
	if peers.Catalog.String() != "catalog.example." || len(peers.Class.Keys) != 1 || len(peers.Class.Notify) != 4 || len(peers.Class.Allow) != 2 {
		t.Errorf("%+v", peers.Class)
	}
	away := errors.New("no kube-apiserver")
	if _, err := ReadServers(of, servers, nil, func(string, string) (map[string][]byte, error) { return nil, away }); !errors.Is(err, away) {
		t.Errorf("a Secret that cannot be read: %v", err)
	}
	if _, err := (*Servers)(nil).ListServers(of); !errors.Is(err, errUnlisted) {
		t.Errorf("%v", err)
	}
}

// In the mode Update, servers of several namespaces may have the same key. An older server of another namespace still
// cannot take a key name of this namespace from it (S11.17, attack 103).
func TestReadServers_nameOfItsNamespaceComesFirst_S11_17(t *testing.T) {
	of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{Mode: v1alpha1.Bind9ModeUpdate}}}
	secrets := map[string]map[string][]byte{
		"mallory/tsig": secretOf("vm.bind9.victim", "B"), "victim/tsig": secretOf("vm.bind9.victim", "A"),
		"beside/tsig": secretOf("vm.bind9.victim", "A"),
	}
	var servers []apiclass.Server
	for i, namespace := range []string{"mallory", "beside", "victim"} { // older first
		servers = append(servers, apiclass.Server{Namespace: namespace, Name: "vm", Address: "192.0.2.1", Created: time.Unix(int64(i), 0),
			Key: &v1alpha1.SecretReference{Namespace: namespace, Name: "tsig"}})
	}
	selected := must.Get(ReadServers(of, servers, nil, func(namespace, name string) (map[string][]byte, error) {
		return secrets[namespace+"/"+name], nil
	}))(t)
	if len(selected.Servers) != 2 || len(selected.Waiting) != 1 || selected.Waiting[0].Namespace != "mallory" {
		t.Errorf("known %v, waiting %v", selected.Servers, selected.Waiting)
	}
}

// A signer without a key of its own is no peer, and keeps no other signer from signing.
func TestReadServers_signerNeedsItsOwnKey_S12_4(t *testing.T) {
	of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Bind9: &v1alpha1.Bind9Provider{CatalogZone: "catalog.example."}}}
	secrets := map[string]map[string][]byte{
		"dns/signer-tsig": secretOf("signer.bind9.dns", "A"), "dns/edge-tsig": secretOf("edge.bind9.dns", "B"),
		"vm/one-tsig": secretOf("one.bind9.vm", "C"),
	}
	server := func(namespace, name, address, key string, signer bool) apiclass.Server {
		return apiclass.Server{Namespace: namespace, Name: name, Address: address, Signer: signer,
			Key: &v1alpha1.SecretReference{Namespace: namespace, Name: key}}
	}
	servers := []apiclass.Server{
		{Namespace: "aaa", Name: "keyless", Address: "192.0.2.1", Signer: true},
		server("dns", "edge", "192.0.2.2", "edge-tsig", false), server("dns", "shared", "192.0.2.3", "edge-tsig", true),
		server("dns", "signer", "192.0.2.4", "signer-tsig", true),
		server("vm", "one", "192.0.2.5", "one-tsig", true), server("vm", "two", "192.0.2.6", "one-tsig", true),
	}
	selected := must.Get(ReadServers(of, servers, nil, func(namespace, name string) (map[string][]byte, error) {
		return secrets[namespace+"/"+name], nil
	}))(t)
	var peers []string
	for i, s := range selected.Secondaries {
		peers = append(peers, fmt.Sprintf("%s %t %t", s.Name, s.Signs, selected.Servers[i].Signer))
	}
	for _, target := range selected.Class.Notify {
		peers = append(peers, fmt.Sprintf("notify %s %t", target.Addr.Addr(), target.Signs))
	}
	for _, rule := range selected.Class.Allow {
		peers = append(peers, fmt.Sprintf("allow %s%v %t", rule.Key, rule.Prefixes, rule.Signs))
	}
	if want := []string{
		"dns/edge false false", "dns/signer true true", "notify 192.0.2.2 false", "notify 192.0.2.4 true", "allow edge.bind9.dns.[] false",
		"allow signer.bind9.dns.[] true",
	}; !slices.Equal(peers, want) {
		t.Errorf("peers %q, want %q", peers, want)
	}
	var waiting []string
	for _, s := range selected.Waiting {
		if s.Err == nil || s.Err.Reason != delivery.ReasonInvalidConfiguration {
			t.Errorf("%s: %v", RowName(s.Server), s.Err)
		}
		waiting = append(waiting, RowName(s.Server))
	}
	if want := []string{"aaa/keyless", "dns/shared", "vm/one", "vm/two"}; !slices.Equal(waiting, want) {
		t.Errorf("waiting %q, want %q", waiting, want)
	}
}

// A primary limits what a tenant uses. The servers of a Bind9Cluster count for its namespace, and those of a DNSClass,
// which the platform owns, for no tenant (S11.30).
func TestReadServers_areOfATenant_S11_30(t *testing.T) {
	cluster := apiclass.OfCluster(&bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "edge"}})
	public := cluster.DeepCopy()
	public.Name = "team"
	for of, want := range map[*v1alpha1.DNSClass]string{cluster: "team", public: ""} {
		selected, err := ReadServers(of, nil, nil, func(string, string) (map[string][]byte, error) { return nil, secrets.ErrNotFound })
		if err != nil || selected.Peers.Class.Tenant != want {
			t.Errorf("%s: tenant %q, %v", of.Name, selected.Peers.Class.Tenant, err)
		}
	}
}
