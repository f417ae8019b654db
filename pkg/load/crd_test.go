// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	read, refused := readManifests("f.yaml", []byte(text))
	if len(read) != 1 || len(refused) > 0 {
		t.Fatalf("%d objects, refused %v", len(read), refused)
	}
	return read[0].object
}

// L6: what belonged to v0's controllers goes, what people wrote stays.
func TestFromCustomResource_leavesTheControllersMarksBehind(t *testing.T) {
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
			o := objectOf(t, c.before)
			if reason, _ := fromCustomResource(o); reason != "" {
				t.Fatal(reason)
			}
			dropServerFields(o)
			if want := objectOf(t, c.after); !reflect.DeepEqual(o.Object, want.Object) {
				got, _ := yaml.Marshal(o.Object)
				t.Errorf("it became\n%s\nwant%s", got, c.after)
			}
		})
	}
}

func TestFromCustomResource_refusesWhatItIsNot(t *testing.T) {
	for want, text := range map[string]string{
		"no custom resource of kubizone": "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}",
		"no kind Cluster":                "{apiVersion: kubi.zone/v1alpha1, kind: Cluster, metadata: {name: x}}",
		"being deleted":                  `{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: x, deletionTimestamp: "2024-01-01T00:00:00Z"}}`,
	} {
		if reason, _ := fromCustomResource(objectOf(t, text)); !strings.Contains(reason, want) {
			t.Errorf("%s: %q, want %q", text, reason, want)
		}
	}
}

// The oldest object is applied first, whatever the order of the file.
func TestByOwner_keepsTheOrderOfThoseWhoWereThereFirst(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "all.yaml"), "")
	text := `
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: second, creationTimestamp: "2024-01-02T00:00:00Z"}, spec: {domainName: www, zoneRef: {name: z}}, status: {fqdn: www.example.org.}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: alone, creationTimestamp: "2024-01-03T00:00:00Z"}, spec: {domainName: ftp.example.org.}}
---
{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: first, creationTimestamp: "2024-01-01T00:00:00Z"}, spec: {domainName: www.example.org.}}
`
	read, _ := readManifests(path, []byte(text))
	for _, m := range read {
		m.keepServerFields()
	}
	var got []string
	for _, group := range byOwner(read) {
		var objects []string
		for _, m := range group {
			objects = append(objects, m.object.GetName())
		}
		got = append(got, strings.Join(objects, " "))
	}
	if want := []string{"first second", "alone"}; !reflect.DeepEqual(got, want) {
		t.Errorf("groups %q, want %q", got, want)
	}
}
