// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/test/must"
)

const (
	bindyAPI    = "apiVersion: bindy.firestoned.io/v1beta1\n"
	gardenerAPI = "apiVersion: dns.gardener.cloud/v1alpha1\n"
	externalAPI = "apiVersion: externaldns.k8s.io/v1alpha1\n"
	soaFields   = "soaRecord: {primaryNs: ns1.example.org., adminEmail: admin.example.org., serial: 7, refresh: 3600, retry: 600, expire: 604800, negativeTtl: 60}"
	// zoneOfTests selects records of its namespace by the label zone.
	zoneOfTests = bindyAPI + "kind: DNSZone\nmetadata: {name: example, namespace: dns}\nspec: {zoneName: example.org, " + soaFields + ", recordsFrom: [{selector: {matchLabels: {zone: example}}}]}\n"
	selected    = "metadata: {name: x, namespace: dns, labels: {zone: example}}\n"
)

func parse(t *testing.T, text string) (objects []*unstructured.Unstructured) {
	t.Helper()
	for document := range strings.SplitSeq(text, "---\n") {
		asJSON := must.Get(yaml.YAMLToJSONStrict([]byte(document)))(t)
		o := &unstructured.Unstructured{}
		must.Succeed(t, utiljson.Unmarshal(asJSON, &o.Object))
		objects = append(objects, o)
	}
	return objects
}

func converts(t *testing.T, documents ...string) (objects []string, message string) {
	t.Helper()
	converted, found := Convert(parse(t, strings.Join(documents, "---\n")))
	for _, o := range converted {
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(o.Object, "status")
		text := must.Get(yaml.Marshal(o.Object))(t)
		objects = append(objects, string(text))
	}
	var lines []string
	for _, one := range found {
		verb := map[bool]string{true: "refused", false: "not taken over"}[one.Refused]
		lines = append(lines, fmt.Sprintf("%s: %s %s: %s; %s", verb, strings.ToLower(one.Of.GetKind()), id(one.Of), one.Reason, one.Fix))
	}
	return objects, strings.Join(lines, "\n")
}

func becomes(t *testing.T, want string, documents ...string) {
	t.Helper()
	got, message := converts(t, documents...)
	var wanted, have []any
	for _, text := range strings.Split(want, "\n---\n") {
		var object any
		must.Succeed(t, yaml.Unmarshal([]byte(text), &object))
		wanted = append(wanted, object)
	}
	for _, text := range got {
		var object any
		must.Succeed(t, yaml.Unmarshal([]byte(text), &object))
		have = append(have, object)
	}
	if !reflect.DeepEqual(have, wanted) {
		t.Errorf("it became\n%s\nwant\n%s\nreported:\n%s", strings.Join(got, "---\n"), want, message)
	}
}

// Two other namespaces have addresses at a name: they share it by a joint rule, since only the namespaces of a single
// rule share (S4.13).
func TestConvertBindy_sharesANameByAJointRule(t *testing.T) {
	documents := []string{zoneOfTests}
	for _, at := range []string{"blue www", "green www", "green own"} {
		namespace, owner, _ := strings.Cut(at, " ")
		documents = append(documents, bindyAPI+fmt.Sprintf("kind: ARecord\nmetadata: {name: %s, namespace: %s}\nspec: {zone: example.org, "+
			"name: %s, ipv4: 192.0.2.3}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n", owner, namespace, owner))
	}
	got, message := converts(t, documents...)
	var zone v1alpha1.Zone
	must.Succeed(t, yaml.Unmarshal([]byte(got[0]), &zone))
	want := []v1alpha1.DelegationRule{
		{Namespaces: []string{"blue", "green"}, Records: []v1alpha1.RecordDelegation{{Pattern: "www", Types: []string{"A"},
			Shared: true}}},
		{Namespace: "green", Records: []v1alpha1.RecordDelegation{{Pattern: "own", Types: []string{"A"}}}},
	}
	if !reflect.DeepEqual(zone.Spec.Delegations[1:], want) {
		t.Errorf("rules %+v\nwant %+v\n%s", zone.Spec.Delegations[1:], want, message)
	}
}

// M1: a zone of bindy with each kind of record, in all releases' forms, and with foreign records.
func TestConvertBindy(t *testing.T) {
	zone := bindyAPI + `kind: DNSZone
metadata:
  name: example
  namespace: dns
  finalizers: [bindy.firestoned.io/dnszone-finalizer]
  labels: {bindy.firestoned.io/role: x, kept: "yes"}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}
spec:
  zoneName: example.org
  ttl: 1800
  clusterRef: production
  soaRecord: {primaryNs: ns1.example.org., adminEmail: admin.example.org., serial: 2024010101, refresh: 3600, retry: 600, expire: 604800, negativeTtl: 60}
  nameServers:
  - {hostname: ns1.example.org., ipv4Address: 192.0.2.1, ipv6Address: "2001:db8::1"}
  - {hostname: ns.example.net., ipv4Address: 192.0.2.9}
  recordsFrom:
  - selector: {matchLabels: {zone: example}}
status: {conditions: []}
`
	becomes(t, `apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example, namespace: dns, labels: {kept: "yes"}}
spec:
  domainName: example.org.
  ttl: 1800
  refresh: 3600
  retry: 600
  expire: 604800
  negativeResponseCache: 60
  primaryNameServer: ns1.example.org.
  contact: admin.example.org.
  minimumSerial: 2024010101
  nameServers:
  - {name: ns1.example.org., addresses: [192.0.2.1, "2001:db8::1"]}
  - {name: ns.example.net.}
  delegations:
  - namespace: dns
    records: [{pattern: "@"}, {pattern: "*"}]
  - namespace: shop
    records: [{pattern: www, types: [A], shared: true}]
    zones: [dev]
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: dev, namespace: shop}
spec:
  domainName: dev.example.org.
  ttl: 120
  refresh: 3600
  retry: 600
  expire: 604800
  negativeResponseCache: 86400
  primaryNameServer: ns1.dev.example.org.
  contact: admin@example.org
  nameServers: [{name: ns1.dev.example.org., addresses: [192.0.2.8]}]
  delegations: [{namespace: shop, records: [{pattern: "@"}, {pattern: "*"}]}]
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-aaaa, namespace: dns, labels: {zone: example}}
spec: {domainName: www, zoneRef: {name: example}, type: AAAA, ttl: 60, rdata: "2001:db8::1"}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-a, namespace: dns, labels: {zone: example}}
spec: {domainName: www, zoneRef: {name: example}, type: A, ttl: 300, values: [192.0.2.1, 192.0.2.2]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-a, namespace: shop}
spec: {domainName: www, zoneRef: {name: example, namespace: dns}, type: A, ttl: 300, rdata: 192.0.2.3}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-caa, namespace: dns, labels: {zone: example}}
spec: {domainName: "@", zoneRef: {name: example}, type: CAA, ttl: 300, rdata: 0 issue "letsencrypt.org"}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-cname, namespace: dns, labels: {zone: example}}
spec: {domainName: blog, zoneRef: {name: example}, type: CNAME, ttl: 300, rdata: www.example.net.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-mx, namespace: dns, labels: {zone: example}}
spec: {domainName: "@", zoneRef: {name: example}, type: MX, ttl: 300, rdata: 10 mail.example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-ns, namespace: dns, labels: {zone: example}}
spec: {domainName: lab, zoneRef: {name: example}, type: NS, ttl: 300, rdata: ns.example.net.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-srv, namespace: dns, labels: {zone: example}}
spec: {domainName: _sip._tcp, zoneRef: {name: example}, type: SRV, ttl: 300, rdata: 1 2 5060 sip.example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: a-txt, namespace: dns, labels: {zone: example}}
spec: {domainName: "@", zoneRef: {name: example}, type: TXT, ttl: 300, rdata: '"v=spf1 \"x\"" "\195\164"'}`,
		zone,
		bindyAPI+"kind: DNSZone\nmetadata: {name: dev, namespace: shop}\nspec: {zoneName: dev.example.org., soa: {primaryNameServer: ns1.dev.example.org, adminEmail: admin@example.org, ttl: 120}, nameServerIps: {ns1.dev.example.org.: 192.0.2.8}}\n",
		bindyAPI+"kind: ARecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}, finalizers: [bindy.firestoned.io/arecord-finalizer]}\nspec: {name: www, ipv4Addresses: [192.0.2.1, 192.0.2.2]}\n",
		bindyAPI+"kind: AAAARecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: www, ipv6Address: '2001:db8::1', ttl: 60}\n",
		bindyAPI+"kind: ARecord\nmetadata: {name: a, namespace: shop}\nspec: {zone: example.org, name: www, ipv4: 192.0.2.3}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n",
		bindyAPI+"kind: TXTRecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: '@', text: ['v=spf1 \"x\"', ä]}\n",
		bindyAPI+"kind: CNAMERecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: blog, target: www.example.net}\n",
		bindyAPI+"kind: MXRecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: '@', priority: 10, mailServer: mail.example.org.}\n",
		bindyAPI+"kind: NSRecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: lab, nameserver: ns.example.net.}\n",
		bindyAPI+"kind: NSRecord\nmetadata: {name: cut, namespace: dns, labels: {zone: example}}\nspec: {name: dev, nameserver: ns1.dev.example.org.}\n",
		bindyAPI+"kind: SRVRecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\n"+
			"spec: {name: _sip._tcp, priority: 1, weight: 2, port: 5060, target: sip.example.org}\n",
		bindyAPI+"kind: CAARecord\nmetadata: {name: a, namespace: dns, labels: {zone: example}}\nspec: {name: '@', flags: 0, tag: issue, value: letsencrypt.org}\n",
	)
}

// M1: a DNSEntry becomes a Record for each type.
func TestConvertGardener(t *testing.T) {
	becomes(t, `apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: both, namespace: shoot}
spec: {domainName: api.example.org., type: A, ttl: 120, values: [192.0.2.1, 192.0.2.2]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: both-aaaa, namespace: shoot}
spec: {domainName: api.example.org., type: AAAA, ttl: 120, rdata: "2001:db8::1"}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: host, namespace: shoot}
spec: {domainName: "*.apps.example.org.", type: CNAME, ttl: 300, rdata: lb.example.net.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: six, namespace: shoot}
spec: {domainName: six.example.org., type: AAAA, rdata: "2001:db8::2"}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: text, namespace: shoot}
spec: {domainName: t.example.org., type: TXT, values: ['"a b"', '"c" "d"', '"`+strings.Repeat("x", 255)+`" "x"']}`,
		gardenerAPI+"kind: DNSEntry\nmetadata: {name: both, namespace: shoot, ownerReferences: [{apiVersion: v1, kind: Service, name: s, uid: u}]}\nspec: {dnsName: api.example.org, ttl: 120, ownerId: x, targets: [192.0.2.1, '2001:db8::1', 192.0.2.2]}\n",
		gardenerAPI+"kind: DNSEntry\nmetadata: {name: host, namespace: shoot, annotations: {dns.gardener.cloud/class: garden}}\nspec: {dnsName: '*.apps.example.org', targets: [lb.example.net]}\nstatus: {state: Ready, ttl: 300}\n",
		gardenerAPI+"kind: DNSEntry\nmetadata: {name: text, namespace: shoot}\nspec: {dnsName: t.example.org, text: [a b, '\"c\" \"d\"', "+strings.Repeat("x", 256)+"]}\n",
		gardenerAPI+"kind: DNSEntry\nmetadata: {name: six, namespace: shoot}\nspec: {dnsName: six.example.org, targets: ['2001:db8::2']}\n",
		gardenerAPI+"kind: DNSAnnotation\nmetadata: {name: note, namespace: shoot}\nspec: {resourceRef: {kind: Service, apiVersion: v1, name: s}, annotations: {dns.gardener.cloud/dnsnames: x}}\n",
	)
}

// A DNSEndpoint of external-dns becomes a Record for each name and type. Endpoints of the same RRset are joined, as
// external-dns does (M1).
func TestConvertExternalDNS(t *testing.T) {
	becomes(t, `apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www.example.org-a.shop, namespace: team-a, labels: {app: shop}}
spec: {domainName: www.example.org., type: A, ttl: 60, values: [192.0.2.1, 192.0.2.2, 192.0.2.3]}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: example.org-mx.shop, namespace: team-a, labels: {app: shop}}
spec: {domainName: example.org., type: MX, rdata: 10 mail.example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: sip.tcp.example.org--62c1c71ff1-srv.shop, namespace: team-a, labels: {app: shop}}
spec: {domainName: _sip._tcp.example.org., type: SRV, rdata: 1 100 5061 sip.example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: example.org-https.shop, namespace: team-a, labels: {app: shop}}
spec: {domainName: example.org., type: HTTPS, rdata: '1 cdn.example.net. alpn="h2"'}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: wildcard.example.org--1475fbd679-cname.shop, namespace: team-a, labels: {app: shop}}
spec: {domainName: "*.example.org.", type: CNAME, rdata: lb.example.net.}`,
		externalAPI+`kind: DNSEndpoint
metadata:
  name: shop
  namespace: team-a
  labels: {app: shop}
  annotations: {externaldns.k8s.io/x: y}
  ownerReferences: [{apiVersion: v1, kind: Service, name: s, uid: u}]
spec:
  endpoints:
  - {dnsName: WWW.example.org, recordType: A, recordTTL: 60, targets: [192.0.2.2, 192.0.2.1], labels: {resource: ingress/team-b/forged}}
  - {dnsName: example.org, recordType: MX, targets: [10 mail.example.org]}
  - {dnsName: _sip._tcp.example.org, recordType: SRV, targets: [1 100 5061 sip.example.org]}
  - {dnsName: example.org, recordType: HTTPS, targets: [1 cdn.example.net alpn=h2]}
  - {dnsName: www.example.org., recordType: A, recordTTL: 60, targets: [192.0.2.3, 192.0.2.1]}
  - {dnsName: "*.example.org", recordType: CNAME, targets: [lb.example.net], providerSpecific: [{name: alias, value: "false"}]}
status: {observedGeneration: 1}
`)
}

// M1: a field left behind is reported with object and next step, and its object is not written.
func TestConvert_reportsWhatIsNotCarriedOver(t *testing.T) {
	entry := func(spec string) string {
		return gardenerAPI + "kind: DNSEntry\nmetadata: {name: x, namespace: a}\nspec: {dnsName: x.example.org, " + spec + "}\n"
	}
	endpoints := func(all string) string {
		return externalAPI + "kind: DNSEndpoint\nmetadata: {name: x, namespace: a}\nspec: {endpoints: [" + all + "]}\n"
	}
	const endpoint = "{dnsName: x.example.org, recordType: A, targets: [192.0.2.1]"
	record := func(kind, spec string) string {
		return zoneOfTests + "---\n" + bindyAPI + "kind: " + kind + "\n" + selected + "spec: {" + spec + "}\n"
	}
	for what, c := range map[string]struct {
		text    string
		objects int
		want    string
	}{
		"an unknown field": {record("ARecord", "name: w, ipv4: 192.0.2.1, geo: eu"), 1,
			"arecord dns/x: spec: unknown field \"geo\""},
		"a field of a wrong type": {record("MXRecord", "name: w, priority: {a: 1}, mailServer: a."), 1,
			"spec.priority: map[a:1] is neither a text nor a number"},
		"a name":                                         {record("ARecord", "name: 'a b', ipv4: 192.0.2.1"), 1, "spec.name: "},
		"a record of no zone":                            {zoneOfTests + "---\n" + bindyAPI + "kind: ARecord\nmetadata: {name: x, namespace: other, labels: {zone: example}}\nspec: {name: w, ipv4: 192.0.2.1}\n", 1, "arecord other/x: no DNSZone of its namespace selects it"},
		"a zone that is not there":                       {bindyAPI + "kind: ARecord\n" + selected + "spec: {zone: example.net, name: w, ipv4: 192.0.2.1}\n", 0, "spec.zone: there is no DNSZone with the name example.net"},
		"a reference to no zone":                         {bindyAPI + "kind: ARecord\n" + selected + "spec: {zoneRef: {name: z, namespace: q}, name: w, ipv4: 192.0.2.1}\n", 0, "spec.zoneRef: there is no DNSZone q/z"},
		"a name that another namespace only wants":       {zoneOfTests + "---\n" + bindyAPI + "kind: ARecord\nmetadata: {name: x, namespace: other}\nspec: {zone: example.org, name: w, ipv4: 192.0.2.1}\nstatus: {conditions: [{type: Ready, status: 'False'}]}\n", 1, "arecord other/x: it is not Ready, and would get a rule in DNSZone dns/example"},
		"a child zone that only another namespace wants": {zoneOfTests + "---\n" + strings.NewReplacer("name: example,", "name: sub,", "namespace: dns", "namespace: other", "example.org, ", "sub.example.org, ").Replace(zoneOfTests), 2, "dnszone other/sub: no NS of DNSZone dns/example"},
		"two zones":                                      {zoneOfTests + "---\n" + strings.NewReplacer("name: example,", "name: more,", "example.org,", "example.net,").Replace(zoneOfTests) + "---\n" + bindyAPI + "kind: ARecord\n" + selected + "spec: {name: w, ipv4: 192.0.2.1}\n", 2, "DNSZones dns/example, dns/more select it"},
		"a zone of a name that an older one has":         {strings.Replace(zoneOfTests, "{name: example,", `{name: b, creationTimestamp: "2024-01-02T00:00:00Z",`, 1) + "---\n" + strings.Replace(zoneOfTests, "{name: example,", `{name: c, creationTimestamp: "2024-01-01T00:00:00Z",`, 1), 1, "dnszone dns/b: spec.zoneName: DNSZone dns/c, which is older, has the name example.org."},
		"a zone without an SOA":                          {bindyAPI + "kind: DNSZone\nmetadata: {name: z, namespace: dns}\nspec: {zoneName: example.org}\n", 0, "spec.soaRecord: is missing"},
		"a record of a zone that is refused":             {bindyAPI + "kind: DNSZone\nmetadata: {name: z, namespace: dns}\nspec: {zoneName: example.org}\n---\n" + bindyAPI + "kind: ARecord\n" + selected + "spec: {zone: example.org, name: w, ipv4: 192.0.2.1}\n", 0, "its DNSZone dns/z is not imported"},
		"DNSSEC": {strings.Replace(zoneOfTests, "spec: {", "spec: {dnssecPolicy: default, ", 1), 1,
			"not taken over: dnszone dns/example: spec.dnssecPolicy: \"default\" signs"},
		"servers": {strings.Replace(zoneOfTests, "spec: {", "spec: {clusterRef: c, bind9InstancesFrom: [{selector: {}}], ",
			1), 1, "spec.clusterRef, spec.bind9InstancesFrom: name the servers"},
		"a record of tomorrow": {zoneOfTests + "---\n" + bindyAPI + "kind: SVCBRecord\n" + selected + "spec: {name: w}\n", 1,
			"SVCBRecord is a kind of record that this version does not know"},
		"a server": {bindyAPI + "kind: Bind9Cluster\nmetadata: {name: c, namespace: dns}\n", 0,
			"not taken over: bind9cluster dns/c: Bind9Cluster has no zone data"},
		"an object that goes": {strings.Replace(zoneOfTests, "namespace: dns", `namespace: dns, deletionTimestamp: `+
			`"2024-01-01T00:00:00Z"`, 1), 0, "dnszone dns/example: it is being deleted"},
		"a record in a child": {zoneOfTests + "---\n" + strings.NewReplacer("name: example,", "name: sub,", "example.org, ",
			"sub.example.org, ", "recordsFrom", "ttl: 1, recordsFrom", "{zone: example}", "{zone: sub}").Replace(zoneOfTests) + "---\n" +
			bindyAPI + "kind: ARecord\n" + selected + "spec: {name: a.sub, ipv4: 192.0.2.1}\n", 2, "spec.name: a.sub.example.org. " +
			"lies in DNSZone dns/sub"},
		"weights": {entry("targets: [192.0.2.1], routingPolicy: {type: weighted}"), 0,
			"dnsentry a/x: spec.routingPolicy: answers by weight"},
		"a reference": {entry("reference: {name: y}"), 0, "spec.reference: the data is that of another DNSEntry"},
		"hosts": {entry("targets: [a.example.net, b.example.net]"), 0,
			"spec.targets: host names that a controller looks up"},
		"a host to look up": {entry("targets: [a.example.net], resolveTargetsToAddresses: true"), 0,
			"spec.targets: host names that a controller looks up"},
		"neither":             {entry("ttl: 1"), 0, "neither targets nor text is set"},
		"both":                {entry("targets: [192.0.2.1], text: [x]"), 0, "spec.text: targets is set, too"},
		"a field of tomorrow": {entry("targets: [192.0.2.1], weight: 1"), 0, "unknown field \"weight\""},
		"an entry that is ignored": {strings.Replace(entry("targets: [192.0.2.1]"), "namespace: a", "namespace: a, annotations: "+
			"{dns.gardener.cloud/ignore: full}", 1), 0, "dns.gardener.cloud/ignore is \"full\""},
		"an older entry": {entry("targets: [192.0.2.1]") + "---\n" + strings.Replace(entry("targets: [192.0.2.2]"), "name: x", "name: z",
			1), 1, "dnsentry a/z: spec.dnsName: DNSEntry a/x, which is older, has the name x.example.org."},
		"a name for two": {entry("targets: [192.0.2.1, '2001:db8::1']") + "---\n" + strings.NewReplacer("name: x", "name: x-aaaa",
			"x.example.org", "z.example.org").Replace(entry("targets: [192.0.2.2]")), 1,
			"metadata.name: its Record of type AAAA would have the name of DNSEntry x-aaaa"},
		"a Service's": {strings.Replace(entry("targets: [192.0.2.1]"), "namespace: a", "namespace: a, ownerReferences: [{apiVersion: v1, "+
			"kind: Service, name: s, uid: u}]", 1), 1, "not taken over: dnsentry a/x: metadata.ownerReferences: Service s"},
		"an endpoint of a routing policy": {endpoints(endpoint + "}, " + strings.Replace(endpoint, "A,", "AAAA, setIdentifier: eu,",
			1) + "}"), 1, "refused: dnsendpoint a/x: spec.endpoints[1].setIdentifier \"eu\": a name has one RRset"},
		"a property of a cloud": {endpoints(endpoint + ", providerSpecific: [{name: aws/weight, value: '5'}]}"), 0,
			"spec.endpoints[0].providerSpecific \"aws/weight\""},
		"an endpoint's type": {endpoints("{dnsName: x.example.org, recordType: ALIAS, targets: [a.b]}"), 0,
			`spec.endpoints[0].recordType "ALIAS"`},
		"an endpoint's name": {endpoints("{dnsName: 'a..b', recordType: A, targets: [192.0.2.1]}"), 0,
			`spec.endpoints[0].dnsName "a..b"`},
		"an endpoint without data": {endpoints("{dnsName: x.example.org, recordType: A}"), 0,
			"spec.endpoints[0].targets: there are none"},
		"two TTLs": {endpoints(endpoint + "}, " + endpoint + ", recordTTL: 5}"), 1,
			"spec.endpoints[1].recordTTL: another endpoint has x.example.org. A with"},
		"a DNSEndpoint of nothing": {externalAPI + "kind: DNSEndpoint\nmetadata: {name: x, namespace: a}\n", 0,
			"not taken over: dnsendpoint a/x: spec.endpoints: there are none"},
		"a DNSEndpoint of tomorrow": {endpoints(endpoint + ", geo: eu}"), 0, `unknown field "endpoints[0].geo"`},
		"a note of external-dns": {externalAPI + "kind: DNSRecord\nmetadata: {name: x, namespace: a}\n", 0,
			"not taken over: dnsrecord a/x: DNSRecord is what external-dns notes"},
		"a DNSEndpoint with an owner": {strings.Replace(endpoints(endpoint+"}, {dnsName: y.example.org, recordType: A, targets: [a]}"),
			"namespace: a", "namespace: a, ownerReferences: [{apiVersion: v1, kind: Service, name: s, uid: u}]", 1), 2,
			"not taken over: dnsendpoint a/x: metadata.ownerReferences: Service s"},
		"a provider": {gardenerAPI + "kind: DNSProvider\nmetadata: {name: p, namespace: a}\n", 0, "DNSProvider has no zone data; " +
			"make a Zone"},
	} {
		t.Run(what, func(t *testing.T) {
			objects, message := converts(t, c.text)
			if len(objects) != c.objects || !strings.Contains(message, c.want) {
				t.Errorf("%d objects, want %d, reported %q, want %q:\n%s", len(objects), c.objects, message, c.want, strings.Join(objects, "---\n"))
			}
		})
	}
}

// bindyFields has all fields of bindy's v1beta1 CRDs, with values other than the defaults.
var bindyFields = map[string]string{
	"DNSZone": `{"zoneName":"example.net","ttl":1800,"clusterRef":"production","clusterProviderRef":"global","dnssecPolicy":"default",
		"soaRecord":{"primaryNs":"ns1.example.net.","adminEmail":"admin.example.net.","serial":2024010101,"refresh":7200,"retry":900,"expire":1209600,"negativeTtl":300},
		"nameServers":[{"hostname":"ns2.example.net.","ipv4Address":"192.0.2.2","ipv6Address":"2001:db8::2"}],
		"recordsFrom":[{"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"c","operator":"In","values":["d"]}]}}],
		"bind9InstancesFrom":[{"selector":{"matchLabels":{"e":"f"}}}]}`,
	"ARecord":     `{"name":"a","ttl":60,"ipv4Addresses":["192.0.2.1"]}`,
	"AAAARecord":  `{"name":"a","ttl":60,"ipv6Addresses":["2001:db8::1"]}`,
	"CAARecord":   `{"name":"a","ttl":60,"flags":128,"tag":"issue","value":"ca.example.net"}`,
	"CNAMERecord": `{"name":"a","ttl":60,"target":"b.example.net."}`,
	"MXRecord":    `{"name":"a","ttl":60,"priority":10,"mailServer":"b.example.net."}`,
	"NSRecord":    `{"name":"a","ttl":60,"nameserver":"b.example.net."}`,
	"PTRRecord":   `{"name":"10","ttl":60,"target":"b.example.net."}`,
	"SRVRecord":   `{"name":"_a._tcp","ttl":60,"priority":1,"weight":2,"port":3,"target":"b.example.net."}`,
	"TXTRecord":   `{"name":"a","ttl":60,"text":["x"]}`,
}

// M1: each field of bindy changes the objects or the report; no field is dropped silently.
func TestConvertBindy_passesNoFieldOver(t *testing.T) {
	for kind := range bindyRecords {
		if bindyFields[kind] == "" {
			t.Errorf("no fields are known of %s", kind)
		}
	}
	for kind, text := range bindyFields {
		passesNoFieldOver(t, kind, text, func(spec map[string]any) string {
			// A zone's selectors show by the selected record.
			labels := map[string]any{"zone": "example"}
			document := func(kind, name string, labels, spec map[string]any) string {
				return string(must.Get(json.Marshal(map[string]any{"apiVersion": "bindy.firestoned.io/v1beta1", "kind": kind,
					"metadata": map[string]any{"name": name, "namespace": "dns", "labels": labels}, "spec": spec}))(t)) + "\n"
			}
			documents := []string{zoneOfTests, document(kind, "x", labels, spec)}
			for _, labels := range []map[string]any{{"a": "b", "c": "d"}, {"a": "b"}, {"c": "d"}} {
				documents = append(documents, document("ARecord", fmt.Sprint("selected", len(documents)), labels,
					map[string]any{"name": fmt.Sprint("s", len(documents)), "ipv4": "192.0.2.9"}))
			}
			objects, message := converts(t, documents...)
			return strings.Join(objects, "\n") + message
		})
	}
}

// passesNoFieldOver removes each field of a spec that has all, and requires another result of convert.
func passesNoFieldOver(t *testing.T, kind, text string, convert func(spec map[string]any) string) {
	t.Helper()
	read := func() (spec map[string]any) {
		t.Helper()
		must.Succeed(t, json.Unmarshal([]byte(text), &spec))
		return spec
	}
	whole := convert(read())
	if strings.Contains(whole, "unknown field") {
		t.Errorf("%s: %s", kind, whole)
	}
	var remove func(at string, enter func(map[string]any) map[string]any)
	remove = func(at string, enter func(map[string]any) map[string]any) {
		for field, value := range enter(read()) {
			spec := read()
			delete(enter(spec), field)
			if convert(spec) == whole {
				t.Errorf("%s: %s%s changes nothing and is not reported", kind, at, field)
			}
			inner, isObject := value.(map[string]any)
			list, isList := value.([]any)
			if isList && len(list) > 0 {
				inner, isObject = list[0].(map[string]any)
			}
			// bindy's selector of servers is reported as a whole.
			if isObject && len(inner) > 0 && field != "bind9InstancesFrom" && field != "matchLabels" && field != "matchExpressions" {
				remove(at+field+".", func(of map[string]any) map[string]any {
					switch inner := enter(of)[field].(type) {
					case []any:
						return inner[0].(map[string]any)
					case map[string]any:
						return inner
					}
					return nil
				})
			}
		}
	}
	remove("", func(spec map[string]any) map[string]any { return spec })
}

// Each object of arbitrary spec is converted or reported, deterministically, and no unknown field is dropped
// silently.
func FuzzConvert(f *testing.F) {
	for kind, spec := range map[string]string{
		"DNSZone":       `{"zoneName":"example.net","soaRecord":{"primaryNs":"ns.example.net.","adminEmail":"a.example.net.","serial":4294967295,"refresh":1,"retry":0,"expire":0,"negativeTtl":2147483647},"nameServers":[{"hostname":"ns.example.net","ipv4Address":"192.0.2.1"}]}`,
		"ARecord":       `{"name":"*.a","ipv4Addresses":["192.0.2.1"],"ttl":0}`,
		"TXTRecord":     `{"name":"@","text":["\u0000\"\\"]}`,
		"CAARecord":     `{"name":"@","flags":255,"tag":"iodef","value":"mailto:a"}`,
		"SRVRecord":     `{"name":"_a._b","priority":1,"weight":2,"port":3,"target":"."}`,
		"DNSEntry":      `{"dnsName":"a.example.org","targets":["::ffff:192.0.2.1"]}`,
		"DNSAnnotation": `{"annotations":{}}`,
		"DNSRecord":     `{"type":"MX","domain":"example.org","subdomain":"@","values":["a"],"metadata":{"priority":65535}}`,
		"DNSClass":      `{"server":"https://a.example","hmacAuth":{"secretRef":{"name":"a","namespace":"b","key":"c"}}}`,
		"DNSEndpoint":   `{"endpoints":[{"dnsName":"a.example.org","recordType":"A","targets":["::ffff:192.0.2.1"],"recordTTL":0}]}`,
	} {
		f.Add(kind, spec)
	}
	f.Fuzz(func(t *testing.T, kind, spec string) {
		var fields map[string]any
		if json.Unmarshal([]byte(spec), &fields) != nil {
			t.Skip()
		}
		api := bindyAPI
		switch {
		case kind == "DNSEndpoint":
			api = externalAPI
		case kind == "DNSRecord" || kind == "DNSClass":
			api = webhookAPI
		case strings.HasPrefix(kind, "DNSE") || strings.HasPrefix(kind, "DNSA"):
			api = gardenerAPI
		}
		document := func(fields map[string]any) string {
			object, err := json.Marshal(map[string]any{"kind": kind, "metadata": map[string]any{"name": "x", "namespace": "dns", "labels": map[string]any{"zone": "example"}}, "spec": fields})
			if err != nil {
				t.Skip()
			}
			text, err := yaml.JSONToYAML(object)
			if err != nil || !json.Valid(object) {
				t.Skip()
			}
			return api + string(text)
		}
		if kind == "" || strings.ContainsFunc(kind, func(r rune) bool { return r < 'A' || r > 'z' }) {
			t.Skip()
		}
		text := document(fields)
		objects, message := converts(t, zoneOfTests, text)
		again, _ := converts(t, zoneOfTests, text)
		if !reflect.DeepEqual(objects, again) {
			t.Errorf("converted in two ways:\n%s\n%s", objects, again)
		}
		if len(objects) == 1 && message == "" {
			t.Errorf("%s: neither converted nor reported: %s", text, message)
		}
		for _, object := range objects {
			checkConverted(t, object)
		}
		if fields == nil {
			fields = make(map[string]any)
		}
		fields["fieldOfTomorrow"] = true
		if objects, message = converts(t, zoneOfTests, document(fields)); len(objects) > 1 || message == "" {
			t.Errorf("a field was passed over: %s\n%s", message, objects)
		}
	})
}

// Validation may refuse the object, but not panic.
func checkConverted(t *testing.T, text string) {
	t.Helper()
	var content map[string]any
	must.Succeed(t, yaml.Unmarshal([]byte(text), &content))
	switch content["kind"] {
	case "Zone":
		var zone v1alpha1.Zone
		if err := yaml.UnmarshalStrict([]byte(text), &zone); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		validation.Zone(&zone)
	case "Record":
		var record v1alpha1.Record
		if err := yaml.UnmarshalStrict([]byte(text), &record); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		validation.Record(&record)
	case "DNSClass":
		var class v1alpha1.DNSClass
		if err := yaml.UnmarshalStrict([]byte(text), &class); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		validation.DNSClass(&class, false)
	default:
		t.Errorf("kind %v", content["kind"])
	}
}
