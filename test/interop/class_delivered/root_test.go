// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// rootZone delegates example.; the name server's address is that of each fleet server, at other ports.
const rootZone = `$TTL 2
. IN SOA ns. host. 1 60 1 3600 2
. IN NS ns.
ns. IN A 127.0.0.1
example. IN NS ns.example.
ns.example. IN A 192.0.2.53
`

type localRoot struct {
	*rig.BIND
	servers []netip.AddrPort
	// anchors is a file with the key in named.conf syntax, digest that of the key's DS.
	anchors, digest string
}

var rootKey = rig.TSIGKey{Name: "root.example", Algorithm: "hmac-sha256", Secret: red.Secret}

func startLocalRoot(ctx context.Context, t *testing.T, servers []netip.AddrPort) *localRoot {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "root.db")
	must.Succeed(t, os.WriteFile(file, []byte(rootZone), 0o600))
	var targets strings.Builder
	for _, at := range servers {
		fmt.Fprintf(&targets, "%s port %d; ", at.Addr(), at.Port())
	}
	root := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Keys: []rig.TSIGKey{rootKey}, Notify: true, Statements: fmt.Sprintf(`dnssec-policy "root" { keys { csk lifetime unlimited algorithm ecdsap256sha256; }; dnskey-ttl PT2S; max-zone-ttl PT2S; };
zone "." { type primary; file %q; dnssec-policy "root"; allow-update { key %q; }; also-notify { %s}; };
`, file, rootKey.Name, targets.String())}))(t)
	r := &localRoot{BIND: root, servers: servers, anchors: filepath.Join(dir, "anchors")}
	waitUntil(t, func() (bool, string) {
		keys, signatures, err := askSigned(root.Addr, ".", mdns.TypeDNSKEY)
		if err != nil || len(keys) != 1 || len(signatures) == 0 {
			return false, fmt.Sprintf("the root is not signed: %v\n%s", err, root.Log())
		}
		key := keys[0].(*mdns.DNSKEY)
		r.digest = key.ToDS(mdns.SHA256).Digest
		anchor := fmt.Sprintf("trust-anchors { \".\" static-key %d %d %d %q; };\n", key.Flags, key.Protocol, key.Algorithm, key.PublicKey)
		must.Succeed(t, os.WriteFile(r.anchors, []byte(anchor), 0o600))
		return true, ""
	})
	return r
}

func (r *localRoot) findServers(ctx context.Context, zone name.Name) ([]signing.ParentServer, error) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, r.Addr.String())
	}}
	found, err := signing.LookupParentServers(resolver)(ctx, zone)
	if err != nil || len(found) != 1 || !slices.Equal(found[0].Addresses, []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53")}) {
		return nil, fmt.Errorf("the servers of the root are found at %v, not at 127.0.0.1: %w", found, err)
	}
	var servers []signing.ParentServer
	for _, at := range r.servers {
		servers = append(servers, signing.ParentServer{Name: at.String(), Addresses: []netip.AddrPort{at}})
	}
	return servers, nil
}

func (r *localRoot) enterDS(ctx context.Context, all []v1alpha1.DelegationSigner) error {
	script := "zone .\nupdate delete example. DS\n"
	for _, ds := range all {
		script += fmt.Sprintf("update add example. 2 DS %d %d %d %s\n", ds.KeyTag, ds.Algorithm, ds.DigestType, ds.Digest)
	}
	_, err := rig.Nsupdate(ctx, r.Addr, &rootKey, script+"send\n")
	return err
}

func (r *localRoot) startResolver(ctx context.Context, t *testing.T) *rig.BIND {
	t.Helper()
	anchors := must.Get(os.ReadFile(r.anchors))(t)
	var servers strings.Builder
	for _, at := range r.servers {
		fmt.Fprintf(&servers, "%s port %d; ", at.Addr(), at.Port())
	}
	resolver := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Statements: fmt.Sprintf(`view "resolver" {
recursion yes; dnssec-validation yes; max-ncache-ttl 2; servfail-ttl 0;
%szone "." { type forward; forward only; forwarders { %s}; };
};
`, anchors, servers.String())}))(t)
	return resolver
}

// askResolver: an invalid answer is an error.
func askResolver(at netip.AddrPort, fqdn string, of uint16) (secure bool, err error) {
	question := new(mdns.Msg).SetQuestion(fqdn, of)
	question.AuthenticatedData = true
	answer, _, err := (&mdns.Client{Net: "tcp", Timeout: 15 * time.Second}).Exchange(question, at.String())
	switch {
	case err != nil:
		return false, err
	case answer.Rcode != mdns.RcodeSuccess || len(answer.Answer) == 0:
		return false, fmt.Errorf("%s with %d records", mdns.RcodeToString[answer.Rcode], len(answer.Answer))
	}
	return answer.AuthenticatedData, nil
}

// askDelv: an invalid answer is an error.
func (r *localRoot) askDelv(ctx context.Context, at netip.AddrPort, fqdn string, of uint16) (secure bool, err error) {
	out, err := rig.Delv(ctx, at, r.anchors, fqdn, mdns.TypeToString[of])
	switch {
	case err != nil:
		return false, err
	case strings.Contains("\n"+out, "\n; fully validated\n"):
		return true, nil
	case strings.Contains("\n"+out, "\n; unsigned answer\n"):
		return false, nil
	}
	return false, fmt.Errorf("delv prints:\n%s", out)
}

type expectation int

const (
	either expectation = iota // secure, or below a zone without a DS
	secure
	unsigned
)

type watch struct {
	mu       sync.Mutex
	expected map[string]expectation // by name
	last     map[string]bool        // by name and validator: the last answer was secure
	asked    map[string]bool        // names and validators that report again and again
	count    map[string]int         // by validator
	wrong    []string
}

func newWatch() *watch {
	return &watch{expected: map[string]expectation{}, last: map[string]bool{}, asked: map[string]bool{}, count: map[string]int{}}
}

func (w *watch) validateAnswer(ctx context.Context, validator, fqdn string, look func() (bool, error)) {
	w.mu.Lock()
	before := w.expected[fqdn]
	w.mu.Unlock()
	is, err := look()
	if ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count[validator]++
	w.last[fqdn+" "+validator] = is && err == nil
	against := before == w.expected[fqdn] && (before == secure && !is || before == unsigned && is)
	if err != nil || against {
		w.wrong = append(w.wrong, fmt.Sprintf("%s: %s by %s: secure %v, %v", time.Now().Format(time.TimeOnly), fqdn, validator, is, err))
	}
}

// expectValidation sets the required result for names, once every validator has reported that result: a resolver whose
// first answer comes later may still have the absence of a DS in its cache.
func (w *watch) expectValidation(t *testing.T, what expectation, names []string, explain func() string) {
	t.Helper()
	if what != either {
		waitUntil(t, func() (bool, string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for of := range w.asked {
				fqdn, _, _ := strings.Cut(of, " ")
				is, has := w.last[of]
				if slices.Contains(names, fqdn) && (!has || is != (what == secure)) {
					return false, fmt.Sprintf("%s: reported %v, secure %v; %q %s", of, has, is, w.wrong[:min(len(w.wrong), 10)], explain())
				}
			}
			return true, ""
		})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, fqdn := range names {
		w.expected[fqdn] = what
	}
}

func (w *watch) checkAnswers(t *testing.T, what string, explain func() string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("%s %s: answers validated: %v", time.Now().Format(time.TimeOnly), what, w.count)
	if len(w.wrong) > 0 {
		t.Fatalf("%s: %d answers are wrong:\n%s\n%s", what, len(w.wrong), strings.Join(w.wrong[:min(len(w.wrong), 10)], "\n"), explain())
	}
	clear(w.count)
}
