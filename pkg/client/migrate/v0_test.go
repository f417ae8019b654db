// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"strings"
	"testing"
)

// M2: fields of v0's controllers go, fields of users stay.
func TestConvertV0_leavesTheControllersMarksBehind(t *testing.T) {
	for what, c := range map[string]struct{ before, after string }{
		"a zone of a development build": {`
apiVersion: dev.kubi.zone/v1alpha1
kind: Zone
metadata:
  name: z
  namespace: a
  finalizers: [kubi.zone/cleanup]
  labels: {kubi.zone/parent-zone: p.a}
  ownerReferences: [{apiVersion: kubi.zone/v1alpha1, kind: Zone, name: p, uid: u}]
spec:
  domainName: dev
  zoneRef: {name: p, namespace: null}
  delegations: [{namespaces: [], zones: [], records: [{pattern: "*", types: []}]}]
status: {serial: 2024010100, entries: null}
`, `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: a}
spec:
  domainName: dev
  zoneRef: {name: p}
  delegations: [{records: [{pattern: "*"}]}]
  minimumSerial: 2024010100
`},
		"a record of an Ingress": {`
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata:
  name: r
  namespace: a
  labels: {kubi.zone/parent-zone: p.a, app: x}
  annotations: {note: kept}
  ownerReferences: [{apiVersion: networking.k8s.io/v1, kind: Ingress, name: i, uid: u}]
spec: {domainName: www.example.org., type: A, class: in, ttl: null, rdata: 192.0.2.1}
status: {fqdn: www.example.org.}
`, `
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata:
  name: r
  namespace: a
  labels: {app: x}
  annotations: {note: kept}
  ownerReferences: [{apiVersion: networking.k8s.io/v1, kind: Ingress, name: i, uid: u}]
spec: {domainName: www.example.org., type: A, class: IN, rdata: 192.0.2.1}
`},
		"a raised serial": {`
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z}
spec: {domainName: example.org., minimumSerial: 7}
status: {serial: 2024010100}
`, `
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z}
spec: {domainName: example.org., minimumSerial: 7}
`},
	} {
		t.Run(what, func(t *testing.T) {
			becomes(t, c.after, c.before)
		})
	}
}

func TestConvertV0_refusesWhatItIsNot(t *testing.T) {
	for want, text := range map[string]string{
		"v1 is of no operator that is imported from; export the others alone": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
		"no kind Cluster": "{apiVersion: kubi.zone/v1alpha1, kind: Cluster, metadata: {name: x}}",
		"being deleted":   `{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: x, deletionTimestamp: "2024-01-01T00:00:00Z"}}`,
	} {
		if objects, message := converts(t, text); len(objects) > 0 || !strings.Contains(message, want) {
			t.Errorf("%s: %q, want %q", text, message, want)
		}
	}
}

// Entries that v0 served and the zone now lacks, or has with another TTL, count as missing. Additional entries are
// listed, but are no fault.
func TestCompare(t *testing.T) {
	zone := parse(t, `
kind: Zone
status:
  entries:
  - {fqdn: example.org., ttl: 60, class: IN, type: SOA, rdata: ns. host. 1 2 3 4 5}
  - {fqdn: same.example.org, ttl: 60, class: IN, type: A, rdata: 192.0.2.1}
  - {fqdn: slow.example.org., ttl: 60, class: IN, type: A, rdata: 192.0.2.1}
  - {fqdn: bad.example.org., ttl: 60, class: IN, type: A, rdata: 192.0.2.300}
`)[0]
	now := "example.org. 60 SOA ns. host. 2 2 3 4 5\nsame.example.org. 60 A 192.0.2.1\nslow.example.org. 300 A 192.0.2.1\n"
	lines, missing, err := Compare(ServedBefore(zone), strings.NewReader(now))
	message := strings.Join(lines, "\n")
	if err != nil || missing != 2 || !strings.Contains(message, "an entry that v0 served cannot be read") || !strings.HasSuffix(message, `
added: slow.example.org. 300 A 192.0.2.1
missing: slow.example.org. 60 A 192.0.2.1
compared with its custom resource: 1 entries as before, 1 added, 2 missing`) {
		t.Errorf("%d missing, %v: %s", missing, err, message)
	}
}
