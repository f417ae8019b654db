// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	generatedopenapi "kubi.zone/kubizone/pkg/apis/openapi"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func readSchemas() map[string]spec.Schema {
	found := map[string]spec.Schema{}
	for name, definition := range generatedopenapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#" + path) }) {
		found[name] = definition.Schema
	}
	return found
}

// Prefixes of both groups' schema names.
var (
	ourSchemas    = strings.TrimSuffix(v1alpha1.Record{}.OpenAPIModelName(), "Record")
	serverSchemas = strings.TrimSuffix(bind9.Bind9Cluster{}.OpenAPIModelName(), "Bind9Cluster")
)

// trimSchema removes the group's prefix from a schema's name; false: of neither group.
func trimSchema(name string) (string, bool) {
	for _, group := range []string{ourSchemas, serverSchemas} {
		if kind, own := strings.CutPrefix(name, group); own {
			return kind, true
		}
	}
	return name, false
}

// In the OpenAPI schema, every number that users write has a minimum and a maximum, and every required text has a
// minimal length, a pattern or a fixed set of values. So a client can find a mistake before it sends the object.
func TestOpenAPI_boundsWhatUsersWrite(t *testing.T) {
	all := readSchemas()
	var walk func(schema spec.Schema, path string)
	walk = func(schema spec.Schema, path string) {
		if name := strings.TrimPrefix(schema.Ref.String(), "#"); name != "" {
			if _, own := trimSchema(name); own {
				walk(all[name], path)
			}
		}
		for _, one := range schema.AllOf {
			walk(one, path)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			walk(*schema.Items.Schema, path+"[]")
		}
		for name, property := range schema.Properties {
			at := path + "." + name
			if property.Type.Contains("integer") && (property.Minimum == nil || property.Maximum == nil) {
				t.Errorf("%s has no range", at)
			}
			if property.Type.Contains("string") && slices.Contains(schema.Required, name) && property.MinLength == nil && property.Pattern == "" && len(property.Enum) == 0 {
				t.Errorf("%s is required and may be empty", at)
			}
			walk(property, at)
		}
	}
	for _, kind := range []string{ourSchemas + "Record", ourSchemas + "Zone", ourSchemas + "Delegation", ourSchemas + "DNSClass", serverSchemas + "ClusterBind9Provider", serverSchemas + "Bind9Cluster", serverSchemas + "Bind9Instance"} {
		definition, ok := all[kind+"Spec"]
		if !ok {
			t.Fatalf("no schema of %sSpec among %d", kind, len(all))
		}
		walk(definition, kind)
	}
}

// The schema accepts every type in any case, and names as users write them. (TestRelease of test/release judges whole
// objects by kubeconform.)
func TestOpenAPI_takesTypesAndNames(t *testing.T) {
	all := readSchemas()
	check := func(kind, field string, texts ...string) {
		property := all[ourSchemas+kind+"Spec"].Properties[field]
		pattern := regexp.MustCompile(property.Pattern)
		for _, text := range texts {
			if n := int64(utf8.RuneCountInString(text)); property.Pattern == "" || !pattern.MatchString(text) ||
				property.MaxLength != nil && n > *property.MaxLength || property.MinLength != nil && n < *property.MinLength {
				t.Errorf("%s.%s: %q does not match %s", kind, field, text, property.Pattern)
			}
		}
	}
	for n := range 1 << 16 {
		check("Record", "type", rdata.Type(n).String(), strings.ToLower(rdata.Type(n).String()))
	}
	for _, kind := range []string{"Record", "Zone"} {
		check(kind, "domainName", "@", "*", "*.dev", "www.example.org.", ".", "0/25", "_sip._tcp", "bücher", "例え.テスト.", "www。example。org。")
	}
}

// A field with a fixed set of values lists them as an enum in the OpenAPI schema, so that editors and `kubectl explain`
// show them.
func TestOpenAPI_listsTheWordsOfAField(t *testing.T) {
	all, have := readSchemas(), map[string]string{}
	for name, schema := range all {
		kind, own := trimSchema(name)
		if !own {
			continue
		}
		for field, property := range schema.Properties {
			if len(property.Enum) > 0 {
				have[kind+"."+field] = fmt.Sprint(property.Enum)
			}
			if strings.Contains(property.Pattern, "|") && !strings.ContainsAny(property.Pattern, "[.") {
				t.Errorf("%s.%s has a pattern of words: %s", name, field, property.Pattern)
			}
		}
	}
	want := map[string]string{
		"Bind9Provider.mode": "[Catalog Transfer Update]", "Agent.kind": "[Bindcar Kubizone]",
		"Bind9InstanceSpec.role": "[Primary Secondary Signer]",
		"Image.pullPolicy":       "[Always IfNotPresent Never]", "TSIGKey.algorithm": "[hmac-sha256 hmac-sha384 hmac-sha512]",
		"Service.externalTrafficPolicy": "[Cluster Local]", "Service.type": "[ClusterIP LoadBalancer NodePort]", "Storage.type": "[EmptyDir PersistentVolumeClaim]",
		"Toleration.effect": "[NoExecute NoSchedule PreferNoSchedule]", "Toleration.operator": "[Equal Exists]",
		"ClassHealth.status": "[Healthy Unhealthy Unknown]", "DeliveryServer.content": "[Differs NotCompared]",
		"DeliveryServer.state": "[Ahead Behind Current Failed]", "DNSClassReference.kind": "[Bind9Cluster DNSClass]",
		"HMACAuth.algorithm": "[SHA256 SHA512]", "RFC2136Provider.foreignRecords": "[Keep Replace]", "RecordSpec.class": "[IN]", "Secondary.catalog": "[Follow Ignore]",
		"WebhookProvider.apexNS": "[Deliver Skip]", "UpdateKeySpec.transfer": "[None Own Zone]",
		"NameReviewStatus.claimed": "[Another Mine Unclaimed]",
		"DNSSECPolicy.algorithm":   "[ECDSAP256SHA256 ECDSAP384SHA384 ED25519 RSASHA256]",
		"ZoneDNSSECStatus.phase":   "[Expiring Moving Returning Signed Signing Withdrawing]", "ZoneSpec.deletionPolicy": "[Delete Retain]",
	}
	if !maps.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}
