// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decoding_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/decoding"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
)

// S5.13: each fault names field, value and allowed values.
func TestExplain_namesFieldAndTheRightValue_S5_13(t *testing.T) {
	zone, record := reflect.TypeFor[v1alpha1.Zone](), reflect.TypeFor[v1alpha1.Record]()
	class, cluster := reflect.TypeFor[v1alpha1.DNSClass](), reflect.TypeFor[bind9.Bind9Cluster]()
	for _, test := range []struct {
		of   reflect.Type
		text string
		want []string
	}{
		{record, "spec:\n  rdata: no\n  ttl: '300'\n", []string{
			`spec.rdata: got bool false; want a string: put it into quotes`,
			`spec.ttl: got string "300"; want a whole number of at most 2147483647, without quotes`}},
		{record, `{"spec":{"DomainName":"a","valus":[],"x":1}}`, []string{
			`spec.DomainName: unknown field; did you mean domainName?`,
			`spec.valus: unknown field; did you mean values?`,
			`spec.x: unknown field; the fields are domainName, view, zoneRef, type, class, ttl, rdata, values, description, expiresAt`}},
		{record, `{"spec":{"name":"www","recordTTL":60,"zone":"z","host":"a","target":"b"}}`, []string{
			`spec.host: unknown field; the fields are domainName, view, zoneRef, type, class, ttl, rdata, values, description, expiresAt`,
			`spec.name: unknown field; did you mean domainName?`,
			`spec.recordTTL: unknown field; did you mean ttl?`,
			`spec.target: unknown field`, // the fields are above
			`spec.zone: unknown field; did you mean zoneRef?`}},
		{record, `{"spec":{"tags":[],"text":"a","txt":"a"}}`, []string{
			`spec.tags: unknown field; the fields are domainName, view, zoneRef, type, class, ttl, rdata, values, description, expiresAt`,
			`spec.text: unknown field`, `spec.txt: unknown field`}},
		{record, `{"name":"www"}`, []string{`name: unknown field; the fields are kind, apiVersion, metadata, spec, status`}},
		{record, `{"spec":{"rdata":["192.0.2.1","192.0.2.2"],"ttl":"1h","zoneRef":"z"}}`, []string{
			`spec.rdata: got list ["192.0.2.1","192.0.2.2"]; want a string: a list belongs into values`,
			`spec.ttl: got string "1h"; want a whole number of at most 2147483647, without quotes: 3600`,
			`spec.zoneRef: got string "z"; want an object with name, namespace`}},
		{zone, `{"spec":{"contact":["a"],"nameServers":["ns1"],"domain":"a.","ttl":"10ms"}}`, []string{
			`spec.contact: got list ["a"]; want a string: put it into quotes`,
			`spec.domain: unknown field; did you mean domainName?`,
			`spec.nameServers[0]: got string "ns1"; want an object with name, addresses`,
			`spec.ttl: got string "10ms"; want a whole number of at most 2147483647, without quotes`}},
		{record, `{"metdata":{}, "kidn":"Record"}`, []string{
			`kidn: unknown field; did you mean kind?`, `metdata: unknown field; did you mean metadata?`}},
		{record, `{"spec":{"values":[1,{"a":1},["b"]]}}`, []string{
			`spec.values[0]: got number 1; want a string: put it into quotes`,
			`spec.values[1]: got object {"a":1}; want a string: put it into quotes`,
			`spec.values[2]: got list ["b"]; want a string: put it into quotes`}},
		{record, `[]`, []string{`the body: got list []; want an object with kind, apiVersion, metadata, spec, status`}},
		{zone, `{"spec":{"minimumSerial":1.5,"withdrawalGracePeriod":3600}}`, []string{
			`spec.minimumSerial: got number 1.5; want a whole number, without quotes`,
			`spec.withdrawalGracePeriod: got number 3600; want a duration such as "24h"`}},
		{class, `{"spec":{"webhook":{"tls":{"caBundle":"%"}}}}`, []string{`spec.webhook.tls.caBundle: got string "%"; want base64`}},
		{class, `{"spec":{"webhook":{"timeoutSeconds":"` + strings.Repeat("9", 99) + `"}}}`, []string{
			`spec.webhook.timeoutSeconds: got string "` + strings.Repeat("9", 59) + `; want a whole number of at most 2147483647, ` +
				`without quotes`}},
		{cluster, `{"spec":{"storage":{"capacity":["1Gi"]}}}`, []string{
			`spec.storage.capacity: got list ["1Gi"]; want a quantity such as "1Gi"`}},
		{record, `{"spec":{"ttl":null,"$retainKeys":["a"]},"metadata":{"labels":{"$patch":"replace"}}}`, nil},
		{record, `: not YAML: [`, nil},
	} {
		var got []string
		for _, fault := range decoding.Explain(decoding.Read([]byte(test.text)), test.of, "", true) {
			got = append(got, fault.Error())
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (- wanted)\n%s", test.text, d)
		}
	}
}

func TestExplain_namesTenFaultsAtMost(t *testing.T) {
	values := `{"spec":{"values":[` + strings.TrimSuffix(strings.Repeat("1,", 10_000), ",") + `]}}`
	if faults := decoding.Explain(decoding.Read([]byte(values)), reflect.TypeFor[v1alpha1.Record](), "", true); len(faults) != 10 {
		t.Errorf("%d faults", len(faults))
	}
}

// Explain finds a type error exactly if the decoder refuses the body.
func FuzzExplain(f *testing.F) {
	for _, text := range []string{`{"spec":{"ttl":1.0,"retry":1e2,"delegations":[{"records":[{"shared":true}]}]}}`,
		`{"spec":{"refresh":3000000000}}`, `{"spec":null}`, `[]`, `"x"`, `1`, `{"spec":{"SPEC":1}}`,
		`{"metadata":{"labels":{"a":1},"creationTimestamp":"2026-01-02T15:04:05Z","managedFields":[{"fieldsV1":{"f:a":{}}}]}}`,
		`{"spec":{"withdrawalGracePeriod":"1h","limits":{"maxDeletePercent":"1"}}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || strings.TrimSpace(text) == "null" {
			return
		}
		if duplicates, _ := kjson.UnmarshalStrict([]byte(text), &map[string]any{}); len(duplicates) > 0 {
			return // of duplicate keys the last counts
		}
		wrong := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &v1alpha1.Zone{})
		faults := decoding.Explain(decoding.Read([]byte(text)), reflect.TypeFor[v1alpha1.Zone](), "", false)
		if (wrong != nil) != (len(faults) > 0) {
			t.Errorf("%s: the decoder says %v, Explain %v", text, wrong, faults)
		}
	})
}

// BenchmarkDecode compares the codecs' decoder with the explaining decoder.
func BenchmarkDecode(b *testing.B) {
	registry := install.New()
	info, _ := runtime.SerializerInfoForMediaType(registry.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	text := []byte(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"www","namespace":"team"},` +
		`"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.1","ttl":300}}`)
	for name, serializer := range map[string]runtime.NegotiatedSerializer{"codecs": registry.Codecs,
		"explained": decoding.Serializer{NegotiatedSerializer: registry.Codecs, Creater: registry.Scheme}} {
		decoder := serializer.DecoderToVersion(info.StrictSerializer, install.InternalGroupVersion)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := decoder.Decode(text, nil, &v1alpha1.Record{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
