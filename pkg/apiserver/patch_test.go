// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
)

const (
	aRecord = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"www","namespace":"team"},"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.1"}}`
	aZone   = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"z","namespace":"team"},"spec":{"domainName":"example.","delegations":[{"namespace":"team","records":[{"pattern":"*"}]}]}}`
)

// S5.13: a value of the wrong type, and a number that is too large for its field, is refused with the field, by
// whatever write it comes.
func TestWrite_namesTheFieldOfTheWrongType(t *testing.T) {
	client := startWholeServer(t)
	for resource, object := range map[string]string{"zones": aZone, "records": aRecord} {
		must.Succeed(t, client.RESTClient().Post().Namespace("team").Resource(resource).SetHeader("Content-Type", "application/json").Body(
			[]byte(object)).Do(t.Context()).Error())
	}
	for _, test := range []struct{ resource, patch, field string }{
		{"records", `{"spec":{"ttl":"1h"}}`, "spec.ttl of type int32"},
		{"records", `{"spec":{"ttl":1.5}}`, "spec.ttl of type int32"},
		{"records", `{"spec":{"ttl":99999999999}}`, "spec.ttl of type int32"},
		{"records", `{"spec":{"ttl":4294967396}}`, "spec.ttl of type int32"},
		{"records", `{"spec":{"rdata":10}}`, "spec.rdata of type string"},
		{"records", `{"spec":{"values":"192.0.2.1"}}`, "spec.values of type []string"},
		{"records", `{"spec":{"zoneRef":"z"}}`, "spec.zoneRef of type v1alpha1."},
		{"records", `{"metadata":{"labels":{"n":1}}}`, "metadata.labels of type string"},
		{"zones", `{"spec":{"delegations":[{"namespace":"a"},{"records":[{"pattern":"*","types":"A"}]}]}}`,
			"spec.delegations.records.types of type []string"},
		{"zones", `{"spec":{"delegations":[{"records":[{"pattern":"*","shared":"yes"}]}]}}`, "spec.delegations.records.shared of " +
			"type bool"},
		{"zones", `{"spec":{"withdrawalGracePeriod":3600}}`, "spec.withdrawalGracePeriod of type string"},
		{"zones", `{"spec":{"withdrawalGracePeriod":"a day"}}`, `invalid duration "a day"`},
	} {
		kind, object, name := "Record", aRecord, "www"
		if test.resource == "zones" {
			kind, object, name = "Zone", aZone, "z"
		}
		merged, wrong := mergePatch(object, test.patch)
		inYAML, again := yaml.JSONToYAML([]byte(merged))
		applied, further := mergePatch(`{"apiVersion":"kubi.zone/v1alpha1","kind":"`+kind+`"}`, test.patch)
		if wrong != nil || again != nil || further != nil {
			t.Fatal(wrong, again, further)
		}
		answers := func(how, begins string, err error) {
			t.Helper()
			if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusBadRequest ||
				!strings.HasPrefix(err.Error(), begins) || !strings.Contains(err.Error(), test.field) {
				t.Errorf("%s %s: %v\nwant %s", how, test.patch, err, test.field)
			}
		}
		rest := client.RESTClient()
		for media, body := range map[string][]byte{"application/json": []byte(merged), "application/yaml": inYAML} {
			begins := kind + ` in version "v1alpha1" cannot be handled as a ` + kind
			answers("create by "+media, begins, rest.Post().Namespace("team").Resource(test.resource).SetHeader("Content-Type", media).Body(
				body).Do(t.Context()).Error())
			answers("update by "+media, begins, rest.Put().Namespace("team").Resource(test.resource).Name(name).SetHeader("Content-Type",
				media).Param("fieldValidation", "Strict").Body(body).Do(t.Context()).Error())
		}
		for _, by := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType} {
			body := test.patch
			if by == types.ApplyYAMLPatchType {
				body = applied
			}
			request := rest.Patch(by).Namespace("team").Resource(test.resource).Name(name).Param("fieldManager", "test")
			if by == types.ApplyYAMLPatchType {
				request.Param("force", "true") // a conflict would be answered first
			}
			answers(string(by), kind+" cannot be read: ", request.Body([]byte(body)).Do(t.Context()).Error())
		}
	}
	for operations, field := range map[string]string{
		`[{"op":"replace","path":"/spec/ttl","value":"1h"}]`:                                             "spec.ttl of type int32",
		`[{"op":"add","path":"/spec/ttl","value":4294967396}]`:                                           "spec.ttl of type int32",
		`[{"op":"add","path":"/spec/values","value":[]},{"op":"add","path":"/spec/values/-","value":1}]`: "spec.values of type string",
		// A write that is refused for another reason gets that reason.
		`[{"op":"replace","path":"/spec/rdata","value":"192.0.2.300"}]`: `spec.rdata: Invalid value: "192.0.2.300"`,
	} {
		err := client.RESTClient().Patch(types.JSONPatchType).Namespace("team").Resource("records").Name("www").Body([]byte(operations)).Do(
			t.Context()).Error()
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", operations, err)
		}
	}
	// What fits is taken, directives of a strategic merge patch included.
	directive := `{"metadata":{"labels":{"$patch":"replace","n":"1"},"$deleteFromPrimitiveList/finalizers":["x"]},"spec":{"$retainKeys":["domainName","type","rdata"],"domainName":"www.example.","type":"A","rdata":"192.0.2.2","ttl":null}}`
	if err := client.RESTClient().Patch(types.StrategicMergePatchType).Namespace("team").Resource("records").Name("www").Param(
		"fieldValidation", "Strict").Body([]byte(directive)).Do(t.Context()).Error(); err != nil {
		t.Error("a directive:", err)
	}
	whole := `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"creationTimestamp":null},"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.2"}}`
	if err := client.RESTClient().Patch(types.ApplyYAMLPatchType).Namespace("team").Resource("records").Name("www").Param("fieldManager",
		"test").Param("force", "true").Body([]byte(whole)).Do(t.Context()).Error(); err != nil {
		t.Error("an apply:", err)
	}
}

// mergePatch puts a patch over an object, as texts.
func mergePatch(object, patch string) (string, error) {
	var into, from map[string]any
	if err := yaml.Unmarshal([]byte(object), &into); err != nil {
		return "", err
	}
	if err := yaml.Unmarshal([]byte(patch), &from); err != nil {
		return "", err
	}
	for key, value := range from {
		before, ours := into[key].(map[string]any)
		fields, theirs := value.(map[string]any)
		if !ours || !theirs {
			into[key] = value
			continue
		}
		for name, one := range fields {
			before[name] = one
		}
	}
	text, err := yaml.Marshal(into)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	return string(text), err
}
