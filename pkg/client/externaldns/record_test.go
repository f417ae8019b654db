// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

var own = Mapping{Owner: "default"}

// An endpoint of each type that external-dns supports becomes a Record, and this Record becomes the same endpoint
// again, so that external-dns sees no difference (X1, X3).
func TestMakeRecord_andBack(t *testing.T) {
	for _, c := range []struct {
		kind, target, value, back string
	}{
		{"A", "192.0.2.1", "192.0.2.1", "192.0.2.1"},
		{"AAAA", "2001:DB8:0::1", "2001:db8::1", "2001:db8::1"},
		{"CNAME", "lb.example.net", "lb.example.net.", "lb.example.net"},
		{"NS", "ns1.example.net", "ns1.example.net.", "ns1.example.net"},
		{"MX", "10 mail.example.net", "10 mail.example.net.", "10 mail.example.net"},
		{"SRV", "0 0 5060 sip.example.net", "0 0 5060 sip.example.net.", "0 0 5060 sip.example.net."},
		{"NAPTR", `1 1 "s" "a" "" _sip._udp.example.net`, `1 1 "s" "a" "" _sip._udp.example.net.`, `1 1 "s" "a" "" _sip._udp.example.net.`},
		{"MX", "0 .", "0 .", "0 ."},
		{"CNAME", "a b", "a b", "a b"}, // the server reports the fault
		{"TXT", "The end.", "The end.", "The end."},
		{"TXT", `"two" "strings."`, `"two" "strings."`, `"two" "strings."`},
		{"NAPTR", `100 10 "u" "sip+E2U" "!^.*$!sip:a@example.net!" .`, `100 10 "u" "sip+E2U" "!^.*$!sip:a@example.net!" .`,
			`100 10 "u" "sip+E2U" "!^.*$!sip:a@example.net!" .`},
	} {
		e := &contract.Endpoint{DNSName: "WWW.example.org", RecordType: c.kind, Targets: []string{c.target}, RecordTTL: 60,
			Labels: map[string]string{contract.LabelResource: "ingress/team-a/web"}}
		r := must.Get(own.MakeRecord(e))(t)
		if r.Spec.DomainName != "www.example.org." || r.Spec.Type != c.kind || *r.Spec.TTL != 60 || r.Spec.Values[0] != c.value {
			t.Errorf("%s: %+v", c.kind, r.Spec)
		}
		if r.Name != "ext--www.example.org-"+strings.ToLower(c.kind)+".default" {
			t.Errorf("%s: name %s", c.kind, r.Name)
		}
		back := ReadEndpoint(r)
		if back.DNSName != "www.example.org" || back.RecordTTL != 60 || back.Targets[0] != c.back ||
			back.Labels[contract.LabelResource] != "ingress/team-a/web" {
			t.Errorf("%s: back %+v", c.kind, back)
		}
	}
}

// The error for a refused endpoint names the field and the next step (X1).
func TestMakeRecord_refuses(t *testing.T) {
	for want, e := range map[string]*contract.Endpoint{
		"dnsName":       {DNSName: "a..b", RecordType: "A", Targets: []string{"192.0.2.1"}},
		"recordType":    {DNSName: "a.org", RecordType: "FOO", Targets: []string{"x"}},
		"setIdentifier": {DNSName: "a.org", RecordType: "A", Targets: []string{"192.0.2.1"}, SetIdentifier: "eu"},
		"targets":       {DNSName: "a.org", RecordType: "A"},
		"recordTTL":     {DNSName: "a.org", RecordType: "A", Targets: []string{"192.0.2.1"}, RecordTTL: 1 << 31},
		`"aws/weight"`: {DNSName: "a.org", RecordType: "A", Targets: []string{"192.0.2.1"},
			ProviderSpecific: []contract.Property{{Name: "aws/weight", Value: "5"}}},
		`"alias"`: {DNSName: "a.org", RecordType: "CNAME", Targets: []string{"b.org"},
			ProviderSpecific: []contract.Property{{Name: "alias", Value: "true"}}},
		"registry": {DNSName: "a-www.a.org", RecordType: "TXT", Targets: []string{`"heritage=external-dns,external-dns/owner=x"`}},
	} {
		if _, err := own.MakeRecord(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	fine := &contract.Endpoint{DNSName: "a.org", RecordType: "A", Targets: []string{"192.0.2.1"},
		ProviderSpecific: []contract.Property{{Name: "alias", Value: "false"}, {Name: "record-type", Value: "ptr"}}}
	must.Get(own.MakeRecord(fine))(t)
}

func existingRecord(t *testing.T, namespace, resource, fqdn, kind string, values ...string) *v1alpha1.Record {
	t.Helper()
	r := must.Get(own.MakeRecord(&contract.Endpoint{DNSName: fqdn, RecordType: kind, Targets: values,
		Labels: map[string]string{contract.LabelResource: resource}}))(t)
	r.Namespace = namespace
	r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager}}
	r.Status.ZoneRef = &v1alpha1.AdoptingZone{Name: "zone"}
	return r
}

// The webhook changes and deletes only the Records of external-dns, identified by label and field manager. A tenant may
// forge a Record with the label, but not with the field manager, so it does not count. If there are several Records for
// a name, the oldest counts.
func TestReadExisting_isOursAlone(t *testing.T) {
	mine := existingRecord(t, "team-a", "ingress/team-a/web", "www.example.org", "A", "192.0.2.1")
	older := existingRecord(t, "team-b", "ingress/team-b/web", "www.example.org", "A", "192.0.2.2")
	mine.CreationTimestamp = metav1.NewTime(time.Unix(200, 0))
	older.CreationTimestamp = metav1.NewTime(time.Unix(100, 0))
	// A tenant's Records in other views, asked for or by the zone, are none of external-dns.
	for _, view := range []func(*v1alpha1.Record){func(r *v1alpha1.Record) { r.Spec.View = "inside" },
		func(r *v1alpha1.Record) { r.Status.View = "inside" }} {
		inside := existingRecord(t, "team-b", "ingress/team-b/web", "www.example.org", "A", "192.0.2.2")
		view(inside)
		if existing := own.ReadExisting([]v1alpha1.Record{*inside}); len(existing) != 0 {
			t.Errorf("of another view: %v", existing)
		}
	}
	untaken := existingRecord(t, "team-x", "ingress/team-a/web", "www.example.org", "A", "192.0.2.1")
	untaken.Status.ZoneRef = nil // older than the zone
	forged := existingRecord(t, "team-x", "ingress/team-a/web", "forged.example.org", "A", "192.0.2.6")
	forged.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-create"}}
	other := existingRecord(t, "team-a", "ingress/team-a/web", "other.example.org", "A", "192.0.2.1")
	other.Labels[v1alpha1.LabelExternalDNS] = "second"
	cluster := existingRecord(t, "team-a", "ingress/team-a/web", "cluster.example.org", "A", "192.0.2.1")
	cluster.Labels[v1alpha1.LabelCluster] = "paris"
	status := existingRecord(t, "team-a", "ingress/team-a/web", "status.example.org", "A", "192.0.2.1")
	status.ManagedFields[0].Subresource = "status"
	going := existingRecord(t, "team-a", "ingress/team-a/web", "going.example.org", "A", "192.0.2.1")
	going.DeletionTimestamp = new(metav1.Now())
	relative := existingRecord(t, "team-a", "ingress/team-a/web", "relative.example.org", "A", "192.0.2.1")
	relative.Spec.DomainName = "relative"
	existing := own.ReadExisting([]v1alpha1.Record{*mine, *untaken, *older, *forged, *other, *cluster, *status, *going, *relative})
	if len(existing) != 1 {
		t.Fatalf("%v", existing)
	}
	if r := existing[contract.Key{Name: name.MustParse("www.example.org."), Type: rdata.A}]; r == nil || r.Namespace != "team-b" {
		t.Errorf("the older one does not stand: %v", r)
	}
	if all := existing.Endpoints(); len(all) != 1 || all[0].Targets[0] != "192.0.2.2" {
		t.Errorf("an RRset is one endpoint: %+v", all)
	}
}

// The TXT registry of external-dns contains a text with the owner of each name. The webhook stores the texts in an
// annotation of the Record and returns them. It does not return a tenant's own Record with such a text, because the
// text could claim another tenant's name.
func TestEndpoints_giveTextsBack(t *testing.T) {
	r := existingRecord(t, "team-a", "ingress/team-a/web", "www.example.org", "A", "192.0.2.1")
	text := `"heritage=external-dns,external-dns/owner=x,external-dns/resource=ingress/team-a/web"`
	r.Annotations[v1alpha1.AnnotationExternalDNSTexts] = `{"a-www.example.org":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}`
	evil := existingRecord(t, "team-x", "crd/team-x/evil", "a-shop.example.org", "TXT", "v=1")
	evil.Spec.Values = []string{text}
	all := own.ReadExisting([]v1alpha1.Record{*r, *evil}).Endpoints()
	var messages []string
	for _, e := range all {
		messages = append(messages, e.DNSName+" "+e.RecordType)
	}
	if want := []string{"a-www.example.org TXT", "www.example.org A"}; !slices.Equal(messages, want) {
		t.Fatalf("%q", messages)
	}
	if all[0].Targets[0] != text {
		t.Errorf("%q", all[0].Targets)
	}
}

func TestNamespaceOf(t *testing.T) {
	m := Mapping{Cluster: "paris", Template: "{cluster}-{namespace}"}
	if at, err := m.NamespaceOf("team-a"); err != nil || at != "paris-team-a" {
		t.Errorf("%q, %v", at, err)
	}
	if _, err := m.NamespaceOf(strings.Repeat("x", 58)); err == nil || !strings.Contains(err.Error(), "--namespace-template") {
		t.Errorf("%v", err)
	}
	if at := must.Get(m.NamespaceOf(strings.Repeat("x", 57)))(t); len(at) != 63 {
		t.Errorf("%q", at)
	}
	if at, err := own.NamespaceOf("team-a"); err != nil || at != "team-a" {
		t.Errorf("%q, %v", at, err)
	}
}
