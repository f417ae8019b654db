// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
)

// entryOf is a DNSEntry with this spec, in JSON.
func entryOf(t *testing.T, metadata, spec string) *unstructured.Unstructured {
	t.Helper()
	return objectOf(t, `{"apiVersion":"dns.gardener.cloud/v1alpha1","kind":"DNSEntry","metadata":{"namespace":"team","name":"www"`+metadata+`},"spec":`+spec+`}`)
}

func TestFromDNSEntry_makesRecordsOfItsTargetsAndTexts(t *testing.T) {
	for _, c := range []struct{ what, spec, want string }{
		{"addresses", `{"dnsName":"www.example.org","ttl":120,"targets":["192.0.2.1","192.0.2.2"]}`, `www: www.example.org. 120 A [192.0.2.1 192.0.2.2]`},
		{"addresses of both families", `{"dnsName":"www.example.org","targets":["2001:db8::1","192.0.2.1"]}`, `www: www.example.org. - A [192.0.2.1]; www-aaaa: www.example.org. - AAAA [2001:db8::1]`},
		{"addresses of IPv6 alone", `{"dnsName":"www.example.org","targets":["2001:db8::1"]}`, `www: www.example.org. - AAAA [2001:db8::1]`},
		{"a host name", `{"dnsName":"www.example.org","targets":["lb.example.com"],"resolveTargetsToAddresses":false}`, `www: www.example.org. - CNAME [lb.example.com.]`},
		{"texts", `{"dnsName":"*.example.org","text":["v=spf1 -all","a\"b\\c"]}`, `www: *.example.org. - TXT ["v=spf1 -all" "a\"b\\c"]`},
		{"a long text", `{"dnsName":"x.example.org","text":["` + strings.Repeat("x", 256) + `"]}`, `www: x.example.org. - TXT ["` + strings.Repeat("x", 255) + `" "x"]`},
	} {
		t.Run(c.what, func(t *testing.T) {
			records, reason, _ := fromDNSEntry(entryOf(t, `,"ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"a","uid":"b"}],"finalizers":["garden.dns.gardener.cloud/x"],"labels":{"app":"a"}`, c.spec))
			if reason != "" {
				t.Fatal(reason)
			}
			var got []string
			for _, record := range records {
				spec := record.Object["spec"].(map[string]any)
				ttl := any("-")
				if spec["ttl"] != nil {
					ttl = spec["ttl"]
				}
				got = append(got, fmt.Sprintf("%s: %s %v %s %s", record.GetName(), spec["domainName"], ttl, spec["type"], spec["values"]))
				if record.GetNamespace() != "team" || len(record.GetOwnerReferences()) > 0 || len(record.GetFinalizers()) > 0 || record.GetLabels()["app"] != "a" {
					t.Errorf("metadata %v", record.Object["metadata"])
				}
			}
			if text := strings.Join(got, "; "); text != c.want {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

func TestFromDNSEntry_saysWhatHasNoEquivalent(t *testing.T) {
	for _, c := range []struct{ says, metadata, spec string }{
		{"spec.reference", ``, `{"dnsName":"www.example.org","reference":{"name":"other"}}`},
		{"spec.routingPolicy", ``, `{"dnsName":"www.example.org","targets":["192.0.2.1"],"routingPolicy":{"type":"weighted"}}`},
		{"spec.resolveTargetsToAddresses", ``, `{"dnsName":"www.example.org","targets":["lb.example.com"],"resolveTargetsToAddresses":true}`},
		{"several host names", ``, `{"dnsName":"www.example.org","targets":["a.example.com","b.example.com"]}`},
		{"beside addresses", ``, `{"dnsName":"www.example.org","targets":["a.example.com","192.0.2.1"]}`},
		{"targets and texts", ``, `{"dnsName":"www.example.org","targets":["192.0.2.1"],"text":["a"]}`},
		{"neither targets nor texts", ``, `{"dnsName":"www.example.org"}`},
		{"spec.dnsName", ``, `{"targets":["192.0.2.1"]}`},
		{"being deleted", `,"deletionTimestamp":"2026-01-01T00:00:00Z"`, `{"dnsName":"www.example.org","targets":["192.0.2.1"]}`},
		{"dns.gardener.cloud/ignore", `,"annotations":{"dns.gardener.cloud/ignore":"full"}`, `{"dnsName":"www.example.org","targets":["192.0.2.1"]}`},
	} {
		if _, reason, fix := fromDNSEntry(entryOf(t, c.metadata, c.spec)); !strings.Contains(reason, c.says) || fix == "" {
			t.Errorf("%s: %q, %q; want a reason with %q and a next step", c.spec, reason, fix, c.says)
		}
	}
}

func TestLoad_convertsDNSEntries(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "entries.json"), `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"dns.gardener.cloud/v1alpha1","kind":"DNSEntry","metadata":{"name":"www","namespace":"team"},"spec":{"dnsName":"www.example.org","targets":["192.0.2.1","2001:db8::1"]}},
		{"apiVersion":"dns.gardener.cloud/v1alpha1","kind":"DNSAnnotation","metadata":{"name":"a","namespace":"team"},"spec":{"resourceRef":{"kind":"Service","name":"a"}}},
		{"apiVersion":"dns.gardener.cloud/v1alpha1","kind":"DNSProvider","metadata":{"name":"p","namespace":"team"},"spec":{}}]}`)
	l := newLab(t, fake.NewSimpleClientset())
	var written []string
	server := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	server.PrependReactor("patch", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written = append(written, action.(clienttesting.PatchAction).GetName())
		return true, &unstructured.Unstructured{}, nil
	})
	l.dynamic, l.mapping, l.cfg.FromCRD, l.cfg.Workers = server, kinds{"Record": "records"}, true, 1
	if got := l.load(t, path); got != (Result{Written: 2, Refused: 2}) || !slices.Equal(written, []string{"www", "www-aaaa"}) {
		t.Errorf("load: %+v, written %v", got, written)
	}
	if !l.heard("dnsannotation team/a: ") || !l.heard("dnsprovider team/p: kind DNSProvider has no equivalent") {
		t.Error("the report names neither the DNSAnnotation nor the DNSProvider")
	}
}
