// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"slices"
	"strings"
	"testing"

	v1beta1helper "github.com/gardener/gardener/pkg/api/core/v1beta1/helper"
	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	extensionsv1alpha1 "github.com/gardener/gardener/pkg/apis/extensions/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

func codesOf(t *testing.T, err error) gardencorev1beta1.ErrorCode {
	t.Helper()
	codes := v1beta1helper.ExtractErrorCodes(err)
	if len(codes) != 1 {
		t.Fatalf("%v has the codes %v, want exactly one", err, codes)
	}
	return codes[0]
}

func newDNSRecord(name string, of extensionsv1alpha1.DNSRecordType, values ...string) *extensionsv1alpha1.DNSRecord {
	return &extensionsv1alpha1.DNSRecord{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--foo--bar", Name: "bar-external"},
		Spec:       extensionsv1alpha1.DNSRecordSpec{Name: name, RecordType: of, Values: values},
	}
}

func TestMakeRecord_valuesAreThoseOfTheDNSRecord(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name   string
		of     extensionsv1alpha1.DNSRecordType
		values []string
		want   []string // none: ERR_CONFIGURATION_PROBLEM
	}{
		{"one address", "A", []string{"192.0.2.1"}, []string{"192.0.2.1"}},
		{"several addresses keep their order", "A", []string{"192.0.2.9", "192.0.2.1"}, []string{"192.0.2.9", "192.0.2.1"}},
		{"a value that is given twice is written once", "A", []string{"192.0.2.1", "192.0.2.1"}, []string{"192.0.2.1"}},
		{"an IPv6 address has its short form", "AAAA", []string{"2001:DB8:0::1"}, []string{"2001:db8::1"}},
		{"two forms of one address are one value", "AAAA", []string{"2001:db8::1", "2001:db8:0::1"}, []string{"2001:db8::1"}},
		{"a host name is absolute", "CNAME", []string{"LB.example.com"}, []string{"lb.example.com."}},
		{"a host name with its dot", "CNAME", []string{"lb.example.com."}, []string{"lb.example.com."}},
		{"a text", "TXT", []string{"heritage=gardener"}, []string{`"heritage=gardener"`}},
		{"a text that is quoted already", "TXT", []string{`"heritage=gardener"`}, []string{`"heritage=gardener"`}},
		{"a text with a quotation mark, a backslash and a semicolon", "TXT", []string{`a"b\c;d`}, []string{`"a\"b\\c;d"`}},
		{"a text of other octets", "TXT", []string{"ü\t"}, []string{`"\195\188\009"`}},
		{"a long text is several character-strings", "TXT", []string{long}, []string{`"` + long[:255] + `" "` + long[255:] + `"`}},
		{"an empty text", "TXT", []string{""}, []string{`""`}},
		{"an IPv6 address of type A", "A", []string{"2001:db8::1"}, nil},
		{"an IPv4 address of type AAAA", "AAAA", []string{"192.0.2.1"}, nil},
		{"an address with a zone", "AAAA", []string{"fe80::1%eth0"}, nil},
		{"a host name of type A", "A", []string{"lb.example.com"}, nil},
		{"two host names", "CNAME", []string{"a.example.com", "b.example.com"}, nil},
		{"an empty host name", "CNAME", []string{"."}, nil},
		{"no value", "A", nil, nil},
		{"another type", "MX", []string{"10 mail"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			record, err := makeRecord(newDNSRecord("api.foo.example.org", c.of, c.values...), target{namespace: "gardener"})
			if c.want == nil {
				if code := codesOf(t, err); code != gardencorev1beta1.ErrorConfigurationProblem {
					t.Fatalf("code %s, want %s", code, gardencorev1beta1.ErrorConfigurationProblem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(record.Spec.Values, c.want) {
				t.Errorf("values %q, want %q", record.Spec.Values, c.want)
			}
		})
	}
}

func TestMakeRecord_hasNameTTLViewAndOwner(t *testing.T) {
	dns := newDNSRecord("*.Ingress.foo.example.org", "A", "192.0.2.1")
	record, err := makeRecord(dns, target{namespace: "gardener", view: "inside"})
	if err != nil {
		t.Fatal(err)
	}
	if got := record.Spec.DomainName; got != "*.ingress.foo.example.org." {
		t.Errorf("domainName %q", got)
	}
	if *record.Spec.TTL != 120 || record.Spec.View != "inside" || record.Namespace != "gardener" || record.Spec.ZoneRef != nil {
		t.Errorf("ttl %d, view %q, namespace %q, zoneRef %v", *record.Spec.TTL, record.Spec.View, record.Namespace, record.Spec.ZoneRef)
	}
	if got := record.Annotations[OwnerAnnotation]; got != "shoot--foo--bar/bar-external" {
		t.Errorf("owner %q", got)
	}
	for ttl, fits := range map[int64]bool{0: true, 600: true, 1<<31 - 1: true, 1 << 31: false, -1: false} {
		dns.Spec.TTL = &ttl
		record, err := makeRecord(dns, target{namespace: "gardener"})
		if fits != (err == nil) || fits && int64(*record.Spec.TTL) != ttl {
			t.Errorf("ttl %d: %v", ttl, err)
		}
	}
}

func TestMakeRecord_zoneIsANamespaceAndAName(t *testing.T) {
	for zone, want := range map[string]string{
		"platform/example-org": "platform/example-org", "kubi.zone/platform/example-org": "platform/example-org", "example-org": "gardener/example-org",
		"a/b/c": "", "/x": "", "x/": "",
	} {
		dns := newDNSRecord("api.example.org", "A", "192.0.2.1")
		dns.Spec.Zone = &zone
		record, err := makeRecord(dns, target{namespace: "gardener"})
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken as %v", zone, record.Spec.ZoneRef)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", zone, err)
		} else if got := record.Spec.ZoneRef.Namespace + "/" + record.Spec.ZoneRef.Name; got != want {
			t.Errorf("%q is %s, want %s", zone, got, want)
		}
	}
}

func TestZoneForStatus_isWrittenOnce(t *testing.T) {
	const first, other = "kubi.zone/platform/example-org", "kubi.zone/platform/inner-example-org"
	in := &v1alpha1.AdoptingZone{Namespace: "platform", Name: "inner-example-org"}
	for _, c := range []struct {
		name, spec, status string
		in                 *v1alpha1.AdoptingZone
		want               string
	}{
		{"no Zone has the Record", "", "", nil, ""},
		{"no Zone has it any more", "", first, nil, first},
		{"the first", "", "", in, other},
		{"the same", "", other, in, other},
		{"the Record has moved", "", first, in, first},
		{"spec.zone says another", "platform/inner-example-org", first, in, other},
		{"of aws-route53", "", "/hostedzone/Z2FDTNDATAQYW2", in, other},
		{"of azure-dns", "", "resources/example.org", in, other},
		{"of google-clouddns", "", "project/example-org", in, other},
	} {
		dns := newDNSRecord("api.example.org", "A")
		if c.spec != "" {
			dns.Spec.Zone = &c.spec
		}
		if c.status != "" {
			dns.Status.Zone = &c.status
		}
		got := ""
		if zone := zoneForStatus(dns, &v1alpha1.Record{Status: v1alpha1.RecordStatus{ZoneRef: c.in}}); zone != nil {
			got = *zone
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRecordName_followsFromNameAndTypeAlone(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{
		"api.example.org", "api-example.org", "*.example.org", "_acme.example.org", "wildcard.example.org", "-.example.org",
		strings.Repeat(strings.Repeat("a", 60)+".", 4) + "org", strings.Repeat(strings.Repeat("a", 60)+".", 4) + "net",
	} {
		for _, of := range []extensionsv1alpha1.DNSRecordType{"A", "AAAA", "CNAME", "TXT"} {
			got := RecordName(name, of)
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("%s %s: %q: %v", name, of, got, problems)
			}
			if other, taken := seen[got]; taken {
				t.Errorf("%s %s and %s are both %q", name, of, other, got)
			}
			seen[got] = name + " " + string(of)
			if same := RecordName(strings.ToUpper(name)+".", of); same != got {
				t.Errorf("%s %s is %q in upper case with a dot, want %q", name, of, same, got)
			}
		}
	}
	// Later versions of the controller must find this version's Records.
	if got := RecordName("api.foo.example.org", "A"); got != "api-foo-example-org-a-edbda2e26437e1ac" {
		t.Errorf("name %q", got)
	}
}
