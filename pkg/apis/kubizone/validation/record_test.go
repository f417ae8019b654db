// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

func newRecord(change func(*v1alpha1.RecordSpec)) *v1alpha1.Record {
	record := &v1alpha1.Record{
		ObjectMeta: metav1.ObjectMeta{Name: "www", Namespace: "team-a"},
		Spec:       v1alpha1.RecordSpec{DomainName: "www.example.org.", Type: "A", Class: "IN", RData: "192.0.2.1"},
	}
	if change != nil {
		change(&record.Spec)
	}
	return record
}

func inZone(spec *v1alpha1.RecordSpec) { spec.ZoneRef = &v1alpha1.ZoneReference{Name: "example-org"} }

func expiresAt(seconds, nanoseconds int64) func(*v1alpha1.RecordSpec) {
	return func(spec *v1alpha1.RecordSpec) { spec.ExpiresAt = &metav1.Time{Time: time.Unix(seconds, nanoseconds)} }
}

func wantErrors(t *testing.T, errs field.ErrorList, want string) {
	t.Helper()
	var fields []string
	for _, err := range errs {
		fields = append(fields, string(err.Type)+" "+err.Field)
	}
	if got := strings.Join(fields, ", "); got != want {
		t.Errorf("errors at [%s], want [%s]:\n%v", got, want, errs.ToAggregate())
	}
	wantRules(t, errs)
}

var citedRule = regexp.MustCompile(`\bS\d+\.\d+\b`)

// wantRules requires the same rules in an error's sentence and in its cause.
func wantRules(t *testing.T, errs field.ErrorList) {
	t.Helper()
	for _, one := range refusal.Of(refusal.NewInvalid(v1alpha1.Kind("Zone"), "x", errs)) {
		if cited := citedRule.FindString(one.Message); cited != one.Rule {
			t.Errorf("%s: the rule is %q", one, one.Rule)
		}
	}
}

const (
	invalid     = "FieldValueInvalid "
	required    = "FieldValueRequired "
	tooMany     = "FieldValueTooMany "
	duplicate   = "FieldValueDuplicate "
	unsupported = "FieldValueNotSupported "
	forbidden   = "FieldValueForbidden "
	tooLong     = "FieldValueTooLong "
)

func TestRecord_oneObject(t *testing.T) {
	type spec = *v1alpha1.RecordSpec
	for _, test := range []struct {
		sentence string
		change   func(spec)
		want     string
	}{
		{"S1.1 absolute without zoneRef", nil, ""},
		{"S1.1 relative needs zoneRef", func(s spec) { s.DomainName = "www" }, invalid + "spec.domainName"},
		{"S1.1 relative with zoneRef", func(s spec) { inZone(s); s.DomainName = "www" }, ""},
		{"S1.1 absolute with zoneRef", func(s spec) { inZone(s) }, ""},
		{"S1.1 apex", func(s spec) { inZone(s); s.DomainName = "@" }, ""},
		{"S1.1 apex needs zoneRef", func(s spec) { s.DomainName = "@" }, invalid + "spec.domainName"},
		{"S1.1 wildcard", func(s spec) { s.DomainName = "*.example.org." }, ""},
		{"S1.2 other scripts", func(s spec) { s.DomainName = "bücher.example.org." }, ""},
		{"S1.2 mapped to a dot", func(s spec) { s.DomainName = "www。example。org。" }, invalid + "spec.domainName"},
		{"S1.2 mapped to a wildcard", func(s spec) { s.DomainName = "＊.x.example.org." }, invalid + "spec.domainName"},
		{"S1.3 empty", func(s spec) { s.DomainName = "" }, required + "spec.domainName"},
		{"S1.3 empty label", func(s spec) { s.DomainName = "www..example.org." }, invalid + "spec.domainName"},
		{"S1.3 RFC 2317", func(s spec) {
			s.DomainName = "0/25.2.0.192.in-addr.arpa."
			s.Type = "PTR"
			s.RData = "host.example.org."
		}, ""},
		{"S1.4 view", func(s spec) { s.View = "internal" }, ""},
		{"S1.4 view is a label", func(s spec) { s.View = "Inside.Net" }, invalid + "spec.view"},
		{"zoneRef name", func(s spec) { s.ZoneRef = &v1alpha1.ZoneReference{} }, required + "spec.zoneRef.name"},
		{"zoneRef is no domain name", func(s spec) { s.ZoneRef = &v1alpha1.ZoneReference{Name: "example.org."} }, invalid + "spec.zoneRef.name"},
		{"zoneRef namespace", func(s spec) { s.ZoneRef = &v1alpha1.ZoneReference{Name: "x", Namespace: "A b"} }, invalid + "spec.zoneRef.namespace"},
		{"S5.1 several values", func(s spec) { s.RData = ""; s.Values = []string{"192.0.2.1", "192.0.2.2"} }, ""},
		{"S5.1 relative name in rdata", func(s spec) { s.Type = "mx"; s.RData = "10 mail" }, ""},
		{"S5.1 neither", func(s spec) { s.RData = "" }, required + "spec.rdata"},
		{"S5.1 both", func(s spec) { s.Values = []string{"192.0.2.2"} }, forbidden + "spec.rdata"},
		{"S5.3 does not parse", func(s spec) { s.RData = "192.0.2" }, invalid + "spec.rdata"},
		{"S5.3 path of the value", func(s spec) { s.RData = ""; s.Values = []string{"192.0.2.1", "x"} }, invalid + "spec.values[1]"},
		{"S5.3 newline", func(s spec) { s.Type = "TXT"; s.RData = "a\nb" }, invalid + "spec.rdata"},
		{"S5.3 directive", func(s spec) { s.RData = "$INCLUDE /etc/passwd" }, invalid + "spec.rdata"},
		{"S5.4 a type that is not listed", func(s spec) { s.Type = "HIP"; s.RData = "2 2001 AwEAAbdx" }, invalid + "spec.type"},
		{"S5.4 generic form", func(s spec) { s.Type = "TYPE65280"; s.RData = `\# 2 abcd` }, ""},
		{"S5.4 no type", func(s spec) { s.Type = "" }, required + "spec.type"},
		{"S5.4 unknown type", func(s spec) { s.Type = "NOPE" }, invalid + "spec.type"},
		{"S5.4 SOA", func(s spec) { s.Type = "SOA"; s.RData = "a. b. 1 2 3 4 5" }, invalid + "spec.type"},
		{"S5.5 class", func(s spec) { s.Class = "CH" }, unsupported + "spec.class"},
		{"S5.5 ttl 0", func(s spec) { s.TTL = ptr.To[int32](0) }, ""},
		{"S5.5 ttl below 0", func(s spec) { s.TTL = ptr.To[int32](-1) }, invalid + "spec.ttl"},
		{"S5.6 CNAME twice", func(s spec) { s.Type = "CNAME"; s.RData = ""; s.Values = []string{"a", "b"} }, invalid + "spec.values"},
		{"S5.6 CNAME at the apex", func(s spec) { inZone(s); s.DomainName = "@"; s.Type = "CNAME"; s.RData = "www" }, invalid + "spec.domainName"},
		{"S5.6 DS at the apex", func(s spec) {
			inZone(s)
			s.DomainName, s.Type = "@", "DS"
			s.RData = "12345 13 2 " + strings.Repeat("ab", 32)
		}, invalid + "spec.domainName"},
		{"S5.6 NS at a wildcard", func(s spec) { s.DomainName = "*.example.org."; s.Type = "NS"; s.RData = "ns.example.net." }, invalid + "spec.domainName"},
		{"S5.8 100 values", func(s spec) { s.RData = ""; s.Values = manyAddresses(100) }, ""},
		{"S5.8 101 values", func(s spec) { s.RData = ""; s.Values = manyAddresses(101) }, tooMany + "spec.values"},
		{"S5.8 4 KiB", func(s spec) { s.Type = "TXT"; s.RData = strings.Repeat("a", 5000) }, invalid + "spec.rdata"},
		{"S5.8 60,000 octets", func(s spec) {
			s.Type, s.RData = "TXT", ""
			for i := range 20 {
				s.Values = append(s.Values, strings.Repeat(string(rune('a'+i)), 3500))
			}
		}, invalid + "spec.values"},
		{"S15.1 until 9999", expiresAt(lastExpiry, 0), ""},
		// Attack 130: in JSON no such time can be written, so one Record of a protobuf client would fail every list.
		{"S15.1 later", expiresAt(lastExpiry+1, 0), invalid + "spec.expiresAt"},
		{"S15.1 no year", expiresAt(-1<<62, 0), invalid + "spec.expiresAt"},
		{"S15.1 the zero time", expiresAt((time.Time{}).Unix(), 0), invalid + "spec.expiresAt"},
		{"S15.1 a fraction", expiresAt(4102444800, 1), invalid + "spec.expiresAt"},
		{"description", func(s spec) { s.Description = strings.Repeat("ü", 1025) }, tooLong + "spec.description"},
		{"everything at once", func(s spec) { s.DomainName = "www"; s.Class = "CH"; s.RData = "x" },
			invalid + "spec.domainName, " + unsupported + "spec.class, " + invalid + "spec.rdata"},
	} {
		t.Run(test.sentence, func(t *testing.T) {
			wantErrors(t, Record(newRecord(test.change)), test.want)
		})
	}
}

func manyAddresses(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("192.0.2.%d", i))
	}
	return out
}

// S1.1, S5.3, S5.5: a refusal has the rule, and the right value where it can be told.
func TestRecord_refusalNamesTheReason(t *testing.T) {
	type spec = *v1alpha1.RecordSpec
	values := func(rrtype string, texts ...string) func(spec) {
		return func(s spec) { s.Type, s.RData, s.Values = rrtype, "", texts }
	}
	named := func(name string) func(spec) {
		return func(s spec) { s.DomainName, s.Type, s.RData = name, "PTR", "www.example.org." }
	}
	for _, test := range []struct {
		change     func(spec)
		want, none string
	}{
		{named("www"), "is relative: name its zone in spec.zoneRef, or write the whole name with a dot at its end (S1.1)", "address"},
		{named("192.0.2.1"), "reads as an address, whose PTR Records belong at 1.2.0.192.in-addr.arpa. (S1.1)", "is relative"},
		{named("192.0.2.0/24"), "reads as an address, whose PTR Records belong at 2.0.192.in-addr.arpa. (S1.1)", ""},
		{named("2001:db8::/32"), "reads as an address, whose PTR Records belong at 8.b.d.0.1.0.0.2.ip6.arpa.", ""},
		{named("2001:db8::/32."), "reads as an address, whose PTR Records belong at 8.b.d.0.1.0.0.2.ip6.arpa.", ""},
		{func(s spec) { s.Class = "CH" }, `spec.class: Unsupported value: "CH": supported values: "IN" (S5.5)`, ""},
		{values("A", "192.0.2.1, 192.0.2.2"), `has several values: write spec.values: ["192.0.2.1", "192.0.2.2"]`, ""},
		{values("A", "192.0.2.1,192.0.2.2"), `has several values: write spec.values: ["192.0.2.1", "192.0.2.2"]`, "four decimal"},
		{values("A", "192.0.2.1\n192.0.2.2\n"), `has several values: write spec.values: ["192.0.2.1", "192.0.2.2"]`, ""},
		{values("AAAA", "2001:db8::1 2001:db8::2"), `has several values: write spec.values: ["2001:db8::1", "2001:db8::2"]`, ""},
		{values("MX", "10 a.example.net., 20 b"), `has several values: write spec.values: ["10 a.example.net.", "20 b"]`, ""},
		{values("CAA", `0 issue "a.test", 0 iodef "mailto:b@a.test"`), `write spec.values: ["0 issue \"a.test\"", "0 iodef`, ""},
		{values("NS", "ns1.example.net. ns2.example.net."), `write spec.values: ["ns1.example.net.", "ns2.example.net."]`, ""},
		{values("NS", "ns1, ns2"), `write spec.values: ["ns1", "ns2"]`, ""},
		{values("NS", "IN NS ns1.example.net."), "3 fields; NS has", "several"},
		{values("CNAME", "CNAME a.example.net."), "2 fields; CNAME has", "at most"},
		{values("NS", strings.Repeat("a. ", 400)), "NS rdata", "several"},
		{values("A", "192.0.2.1, 192.0.2.256"), "2 fields; A has an IPv4 address", "several"},
		{values("CNAME", "a.example.net., b.example.net."), "a name has one CNAME at most: give one value (S5.6)", "write"},
	} {
		got := Record(newRecord(test.change)).ToAggregate().Error()
		if !strings.Contains(got, test.want) || test.none != "" && strings.Contains(got, test.none) {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// S2.4.
func TestRecordUpdate_answersForWhatItChanges(t *testing.T) {
	type spec = *v1alpha1.RecordSpec
	broken := func(s spec) { s.RData = ""; s.Values = []string{"192.0.2.1", "not an address"} }
	for _, test := range []struct {
		name          string
		before, after func(spec)
		want          string
	}{
		{"nothing", broken, broken, ""},
		{"another field", broken, func(s spec) { broken(s); s.TTL = ptr.To[int32](60) }, ""},
		{"the same value at another place", broken, func(s spec) { s.RData = ""; s.Values = []string{"not an address"} }, ""},
		{"a further broken value", broken, func(s spec) { broken(s); s.Values = append(s.Values, "nor this") }, invalid + "spec.values[2]"},
		{"the same broken value once more", broken, func(s spec) { broken(s); s.Values = append(s.Values, "not an address") }, invalid + "spec.values[2]"},
		{"too many may shrink", func(s spec) { s.RData = ""; s.Values = manyAddresses(130) }, func(s spec) { s.RData = ""; s.Values = manyAddresses(120) }, ""},
		{"too many may not grow", func(s spec) { s.RData = ""; s.Values = manyAddresses(120) }, func(s spec) { s.RData = ""; s.Values = manyAddresses(130) }, tooMany + "spec.values"},
		{"broken where it was sound", nil, func(s spec) { s.RData = "x" }, invalid + "spec.rdata"},
		{"S1.4 view is immutable", nil, func(s spec) { s.View = "internal" }, invalid + "spec.view"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before, after := newRecord(test.before), newRecord(test.after)
			before.ResourceVersion, after.ResourceVersion = "1", "1"
			wantErrors(t, RecordUpdate(after, before), test.want)
		})
	}
}

func TestRecordStatusUpdate_bounds(t *testing.T) {
	before := newRecord(nil)
	before.ResourceVersion = "1"
	sound := metav1.Condition{Type: "Ready", Status: "True", Reason: "Delivered", LastTransitionTime: metav1.Now()}
	after := before.DeepCopy()
	after.Status.Conditions = []metav1.Condition{sound}
	wantErrors(t, RecordStatusUpdate(after, before), "")
	after.Status.Conditions[0].Reason = ""
	wantErrors(t, RecordStatusUpdate(after, before), required+"status.conditions[0].reason")
	after.Status.Conditions[0] = sound
	after.Status.Conditions[0].Message = strings.Repeat("x", maxMessage+1)
	wantErrors(t, RecordStatusUpdate(after, before), tooLong+"status.conditions[0].message")
	after.Status.Conditions = nil
	for i := range maxConditions + 1 {
		next := sound
		next.Type = "T" + string(rune('a'+i))
		after.Status.Conditions = append(after.Status.Conditions, next)
	}
	wantErrors(t, RecordStatusUpdate(after, before), tooMany+"status.conditions")
}

func wantWarning(t *testing.T, warnings []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(warnings) > 0:
		t.Errorf("unexpected warnings %q", warnings)
	case want != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], want)):
		t.Errorf("warnings %q, want one with %q", warnings, want)
	}
}

// Promise 2: no Record causes a panic.
func FuzzRecord(f *testing.F) {
	for _, seed := range [][5]string{
		{"www.example.org.", "A", "192.0.2.1", "", "example-org"}, {"@", "MX", "10 mail", "v", "x"}, {"*。例え。", "TXT", `"a\"b`, "", ""},
		{"xn--a.", "TYPE1", `\# 4 c0000201`, "", ""}, {"\xff\xfe", "\x00", "\x00\\", "\xff", "."}, {"a.", "SVCB", "1 . alpn=h2", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4], int32(0))
	}
	f.Fuzz(func(t *testing.T, domainName, rrtype, rdata, view, ref string, ttl int32) {
		record := newRecord(func(s *v1alpha1.RecordSpec) {
			s.DomainName, s.Type, s.View, s.TTL = domainName, rrtype, view, &ttl
			s.RData, s.Values = "", []string{rdata, domainName}
			if ref != "" {
				s.ZoneRef = &v1alpha1.ZoneReference{Name: ref, Namespace: view}
			}
		})
		errs := Record(record)
		record.ResourceVersion = "1"
		if left := RecordUpdate(record, record); len(left) > 0 {
			t.Errorf("an update that changes nothing is refused: %v (of %v)", left, errs)
		}
	})
}

// The annotation kubi.zone/on-conflict of a Record has the single valid value `wait`. Another value is refused when it
// is written. If another value is already stored, updates that leave it unchanged are accepted (S2.14).
func TestRecord_onConflict_S2_14(t *testing.T) {
	annotated := func(value string) *v1alpha1.Record {
		record := newRecord(nil)
		record.ResourceVersion, record.Annotations = "1", map[string]string{v1alpha1.AnnotationOnConflict: value}
		return record
	}
	plain := annotated("wait")
	plain.Annotations = nil
	if errs := Record(annotated("wait")); len(errs) > 0 {
		t.Error(errs)
	}
	for _, value := range []string{"replace", "", "Wait"} {
		if errs := Record(annotated(value)); len(errs) != 1 || errs[0].Field != "metadata.annotations[kubi.zone/on-conflict]" {
			t.Errorf("%q: %v", value, errs)
		}
		if errs := RecordUpdate(annotated(value), plain); len(errs) != 1 {
			t.Errorf("%q: %v", value, errs)
		}
		if errs := RecordUpdate(annotated(value), annotated(value)); len(errs) > 0 {
			t.Errorf("%q that stays: %v", value, errs)
		}
	}
}

// S5.14: warnings from a Record alone, beside similar Records without.
func TestRecordWarnings_S5_14(t *testing.T) {
	for _, test := range []struct {
		owner, rrtype string
		values        []string
		want          string
	}{
		{"www", "CNAME", []string{"https://www.example.com/"}, "reads as a URL"},
		{"1.2.0.192.in-addr.arpa.", "CNAME", []string{"1.0/25.2.0.192.in-addr.arpa."}, ""},
		{"www", "CNAME", []string{"web:8080"}, "reads as a host with a port"},
		{"www", "CNAME", []string{"WWW"}, "names itself"},
		{"www.example.org.", "CNAME", []string{"WWW.example.ORG."}, "names itself"},
		{"www.example.org.", "CNAME", []string{"www"}, ""}, // depends on the zone
		{"@", "TXT", []string{"v=spf1 -all", "v=DMARC0"}, ""},
		{"@", "TXT", []string{"v=spf1 -all", "V=SPF1 mx -all", "v=spf1 ~all"}, "second SPF policy"},
		{"@", "TXT", []string{"v=spf10", "v=spf1 mx -all"}, ""},
		{"@", "CAA", []string{`0 isue "ca.example.net"`}, "has the tag isue"},
		{"sip", "SRV", []string{"0 0 5060 sip"}, "no label of a service"},
		{"_sip._udp", "SRV", []string{"0 0 5060 sip"}, ""},
		{"*._udp", "SRV", []string{"0 0 5060 sip"}, ""},
		{"www", "AA", []string{"x"}, ""},
		// A name with the zone twice.
		{"www.example.org.example.org.", "A", []string{"192.0.2.1"}, `names example.org. twice: write "www.example.org."`},
		{"www", "MX", []string{"10 mail.EXAMPLE.org.example.org."}, `write "mail.example.org."`},
		{"_sip._tcp", "SRV", []string{"0 0 1 a.b.c.a.b.c."}, `names a.b.c. twice: write "a.b.c."`},
		{"www", "HTTPS", []string{"1 example.org.example.org. alpn=h2"}, `write "example.org."`},
		{"1.1.1.1.1.10.in-addr.arpa.", "PTR", []string{"a.a.a."}, ""},
		{"_tcp._sip", "SRV", []string{"0 0 5060 sip"}, "write _sip._tcp (RFC 2782)"},
		{"_udp._dns-sd", "PTR", []string{"x"}, "write _dns-sd._udp"},
		{"_443._tcp.www", "TLSA", []string{"3 1 0 00"}, ""}, {"_tcp.www", "NS", []string{"ns"}, ""},
		// Mail policies.
		{"@", "TXT", []string{"spf1 include:_spf.example.net -all"}, "begin it with"},
		{"@", "TXT", []string{`"include:_spf.example.net" " ~all"`}, "begin it with"},
		{"@", "TXT", []string{"v=spf1; mx -all"}, "begin it with"},
		{"@", "SPF", []string{"v=spf1 -all"}, "spec.type: \"SPF\" is a type that no receiver asks for"},
		{"example.net._report._dmarc", "TXT", []string{"v=DMARC1", "v=DMARC1;"}, ""},
		{"_dmarc", "TXT", []string{"v=DMARC1;p=none", "v=DMARC1; p=reject"}, "second DMARC policy"},
		{"@", "MX", []string{"10 mail", "0 ."}, `spec.values[1]: "0 ." means no mail`},
		{"@", "TXT", []string{"v=spf1" + strings.Repeat(" include:x.example.net", 11) + " -all"}, "needs 11 queries or more"},
		{"@", "TXT", []string{"v=spf1" + strings.Repeat(" ip4:192.0.2.1", 20) + strings.Repeat(" ?include:x.test", 8) +
			" mx/24 redirect=_spf.example.net"}, ""},
		{"example.net.dmarc.example.org.", "TXT", []string{"v=DMARC1; p=none"}, ""}, // a customer's, by CNAME
		{"sel._domainkey", "TXT", []string{`"v=DKIM1; k=rsa; p=AIIB" "CgKC+/A="`, "v=DKIM1; p="}, ""}, {"s1.domainkey", "TXT",
			[]string{"v=DKIM1; p=MIIB"}, ""}, {"*", "TXT", []string{"v=DKIM1; p="}, ""},
		{"@", "TXT", []string{"“v=spf1 -all”"}, "typographic quote"}, {"@", "TXT", []string{"it’s “quoted”"}, ""},
		{"acme-challenge.www", "TXT", []string{"gfj9Xq-Rg85nM9kMkYsRkl2YPz1dXVhQyZcJ8e0pGgk"}, "begin it with _"},
		{"@", "CAA", []string{`1 issue "ca.example.net"`}, "has the flags 1"}, {"@", "CAA", []string{`128 issue "ca.example.net"`}, ""},
		{"@", "CAA", []string{`0 issue "https://ca.example.net"`}, "write the domain alone"},
		{"@", "CAA", []string{`0 issue "ca.example.net; accounturi=https://ca.example.net/1"`}, ""},
		{"@", "CAA", []string{`0 iodef "security@example.org"`}, "write mailto:"},
		{"@", "CAA", []string{`0 iodef "MAILTO:security@example.org"`, `0 iodef "https://example.org/"`}, ""},
		{"@", "MX", []string{"10 ."}, `write "0 ."`}, {"_sip._udp", "SRV", []string{"0 0 0 sip"}, "has the port 0"},
		{"_sip._udp", "SRV", []string{"0 0 0 ."}, ""},
		// Addresses of no host, and lookalikes in use.
		{"www", "A", []string{"0.0.0.0"}, "unspecified"}, {"www", "A", []string{"255.255.255.255"}, "of many hosts"},
		{"www", "A", []string{"224.0.0.1"}, "of many hosts"}, {"www", "A", []string{"169.254.1.1"}, "link-local"},
		{"www", "AAAA", []string{"::"}, "unspecified"}, {"www", "AAAA", []string{"fe80::1"}, "link-local"},
		{"www", "AAAA", []string{"ff02::1"}, "of many hosts"},
		{"www", "AAAA", []string{"::ffff:192.0.2.1"}, "write type A with 192.0.2.1"},
	} {
		record := newRecord(func(s *v1alpha1.RecordSpec) {
			s.DomainName, s.Type, s.RData, s.Values = test.owner, test.rrtype, "", test.values
		})
		wantWarning(t, RecordWarnings(record), test.want)
		if len(test.values) == 1 {
			record.Spec.RData, record.Spec.Values = test.values[0], nil
			wantWarning(t, RecordWarnings(record), test.want)
		}
	}
}

// S5.14, S5.15: a TTL of seconds, or over a month.
func TestWarnings_ofTTLs(t *testing.T) {
	for ttl, want := range map[int32]string{0: "spec.ttl: 0s is short", 1: "1s is short", 4: "short", 5: "", 300: "", 30 * 86400: "",
		30*86400 + 1: "more than 30 days", 31536000: "spec.ttl: 31536000 seconds are more than 30 days"} {
		wantWarning(t, RecordWarnings(newRecord(func(s *v1alpha1.RecordSpec) { s.TTL = &ttl })), want)
		wantWarning(t, ZoneWarnings(newZone(func(s *v1alpha1.ZoneSpec) { s.TTL = &ttl })), want)
	}
}

// An IP address in place of a host name (for example `CNAME 192.0.2.1`) is refused, and the message names the right
// type, A or AAAA, in place of advice to add a trailing dot. A text that is no address, such as 192.0.2, is a relative
// host name (S5.1).
func TestRecord_refusesAnAddressAsHost_S5_1(t *testing.T) {
	for text, want := range map[string]string{
		"CNAME 192.0.2.1":  "192.0.2.1 is an address, and CNAME names a host: use type A (S5.1)",
		"CNAME 192.0.2.1.": "use type A", "CNAME 2001:db8::1": "use type AAAA", "CNAME 192.0.2.256": "", "CNAME 192.0.2": "",
		"MX 10 192.0.2.1": "name the host, and use type A for its address", "SRV 0 0 1 192.0.2.1": "use type A",
		"PTR 192.0.2.1": "use type A", "NS 192.0.2.1": "use type A", "HTTPS 1 192.0.2.1": "use type A",
		"KX 10 192.0.2.1": "use type A", "AFSDB 1 192.0.2.1": "use type A", "LP 10 2001:db8::1": "use type AAAA", "TXT 192.0.2.1": "",
	} {
		rrtype, data, _ := strings.Cut(text, " ")
		errs := Record(newRecord(func(s *v1alpha1.RecordSpec) { s.Type, s.RData, s.Values = rrtype, data, nil })).ToAggregate()
		if (errs == nil) != (want == "") || errs != nil && !strings.Contains(errs.Error(), want) {
			t.Errorf("%s: %v, want %q", text, errs, want)
		}
	}
}
