// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chain_followed proves: a chain follows a name to a real secondary, and to the NS in a BIND with the zone
// above. A missing and a lame delegation, a paused zone and a dead secondary are each the first fault.
package chain_followed

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/up"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/client/why"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

// Servers have port 53 in DNS, and a free loopback port here.
const above, below = "192.0.2.10:53", "10.0.0.53:53"

func TestMain(m *testing.M) {
	rig.RetrySoon()
	os.Exit(m.Run())
}

func TestWhy_followsANameToTheParent(t *testing.T) {
	ctx := rig.Within(t, 5*time.Minute)
	port := must.Get(rig.FreePort())(t)
	s := standalone.Start(t, func(o *up.Options) { o.DNSListen = port.String() })
	secondary := rig.NeedServer(rig.StartBIND(ctx, rig.BINDConfig{Secondaries: []rig.SecondaryZone{
		{Zone: "child.test.", Primary: port}, {Zone: "dev.child.test.", Primary: port}}}))(t)
	var parent *rig.BIND
	t.Cleanup(func() { parent.Close() })
	delegate := func(ns string) {
		t.Helper()
		const text = "test. 60 IN SOA a.test. host.test. 1 3600 600 86400 60\ntest. 60 IN NS a.test.\na.test. 60 IN A 192.0.2.10\n"
		config := rig.BINDConfig{Primaries: []rig.PrimaryZone{{Zone: "test.", Text: text + ns}}}
		if parent != nil {
			config.Addr = parent.Addr
			parent.Close()
		}
		parent = rig.Need(rig.StartBIND(ctx, config))(t)
	}
	delegate("")
	api := s.KubizoneV1alpha1()
	must.Get(api.DNSClasses().Create(ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{"team"}},
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary.Addr.String(),
			Catalog: v1alpha1.CatalogIgnore}}},
	}}, metav1.CreateOptions{}))(t)
	for _, zone := range []string{"child", "dev.child"} {
		must.Get(api.Zones("team").Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(zone, ".", "-")},
			Spec: v1alpha1.ZoneSpec{DomainName: zone + ".test.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: "public"}},
				NameServers: []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"10.0.0.53"}}},
				Delegations: []v1alpha1.DelegationRule{{Zones: []string{"dev"}, Records: []v1alpha1.RecordDelegation{
					{Pattern: "*"}, {Pattern: "many", Types: []string{"TYPE65300"}}}}},
			}}, metav1.CreateOptions{}))(t)
	}
	for name, domain := range map[string]string{"www": "www.child.test.", "apps": "*.apps.child.test.", "www-dev": "www.dev.child.test."} {
		must.Get(api.Records("team").Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{
			DomainName: domain, Type: "A", RData: "192.0.2.1"}}, metav1.CreateOptions{}))(t)
	}
	kinds := []struct{ rrtype, data string }{{"TXT", `it's "quoted" \ and a ` + strings.Repeat("long ", 80)}, {"MX", "10 Mail"},
		{"SRV", "0 5 443 WWW.child.test."}, {"CAA", `0 issue "ca.example; a=b"`}, {"HTTPS", "1 . alpn=h2,h3 port=8443"},
		{"TYPE65300", `\# 3 00aaff`}, {"AAAA", "2001:DB8:0::1"}, {"NAPTR", `100 10 "u" "E2U+sip" "!^.*$!sip:x@example.net!" .`}}
	for _, kind := range kinds {
		many := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: "many-" + strings.ToLower(kind.rrtype)},
			Spec: v1alpha1.RecordSpec{DomainName: "many.child.test.", Type: kind.rrtype, RData: kind.data}}
		must.Get(api.Records("team").Create(ctx, many, metav1.CreateOptions{}))(t)
	}
	ask := func(text string) why.Chain {
		t.Helper()
		return must.Get(why.Ask(ctx, why.Clients{API: s, Ask: func(ctx context.Context, q verify.Question) (*verify.Answer, error) {
			switch q.Server {
			case above:
				q.Server = parent.Addr.String()
			case below:
				q.Server = secondary.Addr.String()
			}
			return verify.Ask(ctx, q)
		}}, why.Question{Text: text, Namespace: "team", Resolver: parent.Addr.String()}))(t)
	}
	// until waits for a first fault, "" for none, with a text.
	until := func(text, first, says string) (c why.Chain) {
		t.Helper()
		for {
			got := ""
			if c = ask(text); c.First != nil {
				got = fmt.Sprintf("%s %s %s", c.First.Kind, c.First.State, c.First.Reason)
			}
			if strings.TrimSpace(got) == first && (first == "" || strings.Contains(c.First.Text, says)) {
				return c
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: %q, want %q: %+v", text, got, first, c)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	until("www.child.test", "Parent Fails", "lists no NS of child.test.")
	delegate("child.test. 60 IN NS old.example.net.\n")
	until("www.child.test", "Parent Fails", "to old.example.net. (lame), and the zone has ns.child.test.")
	delegate("child.test. 60 IN NS ns.child.test.\nns.child.test. 60 IN A 10.0.0.53\nchild.test. 60 IN DS 1 13 2 " +
		strings.Repeat("00", 32) + "\n")
	until("www.child.test", "Parent Fails", "has DS 1, and the zone has no DNSKEY")
	delegate("child.test. 60 IN NS ns.child.test.\nns.child.test. 60 IN A 10.0.0.53\n")
	whole := until("www.child.test", "", "")
	states := ""
	for _, l := range whole.Paths[0].Links {
		states += fmt.Sprintf("%s %s\n", l.Kind, l.State)
	}
	if want := "Rule OK\nRecord OK\nZone OK\nSerial OK\nClass OK\nServer OK\nParent OK\n"; states != want {
		t.Errorf("%s\nwant %s%+v", states, want, whole)
	}
	if c := until("www.dev.child.test", "", ""); len(c.Paths[0].Links) != 8 { // two parents: one is a Zone here
		t.Errorf("%+v", c.Paths[0].Links)
	}
	if c := until("x.apps.child.test", "", ""); c.Paths[0].Subject.Name != "apps" || !strings.Contains(c.Paths[0].Links[1].Text,
		"a wildcard that answers for x.apps.child.test.") {
		t.Errorf("%+v", c)
	}
	if c := until("many.child.test", "", ""); len(c.Paths) != len(kinds) {
		t.Errorf("%+v", c)
	}
	if c := until("192.0.2.1", "", ""); len(c.Paths) != 3 || c.Reading != why.ReadingAddress {
		t.Errorf("%+v", c)
	}
	until("free.child.test", "Record Fails", "no Record has it")
	until("zone/child", "", "")

	patch := func(name, text string) {
		t.Helper()
		must.Get(api.Zones("team").Patch(ctx, name, types.MergePatchType, []byte(text), metav1.PatchOptions{}))(t)
	}
	rewrite := func(address string) {
		t.Helper()
		must.Get(api.Records("team").Patch(ctx, "www", types.MergePatchType, []byte(`{"spec":{"rdata":"`+address+`"}}`),
			metav1.PatchOptions{}))(t)
	}
	patch("child", `{"metadata":{"annotations":{"kubi.zone/paused":"true"}}}`)
	until("www.child.test", "", "") // delivered before the pause
	rewrite("192.0.2.2")
	until("www.child.test", "Zone Waits Paused", "paused")
	patch("child", `{"metadata":{"annotations":{"kubi.zone/paused":null}}}`)
	until("www.child.test", "", "")
	secondary.Close()
	rewrite("192.0.2.3")
	until("www.child.test", "Class Fails ServerUnreachable", "does not answer")
}
