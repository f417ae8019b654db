// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// The internal version is v1alpha1 under another name.
func TestNew_roundTrip(t *testing.T) {
	registry := New()
	codec := registry.Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)
	for _, text := range []string{
		`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","metadata":{"name":"z","namespace":"dns"},"spec":{"domainName":"example.org.","ttl":0,"refresh":1,"retry":2,"expire":3,"negativeResponseCache":0,"dnsClassRefs":[{"kind":"DNSClass","name":"x"}],"deletionPolicy":"Retain","withdrawalGracePeriod":"1h0m0s"},"status":{}}`,
		`{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","metadata":{"name":"r","namespace":"dns"},"spec":{"domainName":"@","zoneRef":{"name":"z"},"type":"mx","class":"IN","ttl":0,"values":["10 mail","20 mail"]},"status":{}}`,
	} {
		object, kind, err := codec.Decode([]byte(text), nil, nil)
		if err != nil || kind.Version != "v1alpha1" {
			t.Fatalf("%v, %v", kind, err)
		}
		encoded := must.Get(runtime.Encode(codec, object))(t)
		var want, got any
		if json.Unmarshal([]byte(text), &want) != nil || json.Unmarshal(encoded, &got) != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("got %s, want %s", encoded, text)
		}
	}
}

// Decoding sets defaults in absent fields only. An absent ttl stays absent, because the class of the zone may give a
// ttl later (S6.5, S3.5).
func TestNew_defaults(t *testing.T) {
	codec := New().Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)
	object, _, err := codec.Decode([]byte(`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","spec":{"dnsClassRefs":[{"name":"x"}]}}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := object.(*v1alpha1.Zone).Spec
	if spec.TTL != nil || *spec.Refresh != 86400 || *spec.Retry != 7200 || *spec.Expire != 3600000 || *spec.NegativeResponseCache != 360 || spec.DeletionPolicy != "Delete" || spec.WithdrawalGracePeriod.Duration != v1alpha1.DefaultWithdrawalGracePeriod || spec.DNSClassRefs[0].Kind != "DNSClass" {
		t.Errorf("defaults of a Zone: %+v", spec)
	}
	if object, _, err = codec.Decode([]byte(`{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","spec":{}}`), nil, nil); err != nil {
		t.Fatal(err)
	}
	if spec := object.(*v1alpha1.Record).Spec; spec.Class != "IN" || spec.TTL != nil {
		t.Errorf("defaults of a Record: %+v", spec)
	}
}

func TestNew_strict(t *testing.T) {
	registry := New()
	info, ok := runtime.SerializerInfoForMediaType(registry.Codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("no JSON")
	}
	decoder := registry.Codecs.DecoderToVersion(info.StrictSerializer, InternalGroupVersion)
	_, _, err := decoder.Decode([]byte(`{"kind":"Zone","apiVersion":"kubi.zone/v1alpha1","spec":{"domainname":"x"}}`), nil, nil)
	if !runtime.IsStrictDecodingError(err) {
		t.Errorf("strict decoding: %v", err)
	}
}

func TestNew_isNobodyElses(t *testing.T) {
	one, other := New(), New(func(scheme *runtime.Scheme) { scheme.AddUnversionedTypes(v1alpha1.SchemeGroupVersion, &metav1.Table{}) })
	if one.Scheme == other.Scheme || one.Scheme.Recognizes(v1alpha1.SchemeGroupVersion.WithKind("Table")) {
		t.Error("two registries share a scheme")
	}
}

func TestParameterCodec(t *testing.T) {
	codec := New().ParameterCodec
	var entries v1alpha1.ZoneEntriesOptions
	query := url.Values{"limit": {"5"}, "continue": {"c"}, "type": {"A"}, "name": {"www"}, "sources": {"true"}, "form": {"definition"}, "format": {"text"}, "includeObject": {"Object"}}
	must.Succeed(t, codec.DecodeParameters(query, v1alpha1.SchemeGroupVersion, &entries))
	if want := (v1alpha1.ZoneEntriesOptions{Limit: 5, Continue: "c", Type: "A", Name: "www", Sources: true, Form: "definition", Format: "text"}); entries != want {
		t.Errorf("options %+v", entries)
	}
	back := must.Get(codec.EncodeParameters(&entries, v1alpha1.SchemeGroupVersion))(t)
	if delete(query, "includeObject"); !reflect.DeepEqual(back, query) {
		t.Errorf("a client would ask %v, want %v", back, query)
	}
	var changes v1alpha1.ZoneChangesOptions
	if err := codec.DecodeParameters(url.Values{"since": {"4294967295"}, "until": {"3"}, "watch": {"true"}}, v1alpha1.SchemeGroupVersion, &changes); err != nil || changes.Since != 4294967295 || changes.Until != 3 || !changes.Watch {
		t.Errorf("%v, %+v", err, changes)
	}
	for _, bad := range []url.Values{{"since": {"x"}}, {"until": {"1.5"}}, {"sources": {"perhaps"}}, {"watch": {"2"}}} {
		if err := codec.DecodeParameters(bad, v1alpha1.SchemeGroupVersion, &changes); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

func TestFieldSelectors(t *testing.T) {
	scheme := New().Scheme
	label, value, err := scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind("Record"), "spec.type", "aaaa")
	if err != nil || label != "spec.type" || value != "AAAA" {
		t.Errorf("%s=%s %v", label, value, err)
	}
	for written, want := range map[string]string{"www.Example.org": "www.example.org.", "example.org.": "example.org.", "": "", ".": ".",
		"bücher.TEST": "xn--bcher-kva.test.", "*.Straße.test.": "*.xn--strae-oqa.test."} {
		for _, kind := range []string{"Record", "Zone"} {
			_, value, err = scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind(kind), "status.fqdn", written)
			if value != want || err != nil {
				t.Errorf("%s %q: %q, %v", kind, written, value, err)
			}
		}
	}
	record := v1alpha1.SchemeGroupVersion.WithKind("Record")
	_, _, err = scheme.ConvertFieldLabel(record, "status.fqdn", "a b")
	if err == nil || !strings.HasPrefix(err.Error(), "status.fqdn: name \"a b.\"") {
		t.Errorf("no name: %v", err)
	}
	for written, want := range map[string]string{"status.ready=false": "False", "status.ready=UNKNOWN": "Unknown",
		"status.adopted=false": "False", "status.adopted=True": "True", "status.withdrawn=true": "True"} {
		label, value, _ := strings.Cut(written, "=")
		if _, value, err = scheme.ConvertFieldLabel(record, label, value); value != want || err != nil {
			t.Errorf("%s: %q, %v", written, value, err)
		}
	}
	_, _, err = scheme.ConvertFieldLabel(record, "status.ready", "no")
	if want := `status.ready is not "no": use one of ["True" "False" "Unknown"]`; err == nil || err.Error() != want {
		t.Errorf("status.ready=no: %v", err)
	}
	if _, _, err := scheme.ConvertFieldLabel(v1alpha1.SchemeGroupVersion.WithKind("Zone"), "spec.type", "A"); err == nil {
		t.Error("a Zone has no type")
	}
}

func TestStorageCodec_keepsEveryField(t *testing.T) {
	registry := New()
	stored, text := registry.StorageCodec(), registry.Codecs.LegacyCodec(StoredVersions...)
	fill := randfill.New().NilChance(0.3).NumElements(1, 3).RandSource(rand.NewSource(1)).Funcs(
		// Some meta types hold more than they serialize.
		func(at *metav1.Time, c randfill.Continue) { at.Time = time.Unix(c.Int63n(1<<32), 0) },
		func(fields *metav1.FieldsV1, c randfill.Continue) { fields.SetRawBytes([]byte(`{"f:spec":{}}`)) },
		func(meta *metav1.TypeMeta, c randfill.Continue) {},
		func(quantity *resource.Quantity, c randfill.Continue) {
			*quantity = *resource.NewQuantity(c.Int63n(1<<40), resource.BinarySI)
		},
	)
	for i := range 500 {
		for _, object := range []runtime.Object{&v1alpha1.Zone{}, &v1alpha1.Record{}, &v1alpha1.Delegation{}, &v1alpha1.DNSClass{}, &v1alpha1.Delivery{},
			&bind9.ClusterBind9Provider{}, &bind9.Bind9Cluster{}, &bind9.Bind9Instance{}} {
			fill.Fill(object)
			data := must.Get(runtime.Encode(stored, object.DeepCopyObject()))(t)
			if !bytes.HasPrefix(data, []byte("k8s\x00")) && !bytes.HasPrefix(data, []byte("s2\x01")) {
				t.Fatalf("stored as %q, neither protobuf nor compressed", data[:min(len(data), 20)])
			}
			got := must.Get(runtime.Decode(stored, data))(t)
			json := must.Get(runtime.Encode(text, object.DeepCopyObject()))(t)
			want, err := runtime.Decode(stored, json) // JSON in etcd is read, too
			if err != nil {
				t.Fatal(err)
			}
			if !equality.Semantic.DeepEqual(got, want) {
				t.Fatalf("object %d: got %+v, want %+v", i, got, want)
			}
		}
	}
}

// Stored objects refer to the dictionary, which therefore never changes.
func TestStorageCodec_readsWhatWasStored(t *testing.T) {
	const digest = "f52cc90fb89c288299539172428fbe1b22cc6f3b094a48a45afc71b1ded34437"
	if got := sha256.Sum256([]byte(dictionary)); hex.EncodeToString(got[:]) != digest {
		t.Errorf("the dictionary has changed: its digest is %x", got)
	}
	const stored = "733201a0028a9e018cf7010a170a0377777712001a047465616d22002a0032003800420012cd010a107777772e2e780034120022" +
		"035458542a003a0042ab013994b115002011131500884c4a001a0c080012001a00280032004a001a002200"
	got := must.Get(runtime.Decode(New().StorageCodec(), must.Get(hex.DecodeString(stored))(t)))(t).(*v1alpha1.Record)
	if want := strings.Repeat("kubi.zone/delivery ", 9); got.Name != "www" || got.Spec.Type != "TXT" || got.Spec.Values[0] != want {
		t.Errorf("%+v", got)
	}
	if again := must.Get(runtime.Encode(New().StorageCodec(), got))(t); len(again) > len(stored)/2+20 {
		t.Errorf("stored in %d octets", len(again))
	}
}

// What a damaged or forged object in etcd makes the server allocate is bounded.
func TestStorageCodec_refusesWhatDoesNotDecompress(t *testing.T) {
	for what, data := range map[string]string{
		"nothing":         "s2\x01",
		"a cut object":    "s2\x01\x20\x10abcd",
		"too many octets": "s2\x01\xff\xff\xff\x7f\x00a",
	} {
		if got, err := runtime.Decode(New().StorageCodec(), []byte(data)); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
