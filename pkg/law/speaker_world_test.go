// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/pattern"
	"kubi.zone/kubizone/pkg/law/rules"
	"kubi.zone/kubizone/pkg/law/zones"
)

// There are only a few names and data, so that they collide.
var (
	speakerTenants  = []string{"a", "b", "c"}
	speakerPrefixes = []string{"", "", "", "*.", "_acme-challenge.", "_acme-challenge.", "_dmarc.", "s._domainkey.", "_443._tcp."}
	speakerNames    = []string{"x", "x", "y", "y.x", "y.x", "z.x", "z.y.x", "ns.x", "ns.y.x", "ns1"}
	speakerPatterns = []string{"*", "*", "*", "*.x", "*.*", "x", "y.x", "z.x", "z.y.x", "ns.x", "ns1", "*.y.x", "y*", "_acme-challenge.*",
		"_acme-challenge.x", "_dmarc.x", "_dmarc.*"}
	speakerData = []string{"A 192.0.2.1", "A 192.0.2.1", "A 192.0.2.1", "TXT t", "TXT t", "TXT t", `CAA 0 issue ";"`, `CAA 0 issue ";"`,
		"CNAME y.x", "CNAME z.y.x", "CNAME x", "CNAME y", "CNAME e.example.net.", "MX 10 x", "MX 10 y.x", "HTTPS 1 z.x", "NS ns.x",
		"NS ns.y.x", "NS ns1", "NS ns.example.net.", "DNAME y", "DNAME example.net.", "TLSA 3 1 1 " + strings.Repeat("0", 64)}
	speakerTypes = []rdata.Type{rdata.A, rdata.TXT, rdata.CAA, rdata.CNAME, rdata.MX, rdata.HTTPS, rdata.NS, rdata.DNAME, rdata.TLSA}
)

// speakers is a random world of an owner and three tenants. All works are finished after each act.
type speakers struct {
	*world
	t     *rapid.T
	hosts []content.NameServer
}

func makeRecordRule(text string, types []rdata.Type, shared bool) rules.RecordRule {
	p, err := pattern.Parse(text)
	if err != nil {
		panic(err)
	}
	return rules.RecordRule{Pattern: p, Text: text, Types: types, Shared: shared}
}

// drawOwnerRules draws rules that allow the owner everything, and other namespaces much.
func drawOwnerRules(t *rapid.T, ns string) []rules.Rule {
	every, apex := makeRecordRule("*", nil, false), makeRecordRule("@", nil, false)
	given := []rules.Rule{{Namespaces: []string{ns}, Records: []rules.RecordRule{every, apex}, Zones: []pattern.Pattern{every.Pattern}}}
	for i := range rapid.IntRange(1, 5).Draw(t, "rules") {
		to := [][]string{{"a"}, {"b"}, {"c"}, {"a", "b"}, {"b", "c"}, nil}
		r := rules.Rule{Namespaces: slices.Clone(rapid.SampledFrom(to).Draw(t, "to"))}
		if i < 3 && rapid.IntRange(0, 4).Draw(t, "one each") < 4 {
			r.Namespaces = []string{speakerTenants[i]}
		}
		shared := rapid.IntRange(0, 3).Draw(t, "shared") == 3
		for range rapid.IntRange(1, 2).Draw(t, "patterns") {
			types := rapid.SampledFrom([][]rdata.Type{nil, speakerTypes}).Draw(t, "types")
			r.Records = append(r.Records, makeRecordRule(rapid.SampledFrom(speakerPatterns).Draw(t, "pattern"), types, shared))
		}
		if rapid.IntRange(0, 3).Draw(t, "for zones") == 3 {
			r.Zones = append(r.Zones, makeRecordRule(rapid.SampledFrom(speakerPatterns).Draw(t, "pattern"), nil, false).Pattern)
		}
		given = append(given, r)
	}
	return given
}

func (s *speakers) writeZone(o object, domain string, given []rules.Rule) {
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: domain, Header: someHeader,
		ZoneSettings: makeSettings(given, 0, 100)}
	if o.Name == "top" {
		spec.Header.NameServers = s.hosts
	}
	_, refusal := s.putZone(spec, o.Name == "top")
	var text []string
	for _, r := range given {
		for _, x := range r.Records {
			text = append(text, fmt.Sprintf("allow %s shared=%t types=%s to %s", x.Text, x.Shared, x.Types, r.Namespaces))
		}
		for _, x := range r.Zones {
			text = append(text, fmt.Sprint("zones ", x, " to ", r.Namespaces))
		}
	}
	s.t.Logf("  zone %s: %s, servers %v, %q, refused: %t", o, domain, spec.Header.NameServers, text, refusal != nil)
}

func drawSpeaking(t *rapid.T) law.Record {
	ns := rapid.SampledFrom([]string{"a", "a", "b", "b", "c", "owner"}).Draw(t, "namespace")
	r := law.Record{Namespace: ns, Name: fmt.Sprint("r", rapid.IntRange(1, 4).Draw(t, "record"))}
	mnemonic, text, _ := strings.Cut(rapid.SampledFrom(speakerData).Draw(t, "data"), " ")
	r.DomainName = rapid.SampledFrom(speakerPrefixes).Draw(t, "prefix") + rapid.SampledFrom(speakerNames).Draw(t, "name") + ".org."
	if ns == "owner" && rapid.IntRange(0, 3).Draw(t, "apex") == 0 {
		r.DomainName = "org."
	}
	var err error
	if r.Type, err = rdata.ParseType(mnemonic); err != nil {
		t.Fatal(err)
	}
	v, err := rdata.Parse(r.Type, text)
	if err != nil {
		t.Fatal(err)
	}
	if host := v.Host(); host != "" && !strings.HasSuffix(host, ".") { // in any zone
		if v, err = rdata.Parse(r.Type, strings.Replace(text, host, host+".org.", 1)); err != nil {
			t.Fatal(err)
		}
	}
	r.Values = []rdata.Value{v}
	return r
}

func speakAtRandom(t *rapid.T, report func(*speech)) {
	s := &speakers{world: newWorld(), t: t}
	s.quick = true
	hosts := [][]content.NameServer{nil, nil, {{Name: "ns.example.com."}}, {{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
		{{Name: "ns1"}}}
	s.hosts = rapid.SampledFrom(hosts).Draw(t, "servers")
	s.writeZone(object{"owner", "top"}, "org.", drawOwnerRules(t, "owner"))
	act := func(do func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			s.now = s.now.Add(time.Second)
			do(t)
			s.settleAll()
			for _, x := range s.hearSpeakers() {
				report(&x)
			}
			for _, o := range sortedObjects(s.zones) {
				if z := s.zones[o].zone; !z.Pending {
					for _, nested := range s.nestedClaims(z) {
						t.Fatalf("claims nest in zone %s: %s", z.FQDN(), nested)
					}
				}
			}
		}
	}
	record := act(func(t *rapid.T) {
		r := drawSpeaking(t)
		o := object{r.Namespace, r.Name}
		if was := s.records[o]; was != nil && rapid.IntRange(0, 4).Draw(t, "edit") > 0 {
			s.deleteRecord(o)
		} else if was != nil {
			r.DomainName = was.record.DomainName
		}
		_, refusal := s.putRecord(r)
		t.Logf("  %s: %s %s %s, refused: %t", o, r.DomainName, r.Type, r.Values, refusal != nil)
	})
	acts := map[string]func(*rapid.T){
		"record": record, "record too": record, "another record": record, "one more record": record,
		"delete": act(func(t *rapid.T) {
			if len(s.records) == 0 {
				t.Skip("none")
			}
			o := rapid.SampledFrom(sortedObjects(s.records)).Draw(t, "object")
			t.Logf("  delete %s", o)
			s.deleteRecord(o)
		}),
	}
	more := rapid.SampledFrom([]string{"records", "records", "zones", "zones", "rules"}).Draw(t, "more")
	if more != "records" {
		acts["zone"] = act(func(t *rapid.T) {
			o := object{rapid.SampledFrom([]string{"owner", "a", "b"}).Draw(t, "namespace"), "one"}
			if rapid.Bool().Draw(t, "another") {
				o.Name = "two"
			}
			if s.zones[o] != nil {
				t.Logf("  delete zone %s", o)
				s.deleteZone(o)
				return
			}
			domain := rapid.SampledFrom(speakerPrefixes).Draw(t, "prefix") + rapid.SampledFrom(speakerNames).Draw(t, "name") + ".org."
			s.writeZone(o, domain, drawOwnerRules(t, o.Namespace))
		})
	}
	if more == "rules" {
		acts["rules"] = act(func(t *rapid.T) { s.writeZone(object{"owner", "top"}, "org.", drawOwnerRules(t, "owner")) })
	}
	t.Repeat(acts)
}

// openClasses are the permitted ways for a tenant's data to be read for another's name, each with a rule and a story in
// speakers.txt. A Warning reports targets of the own namespace. The owner of the rules is responsible for zones in
// their grace period, and for records by former rules.
var openClasses = map[string]string{
	"what own points to":                                 "4.18",
	"what NS of a third point to":                        "4.18",
	"an address in a zone below of a server of the apex": "4.18",
	"a zone in its period":                               "3.5",
	"what former rules let in":                           "4.17",
}

// A record speaks for a name if a resolver, a certificate authority or a mail host reads it for the name, such as a TXT
// at an underscore label below. In random worlds, no tenant speaks for a name claimed by another tenant, except in the
// permitted ways of openClasses.
func TestSpeakers(t *testing.T) {
	often := 8 // a few seconds
	if os.Getenv("KUBIZONE_TEST_LONG") != "" {
		often = 400
	}
	for i := range often {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				speakAtRandom(t, func(s *speech) {
					if openClasses[s.classOf()] == "" {
						t.Fatalf("%s (%s)", s.describeSpeech(), s.asked)
					}
				})
			})
		})
	}
}

// A shared name gives no access to another tenant's name above it. The test puts a shared rule beside each of a few
// rules, and lets all tenants write three nested names in all orders.
func TestSpeakers_onThreeNames(t *testing.T) {
	var given [2][]rules.Rule // the second shared
	for i := range given {
		for _, texts := range [][]string{{"*"}, {"*.x"}, {"x*", "y*.x"}, {"y.x", "*.y.x"}} {
			for _, to := range [][]string{{"a"}, {"a", "b"}, {"b", "c"}} {
				r := rules.Rule{Namespaces: to}
				for _, text := range texts {
					r.Records = append(r.Records, makeRecordRule(text, nil, i == 1))
				}
				given[i] = append(given[i], r)
			}
		}
	}
	names := []law.Record{{DomainName: "x.org.", Type: rdata.CAA, Values: []rdata.Value{{Type: rdata.CAA, Text: `0 issue ";"`}}}}
	for _, n := range []string{"y.x.org.", "z.y.x.org."} {
		names = append(names, law.Record{DomainName: n, Type: rdata.A, Values: []rdata.Value{{Type: rdata.A, Text: "192.0.2.1"}}})
	}
	try := func(list []rules.Rule, tenants []string, order []int) {
		set := rules.Set{Zone: name.MustParse("org."), OwnNamespace: "owner", Lists: [2][]rules.Rule{list}}
		for i, r := range names {
			if !set.AllowsName(name.MustParse(r.DomainName), tenants[i]) {
				return
			}
		}
		w := newWorld()
		w.quick = true
		w.putZone(zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "top"}, DomainName: "org.", Header: someHeader,
			ZoneSettings: makeSettings(list, 0, 100)}, true)
		for _, i := range order {
			w.now = w.now.Add(time.Second)
			r := names[i]
			r.Namespace, r.Name = tenants[i], r.DomainName
			if _, refusal := w.putRecord(r); refusal != nil {
				return
			}
		}
		for _, s := range w.hearSpeakers() {
			t.Errorf("%s and %s, names of %s in order %v: %s", list[0].Text(), list[1].Text(), tenants, order, s.describeSpeech())
		}
	}
	for _, shared := range given[1] {
		for _, r := range slices.Concat(given[0], given[1]) {
			for k := range 27 {
				for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
					try([]rules.Rule{r, shared}, []string{speakerTenants[k/9], speakerTenants[k/3%3], speakerTenants[k%3]}, order)
				}
			}
		}
	}
}

// testdata/speakers.txt has a story for each known way for a tenant to speak for another's name. The stories and the
// list openClasses must agree, so that no way is forgotten and none is listed in vain.
func TestSpeakers_openClassesAreMet(t *testing.T) {
	text, err := os.ReadFile("testdata/speakers.txt")
	if err != nil {
		t.Fatal(err)
	}
	met := map[string]bool{}
	for _, reported := range strings.Split(string(text), "\nhear\n----\n")[1:] {
		reported, _, _ = strings.Cut(reported, "\n\n")
		for line := range strings.Lines(reported) {
			class, _, ok := strings.Cut(line, ": ")
			if met[class] = true; ok && openClasses[class] == "" {
				t.Errorf("%q is heard in speakers.txt, and is no open class", class)
			}
		}
	}
	for class, rule := range openClasses {
		if !met[class] {
			t.Errorf("%q is not heard in speakers.txt: the law has closed it (%s), so it goes from the list, or its story is lost",
				class, rule)
		}
	}
}

// The twin reports each record that breaks a rule, and reports nothing in a correct world.
func TestSpeakers_hear(t *testing.T) {
	const each = "* to a; * to b"
	for _, x := range []struct{ what, rules, records, want string }{
		{"N1: the wildcard of a pattern of two", "*.apps to a; *.apps to b", "b shop.apps A; a *.apps TXT",
			"a younger underscore name or wildcard above"},
		{"N1: its challenge", "*.apps to a; *.apps to b", "b shop.apps A; a _acme-challenge.apps TXT",
			"a younger underscore name or wildcard above"},
		{"N2: a challenge of the name above", each, "a first A; b under.first A; a _acme-challenge.first TXT",
			"a younger underscore name or wildcard above"},
		{"attack 64: glue below the name of another", each, "a x NS ns.x; b ns.x A",
			"an older cut above; what the tenant points to below its name"},
		{"a certificate for the name", each, "b x A; a _acme-challenge.x CNAME e.example.net.",
			"a younger underscore name or wildcard at it; an older A at it"},
		{"by a wildcard", each, "b x A; a *.x TXT", "a younger underscore name or wildcard at it; an older A at it"},
		{"data beside its own", each, "b x A; a x TXT", "a younger TXT at it; an older A at it"},
		{"CAA above", each, "b y.x A; a x CAA", "a younger CAA above"},
		{"CNAME above, which has its CAA elsewhere", each, "b y.x A; a x CNAME e.example.net.", "a younger CAA above"},
		{"CAA above its own", each, "b y.x A; b y.x CAA; a x CAA", ""},
		{"a policy far above", each, "b z.y.x A; a _dmarc.x TXT", "a younger underscore name or wildcard above"},
		{"a challenge far above", each, "b z.y.x A; a _acme-challenge.x TXT", ""},
		{"DNAME above", each, "b y.x A; a x DNAME e.example.net.", "a younger cut above"},
		{"NS above", each, "b y.x A; a x NS ns.example.net.", "a younger cut above"},
		{"names side by side", each, "a x A; b y A; a x MX y; b _acme-challenge.y TXT", ""},
		{"names below each other", each, "a x A; a x TXT; b y.x A; a x MX e.example.net.", ""},
		{"the owner at, above and below", each, "b x A; owner x TXT; owner _acme-challenge.x TXT; owner y.x CAA; owner _dmarc TXT", ""},
		{"a literal rule", each + "; x to a", "b y.x A; a x CAA", ""},
		{"a literal rule is no leave for others", each + "; x to c", "b y.x A; a x CAA", "a younger CAA above"},
		{"a name that a literal rule puts below others", each + "; z.y.x to b", "b z.y.x A; a x NS ns.x; b *.z.y.x TXT", ""},
		{"an underscore rule", each + "; _acme-challenge.* to a", "b x A; a _acme-challenge.x TXT", ""},
		{"an underscore rule for another label", each + "; _dmarc.* to a", "b x A; a _acme-challenge.x TXT",
			"a younger underscore name or wildcard at it; an older A at it"},
		{"a name by a literal rule", "* to a; x to b", "b x A; a _acme-challenge.x TXT", ""},
		{"one shared rule", "* shared to a b", "b x A; a _acme-challenge.x TXT; a x A", ""},
		{"two shared rules", "* shared to a; * shared to b", "b x A; a _acme-challenge.x TXT", "a shared record"},
		{"a shared rule beside a plain one", "* shared to a; * to b", "b x A; a _acme-challenge.x TXT",
			"a record at a shared claim; a shared record"},
		{"a name that the tenant points to elsewhere", each, "a x CNAME y; b y A", ""},
		{"a name that it points to below its own", each, "a x CNAME y.x; b y.x A",
			"an older CAA above; what the tenant points to below its name"},
		{"which was there before", each, "b y.x A; a x MX y.x", ""},
		{"an address of a server", each, "a x A; owner @ NS ns1; b ns1 A", "an address of a server of the apex"},
		{"which was there before, too", each, "a x A; b ns1 A; owner @ NS ns1", ""},
		{"glue of own's cut", each, "b w.x A; owner x NS ns.x; a ns.x A", "what own points to"},
		{"a target of own", each, "b x A; owner _acme-challenge.x CNAME y; a y TXT", "what own points to"},
	} {
		w := newWorld()
		w.quick = true
		given := []rules.Rule{{Namespaces: []string{"owner"}, Records: []rules.RecordRule{makeRecordRule("*", speakerTypes, false)}}}
		for _, text := range strings.Split(x.rules, "; ") {
			allows, to, _ := strings.Cut(text, " to ")
			text, shared := strings.CutSuffix(allows, " shared")
			given = append(given, rules.Rule{Namespaces: strings.Fields(to),
				Records: []rules.RecordRule{makeRecordRule(text, speakerTypes, shared)}})
		}
		if _, refusal := w.putZone(zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "top"}, DomainName: "org.", Header: someHeader,
			ZoneSettings: makeSettings(given, 0, 100)}, true); refusal != nil {
			t.Fatal(refusal)
		}
		for i, text := range strings.Split(x.records, "; ") {
			w.now = w.now.Add(time.Second)
			w.plantRecord(object{strings.Fields(text)[0], fmt.Sprint("r", i)}, strings.Fields(text)[1:])
		}
		var classes []string
		for _, s := range w.hearSpeakers() {
			classes = append(classes, s.classOf())
		}
		slices.Sort(classes)
		if got := strings.Join(slices.Compact(classes), "; "); got != x.want {
			t.Errorf("%s: %s\nheard: %s\nwant:  %s", x.what, x.records, got, x.want)
		}
	}
}

// plantRecord adds NAME TYPE [TARGET] to the top zone without a decision.
func (w *world) plantRecord(o object, fields []string) {
	top := w.zones[object{"owner", "top"}].zone
	n, err := name.ParseIn(fields[0], top.FQDN())
	if err != nil {
		panic(err)
	}
	rtype, err := rdata.ParseType(fields[1])
	if err != nil {
		panic(err)
	}
	v := rdata.Value{Type: rtype, Text: "10 " + fields[len(fields)-1]} // the twin reads the last word only
	w.records[o] = &recordObject{written: w.now.Unix(), first: top.UID, placed: law.Placement{FQDN: n, Zone: &top.Ref},
		record: law.Record{Namespace: o.Namespace, Name: o.Name, DomainName: n.String(), Type: rtype, Values: []rdata.Value{v},
			Created: w.now.Unix()}}
}
