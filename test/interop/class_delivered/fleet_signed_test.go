// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class_delivered

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bindagent"
	"kubi.zone/kubizone/pkg/bindagent/rndc"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/rig"
)

var (
	fleetKey   = rig.TSIGKey{Name: "fleet.example", Algorithm: "hmac-sha256", Secret: red.Secret}
	signerKey  = rig.TSIGKey{Name: "signer.example", Algorithm: "hmac-sha256", Secret: "c2lnbmVyLXNpZ25lci1zaWduZXItc2lnbmVyLTAwMDE="}
	controlKey = rig.TSIGKey{Name: "control.example", Algorithm: "hmac-sha256", Secret: "Y29udHJvbC1jb250cm9sLWNvbnRyb2wtY29udHJvbDE="}
)

// fastPolicy has keys that are replaced twice a minute.
const fastPolicy = `dnssec-policy "fast" {
	keys { ksk lifetime PT25S algorithm ecdsap256sha256; zsk lifetime PT20S algorithm ecdsap256sha256; };
	dnskey-ttl PT2S; max-zone-ttl PT3S; parent-ds-ttl PT2S; zone-propagation-delay PT2S; parent-propagation-delay PT1S;
	publish-safety PT1S; retire-safety PT1S; signatures-validity PT60S; signatures-validity-dnskey PT60S; signatures-refresh PT50S; signatures-jitter PT0S;
};
dnssec-policy "still" {
	keys { ksk lifetime unlimited algorithm ecdsap256sha256; zsk lifetime PT20S algorithm ecdsap256sha256; };
	dnskey-ttl PT2S; max-zone-ttl PT3S; parent-ds-ttl PT2S; zone-propagation-delay PT2S; parent-propagation-delay PT1S;
	publish-safety PT1S; retire-safety PT1S; signatures-validity PT60S; signatures-validity-dnskey PT60S; signatures-refresh PT50S; signatures-jitter PT0S;
};
`

func policyOf(name string, ksk time.Duration) bind9.DNSSECPolicy {
	of := func(seconds int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	policy := bind9.DNSSECPolicy{Name: name, ZSKLifetime: of(20), Timing: &bind9.DNSSECTiming{
		DNSKEYTTL: of(2), MaxZoneTTL: of(3), ParentDSTTL: of(2), ZonePropagationDelay: of(2), ParentPropagationDelay: of(1), PublishSafety: of(1), RetireSafety: of(1),
		SignaturesValidity: of(60), SignaturesRefresh: of(50),
	}}
	if ksk > 0 {
		policy.KSKLifetime = &metav1.Duration{Duration: ksk}
	}
	return policy
}

// signingFleet is a cluster of servers that run elsewhere, one of which signs.
type signingFleet struct {
	*server
	signer  *rig.BIND
	servers []*rig.BIND
}

// startSigningFleet starts the servers of Bind9Cluster dns/prod, and DNSClass signed for it.
func startSigningFleet(ctx context.Context, t *testing.T, s *server) *signingFleet {
	t.Helper()
	f := &signingFleet{server: s}
	control, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	at, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	f.signer, err = rig.StartBIND(ctx, rig.BINDConfig{
		Addr: at, Keys: []rig.TSIGKey{fleetKey, signerKey}, Controls: []rig.Control{{Addr: control, Key: controlKey}}, Notify: true,
		Options:    fmt.Sprintf("allow-new-zones yes; allow-notify { key %q; };", signerKey.Name),
		Statements: fmt.Sprintf("primaries \"kubizone\" { %s port %d key %q; };\n%s", s.dns.Addr(), s.dns.Port(), signerKey.Name, fastPolicy),
	})
	rig.SkipMissing(t, err)
	t.Cleanup(func() { f.signer.Close() })
	for range 2 {
		primaries := fmt.Sprintf("%s port %d key %q;", s.dns.Addr(), s.dns.Port(), fleetKey.Name)
		one, err := rig.StartBIND(ctx, rig.BINDConfig{
			Keys: []rig.TSIGKey{fleetKey}, Catalogs: nil,
			Options: fmt.Sprintf("allow-notify { key %q; }; catalog-zones { zone \"catalog.invalid\" default-primaries { %s %s port %d key %q; } in-memory yes min-update-interval 1; };",
				fleetKey.Name, primaries, at.Addr(), at.Port(), fleetKey.Name),
			Secondaries: []rig.SecondaryZone{{Zone: "catalog.invalid.", Primary: s.dns, Key: fleetKey.Name}},
		})
		rig.SkipMissing(t, err)
		t.Cleanup(func() { one.Close() })
		f.servers = append(f.servers, one)
	}
	f.keep(t, "fleet", fleetKey)
	f.keep(t, "signer", signerKey)
	token := filepath.Join(s.secrets(), "dns", "agent")
	if err := errors.Join(os.MkdirAll(token, 0o700), os.WriteFile(filepath.Join(token, "token"), []byte("the-token"), 0o600)); err != nil {
		t.Fatal(err)
	}
	f.object(ctx, t, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod", Namespace: "dns"}, Spec: bind9.Bind9ClusterSpec{
		ServerSettings: bind9.ServerSettings{ZoneNamespaces: &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}},
		DNSSEC: &bind9.ClusterDNSSEC{
			Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}, Policies: []bind9.DNSSECPolicy{policyOf("fast", 25*time.Second), policyOf("still", 0)},
		},
	}})
	instance := func(name string, role bind9.Role, at netip.AddrPort, key, agent string) {
		f.object(ctx, t, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "dns"}, Spec: bind9.Bind9InstanceSpec{
			Role: role, ClusterRef: &bind9.ClusterReference{Name: "prod"}, External: &bind9.ExternalServer{
				Address: at.String(), AgentURL: agent, AllowPlainHTTP: true, TokenSecretRef: &bind9.SecretKeyReference{Name: "agent", Key: "token"}, TSIGSecretName: key,
			},
		}})
	}
	instance("signer", bind9.RoleSigner, f.signer.Addr, "signer", startAgentBeside(t, f.signer, control))
	for i, one := range f.servers {
		instance(fmt.Sprintf("public-%d", i), bind9.RoleSecondary, one.Addr, "fleet", "http://127.0.0.1:1")
	}
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "signed"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Selector: &metav1.LabelSelector{}},
		Bind9: &v1alpha1.Bind9Provider{ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: "dns", Name: "prod"}, CatalogZone: "catalog.invalid."},
	}}
	if _, err := f.KubizoneV1alpha1().DNSClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *signingFleet) object(ctx context.Context, t *testing.T, object any) {
	t.Helper()
	var err error
	switch o := object.(type) {
	case *bind9.Bind9Cluster:
		_, err = f.Bind9V1alpha1().Bind9Clusters(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	case *bind9.Bind9Instance:
		_, err = f.Bind9V1alpha1().Bind9Instances(o.Namespace).Create(ctx, o, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startAgentBeside starts the agent of a named, and returns its URL.
func startAgentBeside(t *testing.T, of *rig.BIND, control netip.AddrPort) string {
	t.Helper()
	keys, err := primary.ParseKeys(controlKey.Statement() + signerKey.Statement())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := bindagent.New(bindagent.Config{
		Control: &rndc.Client{Address: control.String(), Keys: func() ([]rndc.Key, error) {
			return []rndc.Key{{Algorithm: controlKey.Algorithm, MAC: keys[0].MAC}}, nil
		}},
		Nameserver: of.Addr.String(), ZoneDir: of.Dir(), Version: "test", Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		UpdateKey: func() (transfer.Key, error) {
			return transfer.Key{Name: keys[1].Name, Algorithm: string(keys[1].Algorithm), MAC: keys[1].MAC}, nil
		},
		Authenticate: func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") != "Bearer the-token" {
				return "", errors.New("another token")
			}
			return "test", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	return agent.URL
}

// chain is a name at the bottom, and the zones above it, the one with the trust anchor first.
type chain struct {
	zones []string
	host  string
}

// prove verifies the signatures from the anchor down to the host at one server, as a validating resolver does. secure
// is false where a DS is missing on the way, below which nothing is proven.
func (c chain) prove(at netip.AddrPort, anchor []string) (secure bool, err error) {
	ask := func(name string, of uint16) (set []mdns.RR, signatures []*mdns.RRSIG, err error) {
		m := new(mdns.Msg).SetQuestion(name, of)
		m.RecursionDesired = false
		m.SetEdns0(4096, true)
		answer, _, err := (&mdns.Client{Net: "tcp", Timeout: 5 * time.Second}).Exchange(m, at.String())
		if err != nil {
			return nil, nil, err
		}
		for _, rr := range answer.Answer {
			switch s, is := rr.(*mdns.RRSIG); {
			case is && s.TypeCovered == of:
				signatures = append(signatures, s)
			case rr.Header().Rrtype == of:
				set = append(set, rr)
			}
		}
		return set, signatures, nil
	}
	verify := func(what string, set []mdns.RR, signatures []*mdns.RRSIG, keys []mdns.RR) error {
		for _, signature := range signatures {
			for _, rr := range keys {
				if key := rr.(*mdns.DNSKEY); key.KeyTag() == signature.KeyTag && signature.ValidityPeriod(time.Now()) && signature.Verify(key, set) == nil {
					return nil
				}
			}
		}
		return fmt.Errorf("%s at %s: none of %d signatures is of one of %d keys", what, at, len(signatures), len(keys))
	}
	trusted := anchor
	var keys []mdns.RR
	for i, zone := range c.zones {
		if i > 0 {
			ds, signatures, err := ask(zone, mdns.TypeDS)
			if err != nil {
				return false, err
			}
			if len(ds) == 0 {
				return false, nil
			}
			if err := verify("DS of "+zone, ds, signatures, keys); err != nil {
				return false, err
			}
			trusted = nil
			for _, rr := range ds {
				trusted = append(trusted, strings.ToUpper(rr.(*mdns.DS).Digest))
			}
		}
		set, signatures, err := ask(zone, mdns.TypeDNSKEY)
		if err != nil {
			return false, err
		}
		var entry []mdns.RR
		for _, rr := range set {
			for _, digest := range trusted {
				if strings.EqualFold(rr.(*mdns.DNSKEY).ToDS(mdns.SHA256).Digest, digest) {
					entry = append(entry, rr)
				}
			}
		}
		if err := verify("DNSKEY of "+zone, set, signatures, entry); err != nil {
			return false, err
		}
		keys = set
	}
	set, signatures, err := ask(c.host, mdns.TypeTXT)
	if err != nil {
		return false, err
	}
	return true, verify("TXT of "+c.host, set, signatures, keys)
}

// dnssecOf is status.dnssec of a Zone.
func (f *signingFleet) dnssecOf(t *testing.T, namespace, zone string) *v1alpha1.ZoneDNSSECStatus {
	t.Helper()
	got, err := f.KubizoneV1alpha1().Zones(namespace).Get(t.Context(), zone, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got.Status.DNSSEC
}

func (f *signingFleet) explain(t *testing.T) string {
	var text strings.Builder
	for _, namespace := range []string{"top", "corp", "team"} {
		list, err := f.KubizoneV1alpha1().Zones(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for _, zone := range list.Items {
			fmt.Fprintf(&text, "\n%s serial %d: %+v", zone.Status.FQDN, zone.Status.Serial, zone.Status.DNSSEC)
		}
	}
	return text.String()
}

// S12.5: three zones of three tenants, one below the other, are signed by the signer of a fleet, with a DS that the
// upper zone derives; their keys are replaced, the signer is killed and started, one goes back to unsigned. At each
// moment every server proves all answers from the anchor down, and from the first DS on until its removal they are
// secure.
func TestFleetSigns_S12_5(t *testing.T) {
	ctx := subject.Within(t, 6*time.Minute)
	f := startSigningFleet(ctx, t, start(t))
	zone := func(namespace, name, fqdn, policy string, rules ...v1alpha1.DelegationRule) {
		ttl := int32(2)
		made := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: v1alpha1.ZoneSpec{
			DomainName: fqdn, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "signed"}}, DNSSEC: &v1alpha1.ZoneDNSSEC{Policy: policy}, Delegations: rules,
			NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}, TTL: &ttl,
		}}
		if _, err := f.KubizoneV1alpha1().Zones(namespace).Create(ctx, made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	zone("top", "example", "example.", "still", v1alpha1.DelegationRule{Namespaces: []string{"corp"}, Zones: []string{"corp"}, DS: true})
	zone("corp", "corp", "corp.example.", "fast", v1alpha1.DelegationRule{Namespaces: []string{"team"}, Zones: []string{"x"}, DS: true})
	zone("team", "x", "x.corp.example.", "fast", v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	f.record(t, "www", "www.x.corp.example.", "one")
	host := chain{zones: []string{"example.", "corp.example.", "x.corp.example."}, host: "www.x.corp.example."}

	var anchor []string
	until(t, func() (bool, string) {
		if status := f.dnssecOf(t, "top", "example"); status != nil && len(status.DS) == 1 {
			anchor = []string{status.DS[0].Digest}
		}
		return anchor != nil, "no anchor:" + f.explain(t)
	})
	// watch proves the host at every server, again and again.
	var mu sync.Mutex
	proven, insecure, expected := 0, 0, false
	var wrong []string
	watching, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for _, one := range f.servers {
		all.Go(func() {
			for watching.Err() == nil {
				mu.Lock()
				must := expected
				mu.Unlock()
				secure, err := host.prove(one.Addr, anchor)
				mu.Lock()
				must = must && expected
				switch {
				case err != nil, must && !secure:
					wrong = append(wrong, fmt.Sprintf("%s: secure %v, %v", time.Now().Format(time.TimeOnly), secure, err))
				case secure:
					proven++
				default:
					insecure++
				}
				mu.Unlock()
				select {
				case <-watching.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	expect := func(is bool) {
		mu.Lock()
		defer mu.Unlock()
		expected = is
	}
	check := func(what string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		t.Logf("%s: %d answers proven, %d insecure", what, proven, insecure)
		if len(wrong) > 0 {
			t.Fatalf("%s: %d answers are wrong:\n%s\n%s\n%s", what, len(wrong), strings.Join(wrong[:min(len(wrong), 10)], "\n"), f.explain(t), f.signer.Log())
		}
		proven, insecure = 0, 0
	}
	defer all.Wait()
	defer end()

	until(t, func() (bool, string) {
		x, corp := f.dnssecOf(t, "team", "x"), f.dnssecOf(t, "corp", "corp")
		return x != nil && corp != nil && len(x.DS) > 0 && len(corp.DS) > 0, "no DS:" + f.explain(t)
	})
	until(t, func() (bool, string) {
		for _, one := range f.servers {
			if secure, err := host.prove(one.Addr, anchor); !secure || err != nil {
				return false, fmt.Sprintf("not secure: %v %s", err, f.explain(t))
			}
		}
		return true, ""
	})
	expect(true)
	check("signed")
	first := f.dnssecOf(t, "team", "x").DS[0]
	until(t, func() (bool, string) {
		now := f.dnssecOf(t, "team", "x").DS
		return len(now) == 1 && now[0] != first, fmt.Sprintf("the KSK is not replaced: %s\n%s", f.explain(t), f.signer.Log())
	})
	check("the KSK of x was replaced")
	f.signer.Stop()
	f.change(t, "www", "two")
	if err := f.signer.Start(ctx); err != nil {
		t.Fatal(err)
	}
	until(t, func() (bool, string) {
		for _, one := range f.servers {
			if text, _, err := answer(one.Addr, "www.x.corp.example."); err != nil || text != "two" {
				return false, fmt.Sprintf("%s answers %q, %v", one.Addr, text, err)
			}
		}
		return true, ""
	})
	f.ready(t, "www")
	check("the signer was killed and started")
	expect(false)
	patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"dnssec": nil}})
	if _, err := f.KubizoneV1alpha1().Zones("team").Patch(ctx, "x", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, func() (bool, string) { return f.dnssecOf(t, "team", "x") == nil, "still signed: " + f.explain(t) })
	f.change(t, "www", "three")
	f.ready(t, "www")
	for _, one := range f.servers {
		if text, _, err := answer(one.Addr, "www.x.corp.example."); err != nil || text != "three" {
			t.Errorf("%s answers %q, %v", one.Addr, text, err)
		}
	}
	check("unsigned again")
	if left, err := filepath.Glob(filepath.Join(f.signer.Dir(), "Kx.corp.example.*")); err != nil || len(left) > 0 {
		t.Errorf("keys of a zone that is not signed: %q, %v", left, err)
	}
}
