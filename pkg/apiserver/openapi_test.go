// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/rdata"
	generatedopenapi "kubi.zone/kubizone/pkg/generated/openapi"
	"kubi.zone/kubizone/test/must"
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

func schemaOf(all map[string]spec.Schema, kind string) spec.Schema {
	if schema, ok := all[serverSchemas+kind]; ok {
		return schema
	}
	return all[ourSchemas+kind]
}

// checkSchema validates a value like an editor, for the subset of JSON Schema in use.
func checkSchema(all map[string]spec.Schema, schema spec.Schema, value any, path string) (wrong []string) {
	for _, one := range schema.AllOf {
		wrong = append(wrong, checkSchema(all, one, value, path)...)
	}
	if ref := schema.Ref.String(); ref != "" {
		wrong = append(wrong, checkSchema(all, all[strings.TrimPrefix(ref, "#")], value, path)...)
	}
	printf := func(format string, args ...any) { wrong = append(wrong, path+": "+fmt.Sprintf(format, args...)) }
	if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, value) {
		printf("%v is none of %v", value, schema.Enum)
	}
	switch value := value.(type) {
	case string:
		if schema.Pattern != "" && !regexp.MustCompile(schema.Pattern).MatchString(value) {
			printf("%q does not match %s", value, schema.Pattern)
		}
		if n := int64(utf8.RuneCountInString(value)); schema.MinLength != nil && n < *schema.MinLength || schema.MaxLength != nil && n > *schema.MaxLength {
			printf("has %d characters", n)
		}
	case float64:
		if schema.Minimum != nil && value < *schema.Minimum || schema.Maximum != nil && value > *schema.Maximum {
			printf("%v is out of range", value)
		}
	case []any:
		if schema.MaxItems != nil && int64(len(value)) > *schema.MaxItems {
			printf("has %d items", len(value))
		}
		for i, item := range value {
			if schema.Items != nil && schema.Items.Schema != nil {
				wrong = append(wrong, checkSchema(all, *schema.Items.Schema, item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		}
	case map[string]any:
		for _, required := range schema.Required {
			if _, ok := value[required]; !ok {
				printf("has no %s", required)
			}
		}
		for key, item := range value {
			if property, ok := schema.Properties[key]; ok {
				wrong = append(wrong, checkSchema(all, property, item, path+"."+key)...)
			}
		}
	}
	return wrong
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

// The schema accepts the examples, and every type in any case.
func TestOpenAPI_takesWhatIsRight(t *testing.T) {
	all := readSchemas()
	files, err := filepath.Glob("../../artifacts/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	kinds := map[string]bool{}
	for _, file := range append(files, "../../docs/fleet.md") {
		text := must.Get(os.ReadFile(file))(t)
		examples := []string{string(text)}
		if filepath.Ext(file) == ".md" {
			examples = nil
			for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
				examples = append(examples, block[1])
			}
		}
		for _, example := range examples {
			for _, one := range regexp.MustCompile(`(?m)^---\n`).Split(example, -1) {
				var object map[string]any
				must.Succeed(t, yaml.Unmarshal([]byte(one), &object))
				kind, _ := object["kind"].(string)
				kinds[kind] = true
				if wrong := checkSchema(all, schemaOf(all, kind), object, kind); len(wrong) > 0 {
					t.Errorf("%s: %q", file, wrong)
				}
			}
		}
	}
	for _, kind := range []string{"Record", "Zone", "DNSClass", "ClusterBind9Provider", "Bind9Instance"} {
		if !kinds[kind] {
			t.Errorf("no example is a %s", kind)
		}
	}
	for n := range 1 << 16 {
		for _, text := range []string{rdata.Type(n).String(), strings.ToLower(rdata.Type(n).String())} {
			if wrong := checkSchema(all, all[ourSchemas+"RecordSpec"], map[string]any{"domainName": "@", "type": text},
				""); len(wrong) > 0 {
				t.Fatalf("type %s: %q", text, wrong)
			}
		}
	}
	for _, name := range []string{"@", "*", "*.dev", "www.example.org.", ".", "0/25", "_sip._tcp", "bücher", "例え.テスト.", "www。example。org。"} {
		for _, kind := range []string{"Record", "Zone"} {
			if wrong := checkSchema(all, all[ourSchemas+kind+"Spec"].Properties["domainName"], name, kind); len(wrong) > 0 {
				t.Errorf("%q", wrong)
			}
		}
	}
}

func TestOpenAPI_findsTypos(t *testing.T) {
	all := readSchemas()
	record := func(fields string) string {
		return `{"metadata": {}, "spec": {"domainName": "www", "type": "A", ` + fields + `}}`
	}
	for _, test := range []struct{ kind, text, want string }{
		{"Record", record(`"ttl": -5`), "Record.spec.ttl: -5 is out of range"},
		{"Record", record(`"type": ""`), "Record.spec.type"},
		{"Record", record(`"type": "A "`), "Record.spec.type"},
		{"Record", record(`"class": "CH"`), "Record.spec.class"},
		{"Record", record(`"domainName": "two words"`), "Record.spec.domainName"},
		{"Record", record(`"view": "Not a label"`), "Record.spec.view"},
		{"Record", record(`"zoneRef": {"name": "example.org."}`), "Record.spec.zoneRef.name"},
		{"Record", record(`"zoneRef": {}`), "Record.spec.zoneRef: has no name"},
		{"Zone", `{"spec": {"domainName": "a.", "refresh": 0}}`, "Zone.spec.refresh"},
		{"Zone", `{"spec": {"domainName": "a.", "minimumSerial": 4294967296}}`, "Zone.spec.minimumSerial"},
		{"Zone", `{"spec": {"domainName": "a.", "deletionPolicy": "retain"}}`, "Zone.spec.deletionPolicy"},
		{"Zone", `{"spec": {"domainName": "a.", "delegations": [{"namespaces": ["Team A"]}]}}`, "Zone.spec.delegations[0].namespaces[0]"},
		{"Zone", `{"spec": {"domainName": "a.", "dnsClassRefs": [{"kind": "Class", "name": "a"}]}}`, "Zone.spec.dnsClassRefs[0].kind"},
		{"DNSClass", `{"spec": {"webhook": {"server": "hook.example"}}}`, "DNSClass.spec.webhook.server"},
		{"DNSClass", `{"spec": {"webhook": {"server": "https://hook.example", "timeoutSeconds": 31}}}`, "DNSClass.spec.webhook.timeoutSeconds"},
		{"ClusterBind9Provider", `{"spec": {"secondary": {"replicas": 101}}}`, "ClusterBind9Provider.spec.secondary.replicas: 101 is out of range"},
		{"Bind9Cluster", `{"spec": {"storage": {"type": "Disk"}}}`, "Bind9Cluster.spec.storage.type: Disk is none of"},
		{"Bind9Cluster", `{"spec": {"storage": {}}}`, "Bind9Cluster.spec.storage: has no type"},
		{"Bind9Cluster", `{"spec": {"config": {"allowQuery": [""]}}}`, "Bind9Cluster.spec.config.allowQuery[0]"},
		{"Bind9Instance", `{"spec": {"role": "primary"}}`, "Bind9Instance.spec.role: primary is none of"},
		{"Bind9Instance", `{"spec": {"role": "Primary", "replicas": 2}}`, "Bind9Instance.spec.replicas: 2 is out of range"},
		{"Bind9Instance", `{"spec": {"role": "Primary", "clusterRef": {}}}`, "Bind9Instance.spec.clusterRef: has no name"},
		{"Bind9Instance", `{"spec": {"role": "Secondary", "external": {"address": ""}}}`, "Bind9Instance.spec.external"},
	} {
		var value any
		must.Succeed(t, json.Unmarshal([]byte(test.text), &value))
		if wrong := checkSchema(all, schemaOf(all, test.kind), value, test.kind); len(wrong) == 0 ||
			!strings.HasPrefix(wrong[0], test.want) {
			t.Errorf("%s %s: %q, want %q", test.kind, test.text, wrong, test.want)
		}
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
