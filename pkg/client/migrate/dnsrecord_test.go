// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

const webhookAPI = "apiVersion: " + webhookGroup + "/v1alpha1\n"

// M1: a class with its Secret, and records of each form.
func TestConvertWebhook(t *testing.T) {
	record := func(name, namespace, spec string) string {
		return webhookAPI + "kind: DNSRecord\nmetadata: {name: " + name + ", namespace: " + namespace +
			", finalizers: [dns.homelab.mortenolsen.pro/finalizer]}\nspec: {dnsClassRef: {name: cloud}, domain: example.org, " +
			spec + "}\nstatus: {state: Created, fqdn: x}\n"
	}
	becomes(t, `apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: mail, namespace: blog}
spec: {domainName: example.org., type: MX, values: [10 a.example.net., 10 b.example.net.]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: service, namespace: blog}
spec: {domainName: _sip._tcp.example.org., type: SRV, rdata: 0 5 5060 sip.example.net.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: text, namespace: blog}
spec: {domainName: example.org., type: TXT, values: ['"v=spf1 -all"', '"a \"b\""']}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: address, namespace: shop}
spec: {domainName: www.example.org., type: A, values: [192.0.2.1, 192.0.2.2], ttl: 60, description: the shop}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: alias, namespace: shop}
spec: {domainName: '*.dev.example.org.', type: CNAME, rdata: www.example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: DNSClass
metadata: {name: cloud}
spec:
  defaultTTL: 600
  namespaces: {names: [blog, shop]}
  webhook:
    server: https://hook.example:7100
    timeoutSeconds: 20
    hmacAuth: {secretRef: {name: hook, namespace: dns, key: shared}, algorithm: SHA512}
`,
		webhookAPI+"kind: DNSClass\nmetadata: {name: cloud}\n"+
			"spec:\n  server: https://hook.example:7100\n  defaultTTL: 600\n  timeoutSeconds: 20\n"+
			"  hmacAuth: {secretRef: {name: hook, namespace: dns, key: shared}, algorithm: SHA512}\nstatus: {health: {status: Healthy}}\n",
		record("address", "shop", "subdomain: www, type: A, values: [192.0.2.1, 192.0.2.2], ttl: 60, description: the shop"),
		record("alias", "shop", "subdomain: '*.dev', type: cname, values: [www.example.org]"),
		record("mail", "blog", "subdomain: '@', type: MX, values: [a.example.net, b.example.net.], metadata: {priority: 10}"),
		record("service", "blog", "subdomain: _sip._tcp, type: SRV, values: [sip.example.net], "+
			"metadata: {priority: 0, weight: 5, port: 5060}"),
		record("text", "blog", `subdomain: "@", type: TXT, values: [v=spf1 -all, 'a "b"']`),
	)
}

// For each object of the old webhook operator that is not carried over, the report names the field and the reason (M1,
// M3).
func TestConvertWebhook_reportsWhatIsNotCarriedOver(t *testing.T) {
	record := func(spec string) string {
		return webhookAPI + "kind: DNSRecord\nmetadata: {name: x, namespace: a}\n" +
			"spec: {dnsClassRef: {name: c}, domain: example.org, subdomain: x, " + spec + "}\n"
	}
	class := func(spec string) string {
		return webhookAPI + "kind: DNSClass\nmetadata: {name: c}\nspec: {server: 'http://a.example'" + spec + "}\n"
	}
	replace := func(text, before, after string) string { return strings.Replace(text, before, after, 1) }
	address := record("type: A, values: [192.0.2.1]")
	for name, test := range map[string]struct {
		text    string
		objects int
		want    string
	}{
		"a name that is none": {replace(address, "subdomain: x", "subdomain: a..b"), 0, "spec.subdomain, spec.domain: "},
		"no subdomain":        {replace(address, "subdomain: x, ", ""), 0, "spec.subdomain, spec.domain: "},
		"no type":             {record("values: [192.0.2.1]"), 0, "spec.type: "},
		"no values":           {record("type: A, values: []"), 0, "spec.values: there are none"},
		"no priority":         {record("type: MX, values: [a.example.net]"), 0, "spec.metadata.priority: is missing"},
		"no port": {record("type: SRV, values: [a.example.net], metadata: {priority: 1, weight: 1}"), 0,
			"spec.metadata.port: is missing"},
		"a weight of an MX": {record("type: MX, values: [a.example.net], metadata: {priority: 1, weight: 1}"), 1,
			"not taken over: dnsrecord a/x: spec.metadata: MX has no weight"},
		"the operator's example, an A": {record("type: A, values: [192.0.2.1], metadata: {priority: 10, weight: 100, port: 443}"), 1,
			"not taken over: dnsrecord a/x: spec.metadata: A has no priority, weight, port"},
		"a field of tomorrow": {record("type: A, values: [192.0.2.1], proxied: true"), 0, `unknown field "proxied"`},
		"an older one": {address + "---\n" + replace(address, "name: x, namespace: a", "name: x, namespace: b"), 1,
			"dnsrecord b/x: spec.subdomain: DNSRecord a/x, which is older, has x.example.org. A"},
		"a class of nobody":   {class(""), 1, "no DNSRecord of the source has the class"},
		"a class of tomorrow": {class(", retries: 1"), 0, `unknown field "retries"`},
		"a kind of tomorrow":  {webhookAPI + "kind: DNSZone\nmetadata: {name: c}\n", 0, "DNSZone has no zone data"},
		"a record of a Service": {replace(address, "namespace: a", "namespace: a, ownerReferences: "+
			"[{apiVersion: v1, kind: Service, name: s, uid: u}]"), 1, "metadata.ownerReferences: Service s"},
	} {
		objects, message := converts(t, test.text)
		if len(objects) != test.objects || !strings.Contains(message, test.want) {
			t.Errorf("%s: %d objects, want %d, reported %q, want %q", name, len(objects), test.objects, message, test.want)
		}
	}
}

// The class of a refused record names its namespace: the record comes later, when it is corrected.
func TestConvertWebhook_countsTheNamespaceOfARefusedRecord(t *testing.T) {
	for what, spec := range map[string]string{
		"no values":           "type: A, values: []",
		"a field of tomorrow": "type: A, values: [192.0.2.1], proxied: true",
	} {
		objects, message := converts(t, webhookAPI+"kind: DNSRecord\nmetadata: {name: x, namespace: production}\n"+
			"spec: {domain: example.org, subdomain: x, "+spec+", dnsClassRef: {name: c}}\n",
			webhookAPI+"kind: DNSClass\nmetadata: {name: c}\nspec: {server: 'http://a.example'}\n")
		if len(objects) != 1 || !strings.Contains(objects[0], "production") || strings.Contains(message, "may deliver no zone") {
			t.Errorf("%s: %q, reported %q", what, objects, message)
		}
	}
}

// Every field of the old DNSRecord and DNSClass is carried over or reported (M1).
func TestConvertWebhook_passesNoFieldOver(t *testing.T) {
	for kind, text := range map[string]string{
		"DNSRecord": `{"type":"SRV","domain":"example.org","subdomain":"_a._b","dnsClassRef":{"name":"c"},
			"values":["a.example.net"],"ttl":60,"description":"d","metadata":{"priority":1,"weight":2,"port":3}}`,
		"DNSClass": `{"server":"https://a.example","defaultTTL":60,"timeoutSeconds":5,
			"hmacAuth":{"secretRef":{"name":"n","namespace":"m","key":"k"},"secret":"s","algorithm":"SHA512"}}`,
	} {
		passesNoFieldOver(t, kind, text, func(spec map[string]any) string {
			// A DNSRecord's class shows in the DNSClass's namespaces.
			document := must.Get(json.Marshal(map[string]any{"apiVersion": webhookGroup + "/v1alpha1", "kind": kind,
				"metadata": map[string]any{"name": "x", "namespace": map[string]string{"DNSRecord": "a"}[kind]}, "spec": spec}))(t)
			objects, message := converts(t, string(document)+"\n",
				webhookAPI+"kind: DNSClass\nmetadata: {name: c}\nspec: {server: 'http://a.example'}\n")
			return strings.Join(objects, "\n") + message
		})
	}
}
