// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// makeHeldZone creates a zone that the platform shares by "*" with the victim and mallory, each by a separate rule.
func (a *arena) makeHeldZone(ctx context.Context, t *testing.T, domain string, more ...v1alpha1.DelegationRule) {
	t.Helper()
	rules := append([]v1alpha1.DelegationRule{makeRule(platform, nil, "*", "@"), makeRule(victim, nil, "*"), makeRule(mallory, nil, "*"),
		{Namespace: mallory, Zones: []string{"*"}}}, more...)
	object := makeZone(platform, strings.TrimSuffix(domain, ".example."), domain, rules...)
	must.Get(a.tenants[platform].zones().Create(ctx, object, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		if err := kuberig.DeleteZone(context.WithoutCancel(ctx), a.tenants[platform].zones(), object.Name); err != nil {
			t.Error(err)
		}
	})
}

func (a *arena) putRecord(ctx context.Context, t *testing.T, who, name, domain, kind string, values ...string) {
	t.Helper()
	if _, err := a.tenants[who].records().Create(ctx, makeRecord(who, name, domain, kind, values...), metav1.CreateOptions{}); err != nil {
		t.Fatalf("%s %s by %s: %v", domain, kind, who, err)
	}
	t.Cleanup(func() {
		_ = a.tenants[who].records().Delete(context.WithoutCancel(ctx), name, metav1.DeleteOptions{})
	})
}

// tryRecords, a line each, must all be refused.
func (a *arena) tryRecords(ctx context.Context, t *testing.T, prefix string, lines ...string) {
	t.Helper()
	for i, line := range lines {
		domain, rest, _ := strings.Cut(line, " ")
		kind, value, _ := strings.Cut(rest, " ")
		expectRefusal(t, line, a.tenants[mallory].putRecord(ctx, fmt.Sprintf("%s-%d", prefix, i), domain, kind, value), forbidden)
	}
}

func (t *tenant) warnedOf(word string) bool {
	t.warnings.mu.Lock()
	defer t.warnings.mu.Unlock()
	found := slices.ContainsFunc(t.warnings.text, func(text string) bool { return strings.Contains(text, word) })
	t.warnings.text = nil
	return found
}

// 64: S4.8. A live name, a challenge for it, a name far below, a zone and a cut there; the glue of a delegation.
func belowAWildcard(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "below.example.")
	a.putRecord(ctx, t, victim, "quietvictim-wild", "*.apps.below.example.", "A", "192.0.2.1")
	a.tryRecords(ctx, t, "below", "login.apps.below.example. A 192.0.2.66", "a.b.login.apps.below.example. A 192.0.2.66",
		"_acme-challenge.pay.apps.below.example. TXT token",
		"_acme-challenge.pay.apps.below.example. CNAME mallory.test.", "*.login.apps.below.example. A 192.0.2.66", "_acme-challenge.apps.below.example. TXT token")
	for _, domain := range []string{"login.apps.below.example.", "x.login.apps.below.example."} {
		_, err := a.tenants[mallory].zones().Create(ctx, makeZone(mallory, "below", domain, makeRule(mallory, nil, "*")),
			metav1.CreateOptions{})
		expectRefusal(t, "zone "+domain, err, forbidden)
	}
	a.putRecord(ctx, t, victim, "quietvictim-pay", "_acme-challenge.pay.apps.below.example.", "TXT", "token")
	a.tryRecords(ctx, t, "window", "x.pay.apps.below.example. A 192.0.2.66") // the victim's own challenge opens nothing

	// The first writer of the name server's address would answer for everything delegated.
	a.makeHeldZone(ctx, t, "cut.example.", v1alpha1.DelegationRule{Namespace: victim,
		Records: []v1alpha1.RecordDelegation{{Pattern: "*", Types: []string{"NS"}}}})
	a.putRecord(ctx, t, victim, "quietvictim-cut", "dev.cut.example.", "NS", "ns1.dev.cut.example.")
	a.tryRecords(ctx, t, "glue", "ns1.dev.cut.example. A 192.0.2.66", "x.ns1.dev.cut.example. A 192.0.2.66", "*.ns1.dev.cut.example. "+
		"A 192.0.2.66", "_acme-challenge.ns1.dev.cut.example. TXT token")
	_, err := a.tenants[mallory].zones().Create(ctx, makeZone(mallory, "glue", "ns1.dev.cut.example.", makeRule(mallory, nil, "*")),
		metav1.CreateOptions{})
	expectRefusal(t, "zone ns1.dev.cut.example.", err, forbidden)
	a.putRecord(ctx, t, victim, "quietvictim-glue", "ns1.dev.cut.example.", "A", "192.0.2.1")

	// Mallory's name is delegated away by the platform.
	a.putRecord(ctx, t, mallory, "early", "team.cut.example.", "TXT", "x")
	a.putRecord(ctx, t, platform, "team-cut", "team.cut.example.", "NS", "ns1.team.cut.example.")
	a.tryRecords(ctx, t, "early-glue", "ns1.team.cut.example. A 192.0.2.66", "x.ns1.team.cut.example. A 192.0.2.66",
		"_acme-challenge.ns1.team.cut.example. TXT token")
}

// 65: S4.8. Several may feed the name, so no namespace becomes its holder by a wider rule.
func sharedName(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "several.example.", v1alpha1.DelegationRule{Namespaces: []string{victim, "team-b"},
		Records: []v1alpha1.RecordDelegation{{Pattern: "status", Shared: true}}})
	a.tryRecords(ctx, t, "before", "status.several.example. A 192.0.2.66", "_acme-challenge.status.several.example. TXT token",
		"*.status.several.example. A 192.0.2.66")
	a.putRecord(ctx, t, victim, "quietvictim-status", "status.several.example.", "A", "192.0.2.1")
	a.tryRecords(ctx, t, "after", "status.several.example. A 192.0.2.66", "_acme-challenge.status.several.example. TXT token")
}

// 66: S4.8. Records that also apply to names below, even if the writer came first to the name above.
func aboveOthers(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "above.example.")
	a.putRecord(ctx, t, victim, "quietvictim-below", "a.b.above.example.", "A", "192.0.2.1")
	climbing := []string{`b.above.example. CAA 0 issue ";"`, "_dmarc.b.above.example. TXT v=DMARC1;p=none", "_dmarc.b.above.example. CNAME mallory.test.",
		"s1._domainkey.b.above.example. TXT k", "_acme-challenge.b.above.example. TXT token", "*.b.above.example. TXT token", "*.b.above.example. CNAME mallory.test."}
	a.tryRecords(ctx, t, "climb", climbing...)
	a.tryRecords(ctx, t, "late", "b.above.example. A 192.0.2.66")
}

// 85: S4.8. A certificate for *.apps covers the names of all tenants there, and a wildcard would lock them out.
func wildcardOfAPattern(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	object := makeZone(platform, "pattern", "pattern.example.", makeRule(platform, nil, "*", "@"), makeRule(victim, nil, "*.apps", "apps"),
		makeRule(mallory, nil, "*.apps"), v1alpha1.DelegationRule{Namespace: mallory, Zones: []string{"*.apps"}})
	must.Get(a.tenants[platform].zones().Create(ctx, object, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		if err := kuberig.DeleteZone(context.WithoutCancel(ctx), a.tenants[platform].zones(), object.Name); err != nil {
			t.Error(err)
		}
	})
	a.tryRecords(ctx, t, "base", "*.apps.pattern.example. A 192.0.2.66", "*.apps.pattern.example. TXT token", "*.apps.pattern.example. "+
		"CNAME mallory.test.",
		"_acme-challenge.apps.pattern.example. TXT token", "_acme-challenge.apps.pattern.example. CNAME mallory.test.", "*._tcp.apps.pattern.example. TXT token")
	err := a.tenants[mallory].putRecord(ctx, "base", "_acme-challenge.apps.pattern.example.", "TXT", "token")
	if expectRefusal(t, "the challenge", err, forbidden); err != nil && !strings.Contains(err.Error(), `pattern "apps"`) {
		t.Errorf("the refusal does not say which pattern is missing: %v", err)
	}
	_, err = a.tenants[mallory].zones().Create(ctx, makeZone(mallory, "base", "_acme-challenge.apps.pattern.example.",
		makeRule(mallory, nil, "*")), metav1.CreateOptions{})
	expectRefusal(t, "a zone at the challenge", err, forbidden)
	a.putRecord(ctx, t, mallory, "own", "mine.apps.pattern.example.", "A", "192.0.2.66")
	a.putRecord(ctx, t, victim, "quietvictim-pattern", "shop.apps.pattern.example.", "A", "192.0.2.1")
}

// 86: S4.8. A tenant gets no certificate for the names of tenants below, and no tenant gets a name below another
// tenant's, who could get a certificate for that name.
func challengeOfTheFirst(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "first.example.", v1alpha1.DelegationRule{Namespace: victim, Zones: []string{"*"}})
	a.putRecord(ctx, t, mallory, "first", "c.first.example.", "A", "192.0.2.66")
	refusedOwn(t, "a name below that of another", a.tenants[victim].putRecord(ctx, "quietvictim-below", "under.c.first.example.", "A",
		"192.0.2.1"), forbidden)
	a.putRecord(ctx, t, victim, "quietvictim-under", "under.a.first.example.", "A", "192.0.2.1")
	a.tryRecords(ctx, t, "first", `a.first.example. CAA 0 issue ";"`, "_acme-challenge.a.first.example. TXT token",
		"_acme-challenge.a.first.example. CNAME mallory.test.",
		"_dmarc.a.first.example. TXT v=DMARC1;p=none", "*.a.first.example. TXT token", "*.a.first.example. A 192.0.2.66")

	a.putRecord(ctx, t, mallory, "trap", "_acme-challenge.b.first.example.", "TXT", "token")
	for i, domain := range []string{"under.b.first.example.", "x.y.under.b.first.example.", "_acme-challenge.under.b.first.example."} {
		refusedOwn(t, domain+" below a challenge", a.tenants[victim].putRecord(ctx, fmt.Sprint("quietvictim-trap-", i), domain, "TXT", "x"),
			forbidden)
	}
	_, err := a.tenants[victim].zones().Create(ctx, makeZone(victim, "quietvictim-trap", "under.b.first.example.",
		makeRule(victim, nil, "*")), metav1.CreateOptions{})
	refusedOwn(t, "a zone below a challenge", err, forbidden)
}

// 67: S6.2. Before the host has an address, and while the address is replaced.
func namedHosts(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "named.example.")
	a.putRecord(ctx, t, platform, "named-ns", "named.example.", "NS", "ns2")
	a.putRecord(ctx, t, platform, "named-mx", "named.example.", "MX", "10 mail", "20 mx.dns")
	a.putRecord(ctx, t, platform, "named-https", "named.example.", "HTTPS", "1 pool alpn=h2")
	hosts := []string{"pool.named.example. A 192.0.2.66", "ns2.named.example. A 192.0.2.66", "mail.named.example. A 192.0.2.66", "_acme-challenge.mail.named.example. TXT token", "*.dns.named.example. A 192.0.2.66",
		`dns.named.example. CAA 0 issue ";"`}
	a.tryRecords(ctx, t, "host", hosts...)
	a.putRecord(ctx, t, platform, "named-ns2", "ns2.named.example.", "A", "192.0.2.53")
	must.Succeed(t, a.tenants[platform].records().Delete(ctx, "named-ns2", metav1.DeleteOptions{}))
	a.tryRecords(ctx, t, "replaced", hosts...)
	a.putRecord(ctx, t, mallory, "own-mail", "post.named.example.", "A", "192.0.2.66")
	a.tenants[platform].warnedOf("")
	a.putRecord(ctx, t, platform, "named-mx2", "named.example.", "MX", "30 post")
	if !a.tenants[platform].warnedOf("another namespace claims") {
		t.Error("S4.18: the platform is not told that another has its mail host")
	}

	// A tenant that shares the apex takes no names of others by naming them there.
	a.makeHeldZone(ctx, t, "sharedapex.example.", v1alpha1.DelegationRule{Namespace: mallory,
		Records: []v1alpha1.RecordDelegation{{Pattern: "@", Types: []string{"MX", "HTTPS"}, Shared: true}}})
	a.putRecord(ctx, t, victim, "quietvictim-apex", "shop.sharedapex.example.", "A", "192.0.2.1")
	a.putRecord(ctx, t, mallory, "names-mx", "sharedapex.example.", "MX", "10 x.shop", "20 new")
	a.putRecord(ctx, t, mallory, "names-https", "sharedapex.example.", "HTTPS", "1 y.shop")
	a.putRecord(ctx, t, victim, "quietvictim-apex-challenge", "_acme-challenge.shop.sharedapex.example.", "TXT", "token")
	a.putRecord(ctx, t, victim, "quietvictim-apex-caa", "shop.sharedapex.example.", "CAA", `0 issue "ca.example"`)
	a.putRecord(ctx, t, victim, "quietvictim-apex-wild", "*.shop.sharedapex.example.", "A", "192.0.2.1")
	a.putRecord(ctx, t, victim, "quietvictim-apex-new", "new.sharedapex.example.", "A", "192.0.2.1")
}

// 68: S4.9. Half the mail each, unnoticed.
func silentJoining(t *testing.T, a *arena) {
	ctx := within(t, waitTimeout)
	a.makeHeldZone(ctx, t, "joined.example.")
	a.putRecord(ctx, t, mallory, "joined", "mail.joined.example.", "A", "192.0.2.66")
	a.tenants[platform].warnedOf("")
	a.putRecord(ctx, t, platform, "joined", "mail.joined.example.", "A", "192.0.2.1")
	if !a.tenants[platform].warnedOf("claimed by another namespace") {
		t.Error("S4.18: the platform is not told that the name is another's")
	}
}
