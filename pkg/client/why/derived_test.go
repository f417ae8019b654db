// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

// derivingZone serves the zones example.org. and signed.example.org., without Records. It refuses requests whose URL
// has the part forbidden; a "$" there is the URL's end.
type derivingZone struct{ forbidden string }

func (z *derivingZone) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{Kind: name, APIVersion: "kubi.zone/v1alpha1"}
	}
	answer := func(code int, object any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(object)
	}
	zone := v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "org", UID: "u"}, Spec: v1alpha1.ZoneSpec{
		NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}, {Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespaces: []string{"team", "web"}, Records: []v1alpha1.RecordDelegation{
			{Pattern: "free", Types: []string{"A"}}}}, {Records: []v1alpha1.RecordDelegation{{Pattern: "shared"}}}}},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7}}
	signed := v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "signed"}, Status: v1alpha1.ZoneStatus{
		FQDN: "signed.example.org.", Serial: 2, SettledSerial: 2, ParentRef: &v1alpha1.ZoneParent{Namespace: "dns", Name: "org"}}}
	reverse := v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "reverse"}, Spec: v1alpha1.ZoneSpec{
		Reverse: &v1alpha1.ZoneReverse{Zones: []string{"org"}}}, Status: v1alpha1.ZoneStatus{FQDN: "2.0.192.in-addr.arpa.", Serial: 3,
		SettledSerial: 3}}
	query := r.URL.Query()
	switch path := strings.TrimPrefix(r.URL.Path, "/apis/kubi.zone/v1alpha1"); {
	case z.forbidden != "" && strings.Contains(r.URL.String()+"$", z.forbidden):
		answer(http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	case strings.HasSuffix(path, "/zones/org"):
		zone.TypeMeta = kind("Zone")
		answer(http.StatusOK, zone)
	case strings.HasSuffix(path, "/zones"):
		list := v1alpha1.ZoneList{TypeMeta: kind("ZoneList")}
		for _, one := range []v1alpha1.Zone{zone, signed, reverse} {
			if query.Get("fieldSelector") == v1alpha1.FieldZoneFQDN+"="+one.Status.FQDN {
				list.Items = append(list.Items, one)
			}
		}
		answer(http.StatusOK, list)
	case strings.HasSuffix(path, "/org/entries"):
		page := v1alpha1.ZoneEntries{TypeMeta: kind("ZoneEntries")}
		for _, one := range []v1alpha1.Entry{
			{FQDN: "example.org.", Type: "SOA", RData: "ns1.example.org. hostmaster.example.org. 7 1 1 1 1"},
			{FQDN: "example.org.", Type: "NS", RData: "ns1.example.org."}, {FQDN: "ns1.example.org.", Type: "A", RData: "192.0.2.53"},
			{FQDN: "dev.example.org.", Type: "NS", RData: "ns.dev.example.org."},
			{FQDN: "ns.dev.example.org.", Type: "A", RData: "192.0.2.54"},
			{FQDN: "signed.example.org.", Type: "DS", RData: "1 13 2 " + strings.Repeat("ab", 32)},
			{FQDN: "*.wild.example.org.", Type: "A", RData: "192.0.2.81"},
			{FQDN: "next.example.org.", Type: "CNAME", RData: "last.example.org."},
			{FQDN: "last.example.org.", Type: "CNAME", RData: "nowhere.example.org."},
			{FQDN: "loop.example.org.", Type: "CNAME", RData: "pool.example.org."},
			{FQDN: "pool.example.org.", Type: "CNAME", RData: "loop.example.org."},
			{FQDN: "web.example.org.", Type: "A", RData: "192.0.2.80", Sources: []v1alpha1.RecordReference{{Name: "web"}}},
		} {
			if query.Get("sources") != "true" {
				one.Sources = nil
			}
			if one.FQDN == query.Get("name") {
				page.Entries = append(page.Entries, one)
			}
		}
		answer(http.StatusOK, page)
	case strings.HasSuffix(path, "/signed/entries") && query.Get("name") == "signed.example.org.":
		answer(http.StatusOK, v1alpha1.ZoneEntries{TypeMeta: kind("ZoneEntries"), Entries: []v1alpha1.Entry{
			{FQDN: "signed.example.org.", Type: "DNAME", RData: "example.org."}}})
	case strings.HasSuffix(path, "/reverse/entries") && query.Get("name") == "7.2.0.192.in-addr.arpa.":
		answer(http.StatusOK, v1alpha1.ZoneEntries{TypeMeta: kind("ZoneEntries"), Entries: []v1alpha1.Entry{
			{FQDN: "7.2.0.192.in-addr.arpa.", Type: "PTR", RData: "www.example.org."}}})
	case strings.HasSuffix(path, "/namereviews"):
		answer(http.StatusCreated, v1alpha1.NameReview{TypeMeta: kind("NameReview"), Status: v1alpha1.NameReviewStatus{Reason: "no rule"}})
	case strings.HasSuffix(path, "/delegations"):
		answer(http.StatusOK, v1alpha1.DelegationList{TypeMeta: kind("DelegationList"), Items: []v1alpha1.Delegation{
			{Spec: v1alpha1.DelegationSpec{Namespaces: []string{"cert"}, Records: []v1alpha1.RecordDelegation{{Pattern: "fr*"}}}}}})
	case strings.HasSuffix(path, "/records"), strings.HasSuffix(path, "/deliveries"), strings.HasSuffix(path, "/entries"):
		answer(http.StatusOK, metav1.List{TypeMeta: kind(map[byte]string{'r': "RecordList", 'd': "DeliveryList",
			'e': "ZoneEntries"}[path[strings.LastIndex(path, "/")+1]])})
	default:
		answer(http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
	}
}

// For a name without a Record, the chain names the source of its data, such as spec.nameServers or a child zone. For a
// free name it names the namespaces with a rule, so far as the user may read the rules.
func TestAsk_namesTheSourceOfAName(t *testing.T) {
	const hidden = "OK Record 192.0.2.80 is of the zone itself, or of Records that only the right to list records in all namespaces shows"
	const derivedPTR = "OK Record www.example.org. is derived from the A of www.example.org., by spec.reverse of Zone dns/reverse " +
		"(S16.1); a PTR Record there hides it"
	for _, test := range []struct{ text, forbidden, want string }{
		{"ns1.example.org.", "", "OK Record 192.0.2.53 is made from spec.nameServers of Zone dns/org"},
		{"example.org. NS", "", "OK Record ns1.example.org. is made from spec.nameServers of Zone dns/org"},
		{"example.org. SOA", "", "is made from the spec of Zone dns/org"},
		{"ns.dev.example.org.", "", "OK Record 192.0.2.54 is made from spec.nameServers of Zone dns/org, or from a child zone; no rule"},
		{"dev.example.org.", "", "edit spec.nameServers of that Zone, or the child zone's NS and address Records"},
		{"signed.example.org. DS", "", "is made from status.dnssec of the child zone signed.example.org."},
		{"7.2.0.192.in-addr.arpa.", "", derivedPTR},
		{"192.0.2.7", "", derivedPTR},
		{"web.example.org.", "sources=true", hidden},
		{"web.example.org.", "/entries", "Unknown Rule namespace default may not write A: no rule Fails Record no Record has it " +
			"ZoneOwner add a rule"},
		{"free.example.org.", "", "Unknown Rule namespace default may not write A: no rule OK Rule a rule of the zone allows the name to " +
			"namespace cert, team, web Fails Record no Record has it You create a Record in a namespace with a rule: cert, team, web"},
		{"free.example.org. TXT", "", "OK Rule a rule of the zone allows the name to namespace cert Fails"},
		{"free.example.org. TXT", "/delegations", "Unknown Rule not shown: you lack the right to list delegations in namespace dns"},
		{"free.example.org.", "/delegations", "allows the name to namespace team, web Fails"},
		{"free.example.org.", "/zones", "no rule Fails Record no Record has it ZoneOwner add a rule"},
		{"shared.example.org.", "", "no rule Fails Record no Record has it ZoneOwner add a rule"},
	} {
		t.Run(test.text+" without "+test.forbidden, func(t *testing.T) {
			api := httptest.NewServer(&derivingZone{test.forbidden})
			defer api.Close()
			client := must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1}))(t)
			asked, kind, _ := strings.Cut(test.text, " ")
			chain := must.Get(Ask(t.Context(), Clients{API: client}, Question{Text: asked, Type: kind, Namespace: "default"}))(t)
			got := ""
			for _, p := range chain.Paths {
				for _, l := range p.Links {
					text := strings.TrimPrefix(l.Text, fmt.Sprintf("%s %s ", p.Subject.FQDN, p.Subject.Type))
					got += strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", l.State, l.Kind, text, l.Mends, l.Step)) + " "
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// A DS belongs to the parent of its owner. Without the right to read that Zone, the resolver names it.
func TestAsk_findsTheZoneOfADSWithoutARight(t *testing.T) {
	api := httptest.NewServer(&derivingZone{"/zones/org$"})
	defer api.Close()
	client := must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1}))(t)
	ds := "signed.example.org. 60 IN DS 1 13 2 " + strings.Repeat("ab", 32) + "\n"
	files := map[string]string{
		"127.0.0.53:53": "signed.example.org." + soa + ds + "example.org." + soa + delegation + "ns.example.org. 60 IN A 192.0.2.53\n",
		"192.0.2.53:53": "example.org." + soa + ds,
	}
	chain := must.Get(Ask(t.Context(), Clients{API: client, Ask: answerFrom(t, files)},
		Question{Text: "signed.example.org.", Type: "DS", Namespace: "default", Resolver: "127.0.0.53:53"}))(t)
	for _, l := range chain.Paths[0].Links {
		if l.Kind == KindSerial {
			t.Errorf("a serial that nobody read: %s", l.Text)
		}
		if l.Kind == KindServer && l.State == OK && l.Of == "ns.example.org." {
			return
		}
	}
	t.Errorf("no answer of the parent's server: %+v", chain.Paths[0].Links)
}

// A CNAME that leads to a name without data, or in a circle, is a fault, so far as the user may read the zones of these
// names.
func TestAlias_leadsToData(t *testing.T) {
	for asked, want := range map[string]string{
		"_acme-challenge.alias.example.org. nowhere.example.org.": "",
		"web.example.org.": "", "x.wild.example.org.": "", "host.dev.example.org.": "", "host.signed.example.org.": "",
		"example.org.": "", "www.example.net.": "",
		"nowhere.example.org.": "Fails alias.example.org.: its CNAME leads to nowhere.example.org., which has no data in a zone of this " +
			"server; You create a Record at nowhere.example.org., or let the CNAME lead to another name",
		"a.b.c.d.e.f.g.h.i.example.org.": "",
		"wild.example.org.":              "Fails alias.example.org.: its CNAME leads to wild.example.org., which has no data",
		"next.example.org.":              "Fails last.example.org.: its CNAME leads to nowhere.example.org., which has no data",
		"alias.example.org.": "Fails alias.example.org.: its CNAME leads back to alias.example.org., so resolvers answer SERVFAIL; " +
			"You let a",
		"loop.example.org.":            "Fails pool.example.org.: its CNAME leads back to loop.example.org.",
		"nowhere.example.org./zones":   "",
		"nowhere.example.org./entries": "",
	} {
		t.Run(asked, func(t *testing.T) {
			asked, forbidden, isForbidden := strings.Cut(asked, "/")
			owner, target, hasOwner := strings.Cut(asked, " ")
			if !hasOwner {
				owner, target = "alias.example.org.", asked
			}
			if isForbidden {
				forbidden = "/" + forbidden
			}
			api := httptest.NewServer(&derivingZone{forbidden})
			defer api.Close()
			client := must.Get(versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1}))(t)
			i := &inquiry{Clients: Clients{API: client}, search: &find.Search{API: client.KubizoneV1alpha1(), Everywhere: true}}
			f := &Facts{AskedName: name.MustParse(owner), Type: rdata.CNAME, ExpectedData: []string{target},
				Zone: &ZoneFacts{}}
			must.Succeed(t, i.findAliasFault(t.Context(), f))
			j := &judgement{Facts: f}
			j.judgeAlias()
			got := ""
			for _, l := range j.links {
				got += fmt.Sprintf("%s %s: %s; %s %s", l.State, l.Of, l.Text, l.Mends, l.Step)
			}
			if !strings.HasPrefix(got, want) || want == "" && got != "" {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
