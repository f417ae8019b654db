// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/dns/zonefile"
	"kubi.zone/kubizone/test/must"
)

func planOf(t *testing.T, text string) *plan {
	t.Helper()
	p := &plan{view: "inside"}
	all, soa, err := p.readRows("f.zone", zonefile.Read(strings.NewReader(text), zonefile.ReadOptions{}))
	if err != nil || soa < 0 {
		t.Fatal(soa, err)
	}
	must.Succeed(t, p.takeSOA("f.zone", all, soa, "team"))
	p.groupRRsets("f.zone", all, soa)
	return p
}

func listRefusals(p *plan) []string {
	var lines []string
	for _, r := range p.refusals {
		lines = append(lines, r.String())
	}
	return lines
}

func TestPlan_makesAZoneOfTheSOA(t *testing.T) {
	p := planOf(t, `example.org. 3600 IN SOA ns1.example.net. john\.doe.example.org. 2018031200 1800 900 604800 86400
`)
	want := v1alpha1.ZoneSpec{
		DomainName: "example.org.", View: "inside", TTL: ptr.To[int32](3600),
		Refresh: ptr.To[int32](1800), Retry: ptr.To[int32](900), Expire: ptr.To[int32](604800), NegativeResponseCache: ptr.To[int32](86400),
		PrimaryNameServer: "ns1.example.net.", Contact: "john.doe@example.org", MinimumSerial: ptr.To[int64](2018031200),
		Delegations: []v1alpha1.DelegationRule{{Namespace: "team", Records: []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}}}},
	}
	if !reflect.DeepEqual(p.spec, want) || len(p.refusals) > 0 || len(p.sets) > 0 {
		t.Errorf("spec %+v, refused %v, sets %v; want %+v", p.spec, listRefusals(p), p.sets, want)
	}
}

// A delegation without types covers no type given by number, such as TYPE65280 (S4.5). So the rules planned for a zone
// file with such types name each of them.
func TestPlan_delegatesTypesByNumber_S4_5(t *testing.T) {
	p := planOf(t, `$ORIGIN example.org.
@	3600	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
a	3600	IN	TYPE65534	\# 1 00
b	3600	IN	TYPE65534	\# 1 01
c	3600	IN	TYPE65280	\# 1 01
d	3600	IN	A	192.0.2.1
`)
	want := []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}, {Pattern: "@", Types: []string{"TYPE65280", "TYPE65534"}}, {Pattern: "*", Types: []string{"TYPE65280", "TYPE65534"}}}
	if got := p.spec.Delegations[0].Records; !reflect.DeepEqual(got, want) || len(p.refusals) > 0 {
		t.Errorf("%+v, refused %v", got, listRefusals(p))
	}
}

// S6.5: the file's timers are kept, valid or not.
func TestPlan_keepsTheTimersOfTheFile_S6_6(t *testing.T) {
	p := planOf(t, "example.org. 300 SOA ns.example.net. host.example.net. 1 3600 7200 4294967295 300\n")
	if *p.spec.Refresh != 3600 || *p.spec.Retry != 7200 || *p.spec.Expire != math.MaxInt32 || len(p.refusals) != 1 ||
		!strings.Contains(listRefusals(p)[0], "expire 4294967295 is above 2147483647; loaded with 2147483647") {
		t.Errorf("%+v, %q", p.spec, listRefusals(p))
	}
}

func TestPlan_makesARecordOfAnRRset(t *testing.T) {
	p := planOf(t, `$ORIGIN example.org.
@	3600	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
@	3600	IN	NS	ns1
@	3600	IN	NS	ns2.example.net.
ns1	3600	IN	A	192.0.2.1
www	300	IN	A	192.0.2.2
www	200	IN	A	192.0.2.3
WWW	300	IN	A	192.0.2.2
*	3600	IN	TXT	"a b" "c"
@	3600	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
`)
	if len(p.refusals) > 0 {
		t.Errorf("refused: %v", listRefusals(p))
	}
	got := make(map[string]v1alpha1.RecordSpec)
	for _, s := range p.sets {
		to := &destination{zone: types.NamespacedName{Namespace: "team", Name: "z"}, fqdn: p.fqdn, ttl: p.spec.TTL, namespace: "team"}
		r := to.newRecord(s)
		got[r.Spec.DomainName+" "+r.Spec.Type] = r.Spec
	}
	ref := &v1alpha1.ZoneReference{Name: "z"}
	want := map[string]v1alpha1.RecordSpec{
		"@ NS":  {DomainName: "@", ZoneRef: ref, Type: "NS", Class: "IN", Values: []string{"ns1.example.org.", "ns2.example.net."}},
		"ns1 A": {DomainName: "ns1", ZoneRef: ref, Type: "A", Class: "IN", RData: "192.0.2.1"},
		"www A": {DomainName: "www", ZoneRef: ref, Type: "A", Class: "IN", TTL: ptr.To[int32](200), Values: []string{"192.0.2.2", "192.0.2.3"}},
		"* TXT": {DomainName: "*", ZoneRef: ref, Type: "TXT", Class: "IN", RData: `"a b" "c"`},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("records %+v\nwant %+v", got, want)
	}
}

// L2: each refused line has a reason, and the rest continues.
func TestPlan_refusesLineByLine(t *testing.T) {
	p := planOf(t, `$ORIGIN example.org.
@	3600	IN	SOA	. . 0 100 100 150 86400
www	3600	IN	A	192.0.2.256
www	3600	IN	A	192.0.2.1
www.example.net.	3600	IN	A	192.0.2.1
@	3600	IN	RRSIG	A 13 2 3600 20300101000000 20200101000000 1 example.org. AAAA
sub	3600	IN	SOA	ns1 hostmaster 1 1800 900 604800 86400
mail	3600	IN	A	192.0.2.4
`)
	lines := strings.Join(listRefusals(p), "\n")
	must.Say(t, lines, "f.zone:2: ",
		"the primary name server . names none; loaded with what the server makes", "the contact . names none; loaded with what the server makes: hostmaster in the zone",
		"f.zone:3: ", "f.zone:5: www.example.net. A 192.0.2.1: out of zone: the file is of zone example.org.",
		"f.zone:6: ", "RRSIG cannot be a Record", "f.zone:7: ", "a second SOA")
	if len(p.sets) != 2 || p.spec.PrimaryNameServer != "" || p.spec.Contact != "" || p.spec.MinimumSerial != nil {
		t.Errorf("the rest: %d sets, %+v", len(p.sets), p.spec)
	}
}

// If the server refuses a timer of the file's SOA, only this timer is replaced, and the report has a line. The server
// judges the timers together, as validation.Zone does here.
func TestPlan_replacesTheRefusedTimer_S6_6(t *testing.T) {
	const retry = "or a failed refresh waits longer than a good one (S6.6); "
	for timers, want := range map[string][2]string{
		"1800 900 604800":    {"1800 900 604800"},
		"3600 7200 604800":   {"3600 1800 604800", retry + "loaded with 1800"},
		"86400 86400 604800": {"86400 7200 604800", retry + "loaded with 7200"},
		"3600 7200 10000":    {"3600 1800 10000", retry + "loaded with 1800"}, // with this retry the expire is right
		"3600 7200 3600":     {"3600 1800 server", retry + "loaded with 1800\n" + "must be more than refresh + retry (5400), "},
		"3600 180 3600":      {"3600 180 server", "spec.expire: Invalid value: 3600: must be more than"},
		"3600 0 604800":      {"3600 1800 604800", "spec.retry: Invalid value: 0"},
		"0 60 604800":        {"server 60 604800", "spec.refresh: "},
		"1 1 604800":         {"server server server", "refresh, retry and expire are loaded with what the server makes"},
		"2147483647 60 60":   {"server server server", "refresh, retry and expire are loaded with what the server makes"},
	} {
		p := planOf(t, "example.org. 3600 IN SOA ns1.example.org. hostmaster.example.org. 7 "+timers+" 360\n")
		judge := func() field.ErrorList {
			return validation.Zone(&v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "z", Namespace: "team"}, Spec: p.spec})
		}
		rounds := 0
		for p.dropRefused(apierrors.NewInvalid(v1alpha1.Kind("Zone"), "z", judge())) {
			rounds++
		}
		if wrong := judge(); len(wrong) > 0 || rounds > 4 {
			t.Errorf("%s: after %d rounds: %v", timers, rounds, wrong)
		}
		var got []string
		for _, timer := range []*int32{p.spec.Refresh, p.spec.Retry, p.spec.Expire} {
			if timer == nil {
				got = append(got, "server")
			} else {
				got = append(got, fmt.Sprint(*timer))
			}
		}
		messages := strings.Join(listRefusals(p), "\n")
		for part := range strings.SplitSeq(want[1], "\n") {
			if strings.Join(got, " ") != want[0] || !strings.Contains(messages, part) || (want[1] == "") != (messages == "") {
				t.Errorf("%s: %q, want %q; said %q, want %q", timers, got, want[0], messages, part)
			}
		}
	}
}

func TestRefusal_namesAFewLinesOnly(t *testing.T) {
	r := Refusal{Path: "f", Lines: []int{1, 2, 3, 4, 5, 6, 7}, Text: strings.Repeat("ü", 100), Reason: "so"}
	got := r.String()
	if !strings.HasPrefix(got, "f:1,2,3,4,5 and 2 more: ü") || !strings.HasSuffix(got, "ü…: so") {
		t.Errorf("%s", got)
	}
}

// The description of a changed list element names the changed part only. It does not print a long rule twice for a
// difference at its end.
func TestObjectChange_ofALongRule(t *testing.T) {
	object := func(zones string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		rule := `{"namespace":"platform","records":[` + strings.Repeat(`{"pattern":"a-long-name-of-a-pattern"},`, 5) +
			`{"pattern":"*"}],"zones":[` + zones + `]}`
		must.Succeed(t, o.UnmarshalJSON([]byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"a"},`+
			`"spec":{"delegations":[{"namespace":"b"},`+rule+`]}}`)))
		return o
	}
	for _, test := range []struct{ before, after, want string }{
		{`"dev"`, `"dev","prod"`, `spec.delegations[].zones with "prod"`},
		{`"dev"`, `"stage"`, `spec.delegations[].zones[] "stage" instead of "dev"`},
		{`"dev","stage"`, `"stage","dev"`, "spec.delegations[].zones in another order"},
	} {
		if got := objectChange(object(test.before), object(test.after)); got != test.want {
			t.Errorf("%s, then %s: %q, want %q", test.before, test.after, got, test.want)
		}
	}
}
