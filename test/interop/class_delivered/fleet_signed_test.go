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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	fleetKey   = rig.TSIGKey{Name: "fleet.bind9.dns", Algorithm: "hmac-sha256", Secret: red.Secret}
	signerKey  = rig.TSIGKey{Name: "signer.bind9.dns", Algorithm: "hmac-sha256", Secret: "c2lnbmVyLXNpZ25lci1zaWduZXItc2lnbmVyLTAwMDE="}
	controlKey = rig.TSIGKey{Name: "control.example", Algorithm: "hmac-sha256", Secret: "Y29udHJvbC1jb250cm9sLWNvbnRyb2wtY29udHJvbDE="}
)

// keyLifetimes are seconds. With half of the times, named 9.18 kept an old ZSK in the second of two consecutive
// rollovers.
func keyLifetimes() (ksk, zsk int) {
	if rig.Long() {
		return 60, 45
	}
	return 25, 20
}

// fastPolicy replaces keys within two minutes; policyOf is the same policy in the API.
func fastPolicy() string {
	ksk, zsk := keyLifetimes()
	return fmt.Sprintf(`dnssec-policy "fast" {
	keys { ksk lifetime PT%dS algorithm ecdsap256sha256; zsk lifetime PT%dS algorithm ecdsap256sha256; };
	purge-keys PT5S; dnskey-ttl PT2S; max-zone-ttl PT3S; parent-ds-ttl PT2S; zone-propagation-delay PT2S; parent-propagation-delay PT1S;
	publish-safety PT1S; retire-safety PT1S; signatures-validity PT60S; signatures-validity-dnskey PT60S; signatures-refresh PT50S; signatures-jitter PT0S;
};
`, ksk, zsk)
}

func policyOf(name string) bind9.DNSSECPolicy {
	of := func(seconds int) *metav1.Duration {
		return &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
	}
	ksk, zsk := keyLifetimes()
	return bind9.DNSSECPolicy{Name: name, KSKLifetime: of(ksk), ZSKLifetime: of(zsk), Timing: &bind9.DNSSECTiming{
		DNSKEYTTL: of(2), MaxZoneTTL: of(3), ParentDSTTL: of(2), ZonePropagationDelay: of(2), ParentPropagationDelay: of(1), PublishSafety: of(1), RetireSafety: of(1),
		SignaturesValidity: of(60), SignaturesRefresh: of(50),
	}}
}

type signingFleet struct {
	*server
	root    *localRoot
	signer  *rig.BIND
	servers []*rig.BIND
}

// startSigningFleet: the servers of Bind9Cluster dns/prod also serve the root. The DNSClass is signed.
func startSigningFleet(ctx context.Context, t *testing.T) *signingFleet {
	t.Helper()
	var public []netip.AddrPort
	for range 2 {
		at := must.Get(rig.FreePort())(t)
		public = append(public, at)
	}
	root := startLocalRoot(ctx, t, public)
	s := startBelow(t, root.findServers)
	f := &signingFleet{server: s, root: root}
	control := must.Get(rig.FreePort())(t)
	at := must.Get(rig.FreePort())(t)
	f.signer = rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{
		Addr: at, Keys: []rig.TSIGKey{fleetKey, signerKey}, Controls: []rig.Control{{Addr: control, Key: controlKey}}, Notify: true,
		Options:    fmt.Sprintf("allow-new-zones yes; allow-notify { key %q; };", signerKey.Name),
		Statements: fmt.Sprintf("primaries \"kubizone\" { %s port %d key %q; };\n%s", s.dns.Addr(), s.dns.Port(), signerKey.Name, fastPolicy()),
	}))(t)
	for _, server := range public {
		primaries := fmt.Sprintf("%s port %d key %q;", s.dns.Addr(), s.dns.Port(), fleetKey.Name)
		one := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{
			Addr: server, Keys: []rig.TSIGKey{fleetKey},
			Options: fmt.Sprintf("allow-notify { key %q; }; catalog-zones { zone \"catalog.invalid\" default-primaries { %s %s port %d key %q; } in-memory yes min-update-interval 1; };",
				fleetKey.Name, primaries, at.Addr(), at.Port(), fleetKey.Name),
			Secondaries: []rig.SecondaryZone{{Zone: "catalog.invalid.", Primary: s.dns, Key: fleetKey.Name}, {Zone: ".", Primary: root.Addr}},
		}))(t)
		f.servers = append(f.servers, one)
	}
	f.keepKey(t, "fleet", fleetKey)
	f.keepKey(t, "signer", signerKey)
	token := filepath.Join(s.findSecrets(), "dns", "agent")
	must.Succeed(t, errors.Join(os.MkdirAll(token, 0o700), os.WriteFile(filepath.Join(token, "token"), []byte("the-token"), 0o600)))
	f.createObject(ctx, t, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod", Namespace: "dns"}, Spec: bind9.Bind9ClusterSpec{
		ServerSettings: bind9.ServerSettings{ZoneNamespaces: &bind9.NamespaceSelection{Selector: &metav1.LabelSelector{}}},
		DNSSEC: &bind9.ClusterDNSSEC{
			Storage: &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}, Policies: []bind9.DNSSECPolicy{policyOf("fast")},
		},
	}})
	instance := func(name string, role bind9.Role, at netip.AddrPort, key, agent string) {
		f.createObject(ctx, t, &bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "dns"},
			Spec: bind9.Bind9InstanceSpec{
				Role: role, ClusterRef: &bind9.ClusterReference{Name: "prod"}, External: &bind9.ExternalServer{
					Address: at.String(), AgentURL: agent, AllowPlainHTTP: true, TokenSecretRef: &bind9.SecretKeyReference{Name: "agent",
						Key: "token"}, TSIGSecretName: key,
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
	must.Get(f.KubizoneV1alpha1().DNSClasses().Create(ctx, class, metav1.CreateOptions{}))(t)
	return f
}

func (f *signingFleet) createObject(ctx context.Context, t *testing.T, object any) {
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

func startAgentBeside(t *testing.T, of *rig.BIND, control netip.AddrPort) string {
	t.Helper()
	keys := must.Get(tsig.ParseKeys(controlKey.Statement() + signerKey.Statement()))(t)
	handler := agent.New(agent.Config{
		Control: &rndc.Client{Address: control.String(), Keys: func() ([]rndc.Key, error) {
			return []rndc.Key{{Algorithm: controlKey.Algorithm, MAC: keys[0].MAC}}, nil
		}},
		Nameserver: of.Addr.String(), ZoneDir: of.Dir(), Version: "test", Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		TSIGKey: func() (transfer.Key, error) {
			return transfer.Key{Name: keys[1].Name, Algorithm: string(keys[1].Algorithm), MAC: keys[1].MAC}, nil
		},
		Authenticate: func(r *http.Request) error {
			if r.Header.Get("Authorization") != "Bearer the-token" {
				return errors.New("another token")
			}
			return nil
		},
	})
	agent := httptest.NewServer(handler)
	t.Cleanup(agent.Close)
	return agent.URL
}

func askSigned(at netip.AddrPort, fqdn string, of uint16) (set []mdns.RR, signatures []*mdns.RRSIG, err error) {
	m := new(mdns.Msg).SetQuestion(fqdn, of)
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

type chain struct {
	zones []string
	host  string
}

// proveChain verifies the signatures from the anchor down to the host. secure is false below a missing DS.
func (c chain) proveChain(at netip.AddrPort, anchor []string) (secure bool, err error) {
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
			ds, signatures, err := askSigned(at, zone, mdns.TypeDS)
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
		set, signatures, err := askSigned(at, zone, mdns.TypeDNSKEY)
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
	set, signatures, err := askSigned(at, c.host, mdns.TypeTXT)
	if err != nil {
		return false, err
	}
	return true, verify("TXT of "+c.host, set, signatures, keys)
}

func (f *signingFleet) dnssecOf(t *testing.T, namespace, zone string) *v1alpha1.ZoneDNSSECStatus {
	t.Helper()
	got := must.Get(f.KubizoneV1alpha1().Zones(namespace).Get(t.Context(), zone, metav1.GetOptions{}))(t)
	return got.Status.DNSSEC
}

// expectSigningStuck waits until a zone is on the way to be signed, for some seconds, and judges the alert.
func (f *signingFleet) expectSigningStuck(t *testing.T) {
	t.Helper()
	var metrics string
	var alerts []string
	waitUntil(t, func() (bool, string) {
		metrics, alerts = f.readMetrics(t), nil
		for _, phase := range []string{"Moving", "Signing"} {
			if strings.Contains(metrics, fmt.Sprintf("kubizone_dnssec_phase_seconds{phase=%q}", phase)) {
				alerts = append(alerts, "KubizoneSigningStuck "+phase)
			}
		}
		return len(alerts) > 0, "no zone is in the phase Moving or Signing"
	})
	expectAlert(t, metrics, 2*time.Hour, "KubizoneSigningStuck", alerts...)
}

// waitForMetrics returns the metrics when these are the only series of their metric.
func (f *signingFleet) waitForMetrics(t *testing.T, want ...string) (metrics string) {
	t.Helper()
	family, _, _ := strings.Cut(want[0], "{")
	waitUntil(t, func() (bool, string) {
		metrics = f.readMetrics(t)
		var found []string
		for line := range strings.Lines(metrics) {
			if series, _, _ := strings.Cut(line, " "); strings.HasPrefix(series, family+"{") {
				found = append(found, series)
			}
		}
		return slices.Equal(found, want), fmt.Sprintf("%q, want %q", found, want)
	})
	return metrics
}

func (f *signingFleet) explainState(t *testing.T) string {
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

func keyTagsOf(t *testing.T, at netip.AddrPort, fqdn string, of uint16) map[uint16]bool {
	t.Helper()
	_, signatures, err := askSigned(at, fqdn, of)
	if err != nil {
		t.Fatal(err)
	}
	tags := map[uint16]bool{}
	for _, one := range signatures {
		tags[one.KeyTag] = true
	}
	return tags
}

// operateRoot copies the DS in the top zone's status into the root until ctx ends, as an operator does by hand.
func (f *signingFleet) operateRoot(ctx context.Context, t *testing.T) {
	var entered []v1alpha1.DelegationSigner
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		zone, err := f.KubizoneV1alpha1().Zones("top").Get(ctx, "example", metav1.GetOptions{})
		if err != nil {
			continue
		}
		var wanted []v1alpha1.DelegationSigner
		if status := zone.Status.DNSSEC; status != nil {
			wanted = status.DS
		}
		if slices.Equal(wanted, entered) {
			continue
		}
		if err := f.root.enterDS(ctx, wanted); err != nil {
			if ctx.Err() == nil {
				t.Errorf("the root takes no DS: %v", err)
			}
			continue
		}
		entered = slices.Clone(wanted)
	}
}

// S12.5, S12.6: a fleet's signer signs three nested zones of three tenants, below a foreign root. The upper zones
// derive the DS; the test enters the root's by hand. All keys are replaced, the signer is killed, and the zones
// return to unsigned, the lowest first. Throughout, delv, a caching resolver and a check of each signature find every
// answer secure from the first DS until its removal, unsigned otherwise, and never bogus.
func TestFleetSigns_S12_5(t *testing.T) {
	t.Parallel() // mostly waits
	rollovers := 1
	if rig.Long() {
		rollovers = 4
	}
	ctx := rig.Within(t, time.Duration(5+2*rollovers)*time.Minute)
	f := startSigningFleet(ctx, t)
	zone := func(namespace, name, fqdn string, rules ...v1alpha1.DelegationRule) {
		ttl := int32(2)
		made := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: v1alpha1.ZoneSpec{
			DomainName: fqdn, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "signed"}}, DNSSEC: &v1alpha1.ZoneDNSSEC{Policy: "fast"}, Delegations: rules,
			NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}, TTL: &ttl,
		}}
		must.Get(f.KubizoneV1alpha1().Zones(namespace).Create(ctx, made, metav1.CreateOptions{}))(t)
	}
	zone("top", "example", "example.", v1alpha1.DelegationRule{Namespaces: []string{"corp"}, Zones: []string{"corp"}, DS: true})
	zone("corp", "corp", "corp.example.", v1alpha1.DelegationRule{Namespaces: []string{"team"}, Zones: []string{"x"}, DS: true})
	zone("team", "x", "x.corp.example.", v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}})
	f.makeRecord(t, "www", "www.x.corp.example.", "one")
	f.expectSigningStuck(t)
	const www = "www.x.corp.example."
	upper := []string{"example.", "corp.example."}
	answers := func(text string) {
		t.Helper()
		waitUntil(t, func() (bool, string) {
			for _, one := range f.servers {
				if got, _, err := readTXT(one.Addr, www); err != nil || got != text {
					return false, fmt.Sprintf("%s answers %q, %v", one.Addr, got, err)
				}
			}
			return true, ""
		})
	}
	answers("one")
	questions := map[string]uint16{www: mdns.TypeTXT, upper[0]: mdns.TypeSOA, upper[1]: mdns.TypeNS}
	for fqdn, of := range questions {
		for _, one := range f.servers {
			waitUntil(t, func() (bool, string) {
				set, _, err := askSigned(one.Addr, fqdn, of)
				return err == nil && len(set) > 0, fmt.Sprintf("%s does not have %s: %v", one.Addr, fqdn, err)
			})
		}
	}

	// The root lacks the DS of the top zone.
	expectAlert(t, f.waitForMetrics(t, `kubizone_dnssec_ds_pending_seconds{namespace="top"}`), 60*time.Hour,
		"KubizoneDSPending", "KubizoneDSPending top")
	w := newWatch()
	resolver := f.root.startResolver(ctx, t)
	explain := func() string {
		return fmt.Sprintf("%s\nThe signer says:\n%s\nThe resolver says:\n%s", f.explainState(t), f.signer.Log(), resolver.Log())
	}
	watching, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer end()
	again := func(look func()) {
		all.Go(func() {
			for watching.Err() == nil {
				look()
				select {
				case <-watching.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	host := chain{zones: []string{".", "example.", "corp.example.", "x.corp.example."}, host: www}
	for _, one := range f.servers {
		w.asked[www+" check of "+one.Addr.String()] = true
		for fqdn := range questions {
			w.asked[fqdn+" delv at "+one.Addr.String()], w.asked[fqdn+" resolver"] = true, true
		}
	}
	for _, one := range f.servers {
		again(func() {
			w.validateAnswer(watching, "check of "+one.Addr.String(), www,
				func() (bool, error) { return host.proveChain(one.Addr, []string{f.root.digest}) })
		})
	}
	again(func() {
		for fqdn, of := range questions {
			for _, one := range f.servers {
				w.validateAnswer(watching, "delv at "+one.Addr.String(), fqdn,
					func() (bool, error) { return f.root.askDelv(watching, one.Addr, fqdn, of) })
			}
		}
	})
	again(func() {
		for fqdn, of := range questions {
			w.validateAnswer(watching, "resolver", fqdn, func() (bool, error) { return askResolver(resolver.Addr, fqdn, of) })
		}
	})
	all.Go(func() { f.operateRoot(watching, t) })

	signed := map[string]string{"top": "example", "corp": "corp", "team": "x"} // by namespace
	waitUntil(t, func() (bool, string) {
		for namespace, name := range signed {
			if status := f.dnssecOf(t, namespace, name); status == nil || len(status.DS) == 0 {
				return false, "no DS:" + explain()
			}
		}
		return true, ""
	})
	w.expectValidation(t, secure, append(upper, www), explain)
	w.checkAnswers(t, "signed", explain)
	const expiry = "kubizone_dnssec_signature_expiry_timestamp_seconds"
	expectAlert(t, f.waitForMetrics(t, expiry+`{namespace="corp"}`, expiry+`{namespace="team"}`, expiry+`{namespace="top"}`), 0,
		"KubizoneSignaturesExpire", "KubizoneSignaturesExpire corp", "KubizoneSignaturesExpire team", "KubizoneSignaturesExpire top")
	for range rollovers {
		former, zsks := map[string]v1alpha1.DelegationSigner{}, map[string]map[uint16]bool{}
		for namespace, name := range signed {
			former[namespace] = f.dnssecOf(t, namespace, name).DS[0]
		}
		for fqdn, of := range questions {
			zsks[fqdn] = keyTagsOf(t, f.servers[0].Addr, fqdn, of)
		}
		waitUntil(t, func() (bool, string) {
			for namespace, name := range signed {
				// With lifetimes of seconds, the next key often exists already.
				if now := f.dnssecOf(t, namespace, name).DS; len(now) == 0 || slices.Contains(now, former[namespace]) {
					return false, fmt.Sprintf("the KSK of %s is not replaced: %s", name, explain())
				}
			}
			for fqdn, of := range questions {
				for tag := range keyTagsOf(t, f.servers[0].Addr, fqdn, of) {
					if zsks[fqdn][tag] {
						return false, fmt.Sprintf("the ZSK %d of %s is not replaced: %s", tag, fqdn, explain())
					}
				}
			}
			return true, ""
		})
		w.checkAnswers(t, "all keys were replaced", explain)
	}
	f.signer.Stop()
	f.changeRecord(t, "www", "two")
	must.Succeed(t, f.signer.Start(ctx))
	answers("two")
	f.waitForReady(t, "www")
	w.checkAnswers(t, "the signer was killed and started", explain)
	goUnsigned := func(namespace, name string, names ...string) {
		t.Helper()
		w.expectValidation(t, either, names, explain)
		patch, _ := json.Marshal(map[string]any{"spec": map[string]any{"dnssec": nil}})
		must.Get(f.KubizoneV1alpha1().Zones(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
		waitUntil(t, func() (bool, string) {
			return f.dnssecOf(t, namespace, name) == nil, "still signed: " + f.explainState(t)
		})
		w.expectValidation(t, unsigned, names, explain)
	}
	goUnsigned("team", "x", www)
	f.changeRecord(t, "www", "three")
	f.waitForReady(t, "www")
	for _, one := range f.servers {
		if text, _, err := readTXT(one.Addr, www); err != nil || text != "three" {
			t.Errorf("%s answers %q, %v", one.Addr, text, err)
		}
	}
	w.checkAnswers(t, "the lowest zone is unsigned again", explain)
	if left, err := filepath.Glob(filepath.Join(f.signer.Dir(), "Kx.corp.example.*")); err != nil || len(left) > 0 {
		t.Errorf("keys of a zone that is not signed: %q, %v", left, err)
	}
	goUnsigned("top", "example", upper...)
	w.checkAnswers(t, "the top zone is unsigned again", explain)
}

// S12.9, S12.10: a signed zone that has lost its class is removed at the signer on deletion, and another namespace's
// zone of the same name is signed with new keys.
func TestFleetSigns_removesWhatLostItsClass_S12_9(t *testing.T) {
	t.Parallel() // mostly waits
	ctx := rig.Within(t, 3*time.Minute)
	f := startSigningFleet(ctx, t)
	const fqdn = "example."
	sign := func(namespace string) {
		t.Helper()
		made := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: namespace}, Spec: v1alpha1.ZoneSpec{
			DomainName: fqdn, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "signed"}}, DNSSEC: &v1alpha1.ZoneDNSSEC{Policy: "fast"},
			NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}},
		}}
		must.Get(f.KubizoneV1alpha1().Zones(namespace).Create(ctx, made, metav1.CreateOptions{}))(t)
		waitUntil(t, func() (bool, string) {
			status := f.dnssecOf(t, namespace, "example")
			return status != nil && status.Phase == v1alpha1.DNSSECSigned, "not signed: " + f.explainState(t) + f.signer.Log()
		})
	}
	keys := func() []string {
		t.Helper()
		return must.Get(filepath.Glob(filepath.Join(f.signer.Dir(), "Kexample.+*.private")))(t)
	}
	sign("top")
	former := keys()
	patch := []byte(`{"spec": {"dnsClassRefs": null}}`)
	must.Get(f.KubizoneV1alpha1().Zones("top").Patch(ctx, "example", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	waitUntil(t, func() (bool, string) {
		left, err := f.KubizoneV1alpha1().Deliveries("top").List(ctx, metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, fmt.Sprintf("still delivered: %+v, %v", left, err)
	})
	countKeys := func() int {
		t.Helper()
		set, _, err := askSigned(f.signer.Addr, fqdn, mdns.TypeDNSKEY)
		if err != nil {
			t.Fatal(err)
		}
		return len(set)
	}
	if countKeys() == 0 {
		t.Error("the signer does not keep a zone that has lost its class")
	}
	must.Succeed(t, f.KubizoneV1alpha1().Zones("top").Delete(ctx, "example", metav1.DeleteOptions{}))
	waitUntil(t, func() (bool, string) {
		_, err := f.KubizoneV1alpha1().Zones("top").Get(ctx, "example", metav1.GetOptions{})
		return apierrors.IsNotFound(err), fmt.Sprintf("the Zone is not deleted: %v%s", err, f.explainState(t))
	})
	if got := countKeys(); got > 0 {
		t.Errorf("the signer answers with %d keys of a zone that is deleted", got)
	}
	if got := keys(); !slices.ContainsFunc(former, func(key string) bool { return slices.Contains(got, key) }) {
		t.Errorf("of the keys %q none stays: %q", former, got)
	}
	former = append(former, keys()...)
	sign("corp")
	for _, key := range keys() {
		if slices.Contains(former, key) {
			t.Errorf("the zone of another namespace has the key %s", key)
		}
	}
}
