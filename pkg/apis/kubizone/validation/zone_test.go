// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
)

func newZone(change func(*v1alpha1.ZoneSpec)) *v1alpha1.Zone {
	zone := &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Name: "example-org", Namespace: "dns"},
		Spec: v1alpha1.ZoneSpec{
			DomainName:  "example.org.",
			Delegations: []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
		},
	}
	install.SetObjectDefaults_Zone(zone)
	if change != nil {
		change(&zone.Spec)
	}
	return zone
}

func setRules(rules ...v1alpha1.DelegationRule) func(*v1alpha1.ZoneSpec) {
	return func(s *v1alpha1.ZoneSpec) { s.Delegations = rules }
}

func setNameServers(servers ...v1alpha1.NameServer) func(*v1alpha1.ZoneSpec) {
	return func(s *v1alpha1.ZoneSpec) { s.NameServers = servers }
}

func TestZone_oneObject(t *testing.T) {
	type spec = *v1alpha1.ZoneSpec
	keepHistory := func(d time.Duration) func(spec) {
		return func(s spec) { s.HistoryRetention = &metav1.Duration{Duration: d} }
	}
	type rule = v1alpha1.DelegationRule
	type records = []v1alpha1.RecordDelegation
	type server = v1alpha1.NameServer
	for _, test := range []struct {
		sentence string
		change   func(spec)
		want     string
	}{
		{"S6.6 the defaults are right", nil, ""},
		{"S1.1 the root", func(s spec) { s.DomainName = "." }, ""},
		{"S1.1 relative", func(s spec) { s.DomainName = "dev"; s.ZoneRef = &v1alpha1.ZoneReference{Name: "parent"} }, ""},
		{"S1.1 relative needs zoneRef", func(s spec) { s.DomainName = "dev" }, invalid + "spec.domainName"},
		{"S3.2 cycle of one", func(s spec) { s.DomainName = "dev"; s.ZoneRef = &v1alpha1.ZoneReference{Name: "example-org"} }, invalid + "spec.zoneRef"},
		{"S1.6 same name elsewhere is no cycle", func(s spec) {
			s.DomainName = "dev"
			s.ZoneRef = &v1alpha1.ZoneReference{Name: "example-org", Namespace: "other"}
		}, ""},
		{"@ is the parent", func(s spec) { s.DomainName = "@"; s.ZoneRef = &v1alpha1.ZoneReference{Name: "parent"} }, invalid + "spec.domainName"},
		{"S5.6 wildcard zone", func(s spec) { s.DomainName = "*.example.org." }, invalid + "spec.domainName"},
		{"S1.4 view", func(s spec) { s.View = "-x" }, invalid + "spec.view"},
		{"S4.2 no pattern", setRules(rule{Records: records{{}}}), required + "spec.delegations[0].records[0].pattern"},
		{"S4.6 pattern", setRules(rule{}, rule{Records: records{{Pattern: "*"}, {Pattern: "a..b"}}}),
			invalid + "spec.delegations[1].records[1].pattern"},
		{"S1.2 pattern in other scripts", setRules(rule{Zones: []string{"bücher"}, Records: records{{Pattern: "*.ＷＷＷ.例え"}}}), ""},
		{"S1.2 pattern mapped to a wildcard", setRules(rule{Records: records{{Pattern: "＊"}}}),
			invalid + "spec.delegations[0].records[0].pattern"},
		{"S1.2 zone pattern mapped to a dot", setRules(rule{Zones: []string{"a。b"}}), invalid + "spec.delegations[0].zones[0]"},
		{"S4.6 zone pattern", setRules(rule{Zones: []string{"dev", "a b"}}), invalid + "spec.delegations[0].zones[1]"},
		{"S4.5 types", setRules(rule{Records: records{{Pattern: "*", Types: []string{"a", "Type28", "TYPE65280"}}}}), ""},
		{"S4.5 no type", setRules(rule{Records: records{{Pattern: "*", Types: []string{"A", "AAAAA"}}}}),
			invalid + "spec.delegations[0].records[0].types[1]"},
		{"S4.2 namespace", setRules(rule{Zones: []string{"dev"}, Namespace: "team a"}), invalid + "spec.delegations[0].namespace"},
		{"S4.2 namespaces are a set", setRules(rule{Zones: []string{"dev"}, Namespaces: []string{"a", "b", "a"}}),
			duplicate + "spec.delegations[0].namespaces[2]"},
		{"bound of rules", setRules(make([]rule, MaxDelegations+1)...), tooMany + "spec.delegations"},
		{"bound within a rule", setRules(rule{Zones: strings.Split(strings.Repeat("a,", MaxRulesInOne)+"a", ",")}),
			tooMany + "spec.delegations[0].zones"},
		{"S6.2 name servers", setNameServers(server{Name: "ns1", Addresses: []string{"192.0.2.1", "2001:db8::1"}},
			server{Name: "ns.example.net."}), ""},
		{"S6.2 apex as name server", setNameServers(server{Name: "@", Addresses: []string{"192.0.2.1"}}), ""},
		{"S6.2 no name", setNameServers(server{}), required + "spec.nameServers[0].name"},
		{"S6.2 bad name", setNameServers(server{Name: "n s"}), invalid + "spec.nameServers[0].name"},
		{"S6.2 wildcard", setNameServers(server{Name: "*"}), invalid + "spec.nameServers[0].name"},
		{"S6.2 bad address", setNameServers(server{Name: "ns1", Addresses: []string{"192.0.2.1", "192.0.2"}}),
			invalid + "spec.nameServers[0].addresses[1]"},
		{"S6.2 scoped address", setNameServers(server{Name: "ns1", Addresses: []string{"fe80::1%eth0"}}),
			invalid + "spec.nameServers[0].addresses[0]"},
		{"S6.2 mapped address", setNameServers(server{Name: "ns1", Addresses: []string{"::ffff:192.0.2.1"}}),
			invalid + "spec.nameServers[0].addresses[0]"},
		{"S6.2 address twice", setNameServers(server{Name: "ns1", Addresses: []string{"2001:db8::1", "2001:DB8::1"}}),
			duplicate + "spec.nameServers[0].addresses[1]"},
		{"S6.2 server twice in two spellings", setNameServers(server{Name: "ns1"}, server{Name: "NS1.example.org."}),
			duplicate + "spec.nameServers[1].name"},
		{"S6.2 addresses of a host elsewhere", setNameServers(server{Name: "ns.example.net.", Addresses: []string{"192.0.2.1"}}),
			forbidden + "spec.nameServers[0].addresses"},
		{"S1.2 name servers in other scripts", setNameServers(server{Name: "BÜCHER"}, server{Name: "xn--r8jz45g.example.net."}), ""},
		{"S1.2 name server mapped to a dot", setNameServers(server{Name: "ns1。example。net。"}), invalid + "spec.nameServers[0].name"},
		{"S1.2 name server with an escaped dot at the end", setNameServers(server{Name: `ns1.example.net\.`}),
			invalid + "spec.nameServers[0].name"},
		{"S5.11 name server that is no host name", setNameServers(server{Name: "ns_1.example.net."}), invalid + "spec.nameServers[0].name"},
		{"S1.2 primary mapped to a dot", func(s spec) { s.PrimaryNameServer = "ns1。" }, invalid + "spec.primaryNameServer"},
		{"S6.5 retry < refresh", func(s spec) { s.Retry = ptr.To[int32](86400) }, invalid + "spec.retry"},
		{"S6.5 expire > refresh + retry", func(s spec) { s.Expire = ptr.To[int32](93600) }, invalid + "spec.expire"},
		{"S6.5 expire of one more", func(s spec) { s.Expire = ptr.To[int32](93601) }, ""},
		{"S6.5 sums do not overflow", func(s spec) {
			s.Refresh, s.Retry, s.Expire = ptr.To[int32](2147483647), ptr.To[int32](2147483646), ptr.To[int32](2147483647)
		}, invalid + "spec.expire"},
		{"S6.5 ttl", func(s spec) { s.TTL = ptr.To[int32](-1) }, invalid + "spec.ttl"},
		{"S6.5 refresh of 0", func(s spec) { s.Refresh = ptr.To[int32](0) }, invalid + "spec.refresh"},
		{"S6.5 no numbers at all", func(s spec) { s.TTL, s.Refresh, s.Retry, s.Expire, s.NegativeResponseCache = nil, nil, nil, nil, nil }, ""},
		{"S6.5 primary", func(s spec) { s.PrimaryNameServer = "ns1" }, ""},
		{"S6.5 contact as mail", func(s spec) { s.Contact = "john.doe+dns@example.org" }, ""},
		{"S6.5 contact as absolute name", func(s spec) { s.Contact = `john\.doe.example.org.` }, ""},
		{"S6.5 contact without local part", func(s spec) { s.Contact = "@example.org" }, invalid + "spec.contact"},
		{"S6.5 contact without domain", func(s spec) { s.Contact = "hostmaster@" }, invalid + "spec.contact"},
		{"S6.5 contact with a space", func(s spec) { s.Contact = "john doe@example.org" }, invalid + "spec.contact"},
		{"S6.5 contact of a long local part", func(s spec) { s.Contact = strings.Repeat("a", 64) + "@example.org" }, invalid + "spec.contact"},
		{"S3.5 withdrawalGracePeriod", func(s spec) { s.WithdrawalGracePeriod = &metav1.Duration{Duration: 720 * time.Hour} }, ""},
		{"S3.6 withdrawalGracePeriod 0s", func(s spec) { s.WithdrawalGracePeriod = &metav1.Duration{} }, ""},
		{"S3.6 withdrawalGracePeriod beyond 30 days", func(s spec) { s.WithdrawalGracePeriod = &metav1.Duration{Duration: 721 * time.Hour} }, invalid + "spec.withdrawalGracePeriod"},
		{"S3.6 withdrawalGracePeriod below 0s", func(s spec) { s.WithdrawalGracePeriod = &metav1.Duration{Duration: -time.Second} }, invalid + "spec.withdrawalGracePeriod"},
		{"S7.13 historyRetention", keepHistory(2160 * time.Hour), ""},
		{"S7.13 historyRetention 0s", keepHistory(0), ""},
		{"S7.13 historyRetention beyond 90 days", keepHistory(2161 * time.Hour), invalid + "spec.historyRetention"},
		{"S7.13 historyRetention below 0s", keepHistory(-time.Second), invalid + "spec.historyRetention"},
		{"S7.13 historyRetention of half a second", keepHistory(time.Second / 2), invalid + "spec.historyRetention"},
		{"S3.6 withdrawalGracePeriod of half a second", func(s spec) { s.WithdrawalGracePeriod = &metav1.Duration{Duration: time.Second / 2} }, invalid + "spec.withdrawalGracePeriod"},
		{"S6.8 minimumSerial", func(s spec) { s.MinimumSerial = ptr.To[int64](4294967295) }, ""},
		{"S6.8 minimumSerial 0", func(s spec) { s.MinimumSerial = ptr.To[int64](0) }, invalid + "spec.minimumSerial"},
		{"S6.8 minimumSerial of 33 bits", func(s spec) { s.MinimumSerial = ptr.To[int64](4294967296) }, invalid + "spec.minimumSerial"},
		{"classes", func(s spec) {
			s.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: "DNSClass", Name: "x"}, {Kind: "Bind9Cluster", Name: "x"}}
		}, ""},
		{"class of another kind", func(s spec) { s.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: "Secret", Name: "x"}} }, unsupported + "spec.dnsClassRefs[0].kind"},
		{"class twice", func(s spec) {
			s.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: "DNSClass", Name: "x"}, {Kind: "DNSClass", Name: "x"}}
		}, duplicate + "spec.dnsClassRefs[1]"},
		{"class without name", func(s spec) { s.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: "DNSClass"}} }, required + "spec.dnsClassRefs[0].name"},
		{"S5.9 limits", func(s spec) { s.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: ptr.To[int32](0)} }, invalid + "spec.limits.recordsPerNamespace"},
		{"S5.9 least TTL", func(s spec) { s.Limits = &v1alpha1.ZoneLimits{MinTTL: ptr.To[int32](0)} }, invalid + "spec.limits.minTTL"},
		{"S5.9 least TTL above the zone's", func(s spec) {
			s.TTL, s.Limits = ptr.To[int32](300), &v1alpha1.ZoneLimits{MinTTL: ptr.To[int32](301)}
		}, invalid + "spec.limits.minTTL"},
		{"S5.9 least TTL is the zone's", func(s spec) {
			s.TTL, s.Limits = ptr.To[int32](300), &v1alpha1.ZoneLimits{MinTTL: ptr.To[int32](300)}
		}, ""},
		{"S7.5 share", func(s spec) { s.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: ptr.To[int32](101)} }, invalid + "spec.limits.maxDeletePercent"},
		{"S7.5 negative share", func(s spec) { s.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: ptr.To[int32](-1)} }, invalid + "spec.limits.maxDeletePercent"},
		{"S7.5 no limit", func(s spec) { s.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: ptr.To[int32](100)} }, ""},
		{"S8.4 deletionPolicy", func(s spec) { s.DeletionPolicy = "Keep" }, unsupported + "spec.deletionPolicy"},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			wantErrors(t, Zone(newZone(test.change)), test.want)
		})
	}
}

// A newer version may refuse a value that an older version stored. So an update is refused only for invalid values that
// the update changes, and the stored invalid value blocks no other change.
func TestZoneUpdate_answersForWhatItChanges(t *testing.T) {
	before := newZone(setNameServers(v1alpha1.NameServer{Name: "n s"}))
	before.ResourceVersion = "1"
	after := before.DeepCopy()
	after.Spec.Contact = "hostmaster@example.org"
	wantErrors(t, ZoneUpdate(after, before), "")
	after.Spec.NameServers = append(after.Spec.NameServers, v1alpha1.NameServer{Name: "m s"})
	wantErrors(t, ZoneUpdate(after, before), invalid+"spec.nameServers[1].name")
}

func TestZoneWarnings(t *testing.T) {
	type rule = v1alpha1.DelegationRule
	type records = []v1alpha1.RecordDelegation
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.ZoneSpec)
		want   string
	}{
		{"nothing to say", nil, ""},
		{"S4.6 matches nothing", setRules(rule{Records: records{{Pattern: "*.other.org."}}}), `spec.delegations[0].records[0].pattern: ` +
			`pattern "*.other.org." can match no name of example.org.`},
		{"S4.6 repeats the zone", setRules(rule{Records: records{{Pattern: "www.example.org"}}}), `pattern: pattern ` +
			`"www.example.org" repeats the zone's name, and is relative to example.org.: write "www", or a dot at its end`},
		{"S4.6 repeats the zone with a star", setRules(rule{Zones: []string{"*.example.org"}}), `write "*"`},
		{"S4.6 is the zone", setRules(rule{Records: records{{Pattern: "example.org"}}}), `write "@"`},
		{"S4.6 ends as the zone", setRules(rule{Records: records{{Pattern: "myexample.org"}, {Pattern: "www.example.org."}}}), ""},
		{"S5.15 address of a name server", func(s *v1alpha1.ZoneSpec) {
			s.NameServers = []v1alpha1.NameServer{{Name: "a", Addresses: []string{"192.0.2.1", "0.0.0.0"}}}
		}, `spec.nameServers[0].addresses[1]: "0.0.0.0" is the unspecified address`},
		{"S5.15 contact", func(s *v1alpha1.ZoneSpec) { s.Contact = "hostmaster" }, "means hostmaster@example.org: write"},
		{"S5.15 contact without a dot", func(s *v1alpha1.ZoneSpec) { s.Contact = "admin.example.org" }, "@example.org.example.org: "},
		{"S5.15 contact of another zone", func(s *v1alpha1.ZoneSpec) { s.Contact = "admin.example.net." }, ""},
		{"S4.6 zone pattern matches nothing", setRules(rule{Zones: []string{"example.com."}}), "spec.delegations[0].zones[0]"},
		{"S4.6 the zone itself as its child", setRules(rule{Zones: []string{"@"}}), "spec.delegations[0].zones[0]"},
		{"S4.1 an empty rule", setRules(rule{Namespace: "team-a"}), "spec.delegations[0]: lists neither"},
		{"S5.4 a type that is no Record", setRules(rule{Records: records{{Pattern: "*", Types: []string{"A", "SOA"}}}}),
			"spec.delegations[0].records[0].types[1]"},
		{"S6.8 expire that is remembered", func(s *v1alpha1.ZoneSpec) { s.Expire = ptr.To[int32](60 * 86400) }, ""},
		{"S6.8 expire that is longer", func(s *v1alpha1.ZoneSpec) { s.Expire = ptr.To[int32](60*86400 + 1) }, "spec.expire: 5184001"},
		{"S5.15 refresh", func(s *v1alpha1.ZoneSpec) { s.Refresh = ptr.To[int32](5) }, "spec.refresh: 5s is short"},
		{"S5.15 retry", func(s *v1alpha1.ZoneSpec) { s.Retry = ptr.To[int32](1) }, "spec.retry: 1s is short"},
		{"S5.15 expire", func(s *v1alpha1.ZoneSpec) { s.Expire = ptr.To[int32](86399) }, "spec.expire: 86399s is short"},
		{"S5.15 negative cache", func(s *v1alpha1.ZoneSpec) { s.NegativeResponseCache = ptr.To[int32](604800) }, "604800s is long"},
		{"unknown as long as the parent's name is", func(s *v1alpha1.ZoneSpec) {
			setRules(rule{Records: records{{Pattern: "*.other.org."}}})(s)
			s.DomainName = "dev"
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) { wantWarning(t, ZoneWarnings(newZone(test.change)), test.want) })
	}

	for text, want := range map[string]string{
		"192.0.2.0.": "write its reverse zone, 2.0.192.in-addr.arpa.", "1.2.3.4.5.": "",
		"192.0.2.0/24.":         "write its reverse zone, 2.0.192.in-addr.arpa.",
		"10.1.":                 "write its reverse zone, 1.10.in-addr.arpa.",
		"192.0.2.in-addr.arpa.": "write 2.0.192.in-addr.arpa. for 192.0.2.0", "192.168.in-addr.arpa.": "168.192.in-addr.arpa.",
		"10.0.in-addr.arpa.": "0.10.in-addr.arpa.", "2.0.192.in-addr.arpa.": "", "0.in-addr.arpa.": "",
		"255.255.255.255.in-addr.arpa.": "",
		"5.168.10.in-addr.arpa.":        "", "10.168.5.in-addr.arpa.": "", "16.172.in-addr.arpa.": "", "0-25.2.0.192.in-addr.arpa.": "",
		"corp.local.": "by multicast", "local.example.org.": "",
		"com.": `write the full name of your domain, as "example.com."`, "de.": "top-level", "lan.": "", ".": "", "co.uk.": "",
		"example.org.example.org.": "names example.org. twice",
	} {
		zone := newZone(func(s *v1alpha1.ZoneSpec) { s.DomainName, s.Delegations = text, nil })
		wantWarning(t, NewZoneWarnings(zone), want) // S5.15
	}

	served := func(rules ...rule) *v1alpha1.Zone {
		zone := newZone(setRules(rules...))
		zone.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1.example.net."}}
		return zone
	}
	mine, all := rule{Namespace: "dns", Zones: []string{"a"}}, rule{Zones: []string{"a"}}
	wantWarning(t, NewZoneWarnings(served(mine)), "")
	lacks := func(zone *v1alpha1.Zone) []string { return slices.Collect(maps.Values(BareZoneWarnings(zone))) }
	wantWarning(t, lacks(newZone(setRules(mine))), "spec.nameServers is empty") // S5.15
	wantWarning(t, lacks(served(mine)), "")
	wantWarning(t, NewZoneWarnings(served(mine, all)), "spec.delegations[1]: has no namespace")
	wantWarning(t, OpenRuleWarnings(served(mine, all), served(mine)), "spec.delegations[1]: has no namespace")
	wantWarning(t, OpenRuleWarnings(served(mine, all), served(mine, all)), "")
	wantWarning(t, OpenRuleWarnings(served(rule{Namespaces: []string{"a"}}), served()), "")
	challenges := rule{Namespace: "certs", Records: records{{Pattern: "_acme-challenge.*"}}}
	wantWarning(t, NewZoneWarnings(served(mine, challenges)), "spec.delegations[1].records[0].pattern: \"_acme-challenge.*\" matches below")
	wantWarning(t, OpenRuleWarnings(served(challenges, mine), served(mine, challenges)), "") // unchanged
	apex := func(rule rule) *v1alpha1.Zone { rule.Records = records{{Pattern: "@"}}; return served(rule) }
	wantWarning(t, NewZoneWarnings(apex(rule{Namespace: "a"})), "spec.delegations[0].records[0].pattern: \"@\" gives nothing") // S4.10
	wantWarning(t, NewZoneWarnings(apex(rule{Namespaces: []string{"a", "dns"}})), "")
	shared := apex(rule{Namespace: "a"})
	shared.Spec.Delegations[0].Records[0].Shared = true
	wantWarning(t, NewZoneWarnings(shared), "")
	challenges.Namespace = "dns"
	wantWarning(t, NewZoneWarnings(served(challenges)), "") // names of the own namespace
	wantWarning(t, lacks(served()), `add the rule {"namespace":"dns","records":[{"pattern":"@"},{"pattern":"*"}]}; a rule without `+
		`a namespace is for every namespace`)
	var many []rule
	for range 100 {
		many = append(many, rule{})
	}
	warnings := ZoneWarnings(newZone(setRules(many...)))
	if len(warnings) != maxWarnings || warnings[maxWarnings-1] != fmt.Sprintf("and %d more", 100-maxWarnings+1) {
		t.Errorf("%d warnings, the last %q", len(warnings), warnings[len(warnings)-1])
	}
}

func FuzzZone(f *testing.F) {
	f.Add("example.org.", "*.@", "A", "ns1", "192.0.2.1", "hostmaster@example.org", "team-a", int32(60), int64(1))
	f.Add("。", "*。*", "TYPE65535", "@", "fe80::1%x", `a\@b`, "\xff", int32(-5), int64(-1))
	f.Add("xn--", "xn--*", "", `\000`, "::ffff:1.2.3.4", "@", "", int32(2147483647), int64(1<<40))
	f.Fuzz(func(t *testing.T, domainName, pattern, rrtype, host, address, contact, namespace string, n int32, serial int64) {
		zone := newZone(func(s *v1alpha1.ZoneSpec) {
			s.DomainName, s.View, s.PrimaryNameServer, s.Contact = domainName, namespace, host, contact
			s.Delegations = []v1alpha1.DelegationRule{
				{Namespace: namespace, Namespaces: []string{namespace, host}, Zones: []string{pattern, domainName}},
				{Records: []v1alpha1.RecordDelegation{{Pattern: pattern, Types: []string{rrtype}}}},
			}
			s.NameServers = []v1alpha1.NameServer{{Name: host, Addresses: []string{address}}, {Name: domainName, Addresses: []string{address, host}}}
			s.TTL, s.Refresh, s.Retry, s.Expire, s.NegativeResponseCache = &n, &n, &n, &n, &n
			s.MinimumSerial = &serial
			s.ZoneRef = &v1alpha1.ZoneReference{Name: host, Namespace: namespace}
			s.DNSClassRefs = []v1alpha1.DNSClassReference{{Kind: v1alpha1.ClassKind(rrtype), Name: host}}
			s.Limits = &v1alpha1.ZoneLimits{RecordsPerNamespace: &n, MinTTL: &n}
		})
		errs := Zone(zone)
		NewZoneWarnings(zone)
		zone.ResourceVersion = "1"
		if left := ZoneUpdate(zone, zone); len(left) > 0 {
			t.Errorf("an update that changes nothing is refused: %v (of %v)", left, errs)
		}
	})
}

// A shorter historyRetention is warned of, as it deletes changes.
func TestRetentionWarnings(t *testing.T) {
	of := func(hours int) *v1alpha1.Zone {
		z := &v1alpha1.Zone{}
		if hours >= 0 {
			z.Spec.HistoryRetention = &metav1.Duration{Duration: time.Duration(hours) * time.Hour}
		}
		return z
	}
	for _, tt := range []struct {
		before, after int
		want          string
	}{{-1, -1, ""}, {-1, 168, ""}, {1, 2, ""}, {0, -1, ""}, {-1, 0, "0s keeps no history"},
		{1, 0, "find nothing to undo"}, {0, 0, ""}, {2, 1, "set 2h0m0s again"},
		{169, -1, "older than 168h"}} {
		wantWarning(t, RetentionWarnings(of(tt.after), of(tt.before)), tt.want)
	}
}
