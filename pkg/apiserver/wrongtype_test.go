// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	aRecord = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"www","namespace":"team"},"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.1"}}`
	aZone   = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"z","namespace":"team"},"spec":{"domainName":"example.","delegations":[{"namespace":"team","records":[{"pattern":"*"}]}]}}`
)

// S5.2: a value of the wrong type is answered with the field, what it has and what it takes, by whatever write it
// comes: not in words of Go, nor with the whole object.
func TestWrite_namesTheFieldOfTheWrongType(t *testing.T) {
	client := whole(t)
	all := []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType}
	of := func(resource, object string) {
		t.Helper()
		if err := client.RESTClient().Post().Namespace("team").Resource(resource).SetHeader("Content-Type", "application/json").Body([]byte(object)).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	of("zones", aZone)
	of("records", aRecord)
	for _, test := range []struct{ resource, patch, field, says string }{
		{"records", `{"spec":{"ttl":"1h"}}`, "spec.ttl", `takes a whole number, and has the text "1h"`},
		{"records", `{"spec":{"ttl":"300"}}`, "spec.ttl", `takes a whole number: leave the quotes away, and has the text "300"`},
		{"records", `{"spec":{"ttl":1.5}}`, "spec.ttl", `takes a whole number, and has the number 1.5`},
		{"records", `{"spec":{"ttl":99999999999}}`, "spec.ttl", `takes a whole number of at most 32 bits, and has the number 99999999999`},
		{"records", `{"spec":{"rdata":10}}`, "spec.rdata", `takes a text: put it into quotes, and has the number 10`},
		{"records", `{"spec":{"domainName":true}}`, "spec.domainName", `takes a text: put it into quotes, and has true`},
		{"records", `{"spec":{"values":"192.0.2.1"}}`, "spec.values", `takes a list: put this one into [ ], and has the text "192.0.2.1"`},
		{"records", `{"spec":{"values":["192.0.2.1",{"a":1}]}}`, "spec.values[1]", `takes a text, and has an object`},
		{"records", `{"spec":{"zoneRef":"z"}}`, "spec.zoneRef", `takes an object, and has the text "z"`},
		{"records", `{"spec":["a"]}`, "spec", `takes an object, and has a list`},
		{"records", `{"metadata":{"labels":{"n":1}}}`, "metadata.labels[n]", `takes a text: put it into quotes, and has the number 1`},
		{"zones", `{"spec":{"delegations":[{"namespace":"a"},{"records":[{"pattern":"*","types":"A"}]}]}}`, "spec.delegations[1].records[0].types", `takes a list: put this one into [ ], and has the text "A"`},
		{"zones", `{"spec":{"delegations":[{"records":[{"pattern":"*","shared":"yes"}]}]}}`, "spec.delegations[0].records[0].shared", `takes true or false, without quotes, and has the text "yes"`},
		{"zones", `{"spec":{"limits":{"maxDeletePercent":"half"}}}`, "spec.limits.maxDeletePercent", `takes a whole number, and has the text "half"`},
		{"zones", `{"spec":{"withdrawalGracePeriod":3600}}`, "spec.withdrawalGracePeriod", `takes a duration, such as "24h" or "90s", and has the number 3600`},
		{"zones", `{"spec":{"withdrawalGracePeriod":"a day"}}`, "spec.withdrawalGracePeriod", `takes a duration, such as "24h" or "90s", and has the text "a day"`},
		{"zones", `{"spec":{"ttl":"1h","retry":"` + strings.Repeat("9", 90) + `"}}`, "spec.retry", `takes a whole number, and has a text that begins with "` + strings.Repeat("9", 40) + `"; spec.ttl takes a whole number, and has the text "1h"`},
	} {
		kind, object, name := "Record", aRecord, "www"
		if test.resource == "zones" {
			kind, object, name = "Zone", aZone, "z"
		}
		want := kind + " cannot be read: " + test.field + " " + test.says
		merged, wrong := merge(object, test.patch)
		inYAML, again := yaml.JSONToYAML([]byte(merged))
		applied, further := merge(`{"apiVersion":"kubi.zone/v1alpha1","kind":"`+kind+`"}`, test.patch)
		if wrong != nil || again != nil || further != nil {
			t.Fatal(wrong, again, further)
		}
		answers := func(how string, err error) {
			t.Helper()
			status, ok := err.(apierrors.APIStatus)
			if !ok || status.Status().Code != http.StatusBadRequest || status.Status().Message != want {
				t.Errorf("%s %s: %v\nwant %s", how, test.patch, err, want)
				return
			}
			if causes := status.Status().Details.Causes; len(causes) == 0 || causes[0].Field != test.field || causes[0].Type != metav1.CauseTypeTypeInvalid {
				t.Errorf("%s %s: causes %+v", how, test.patch, causes)
			}
		}
		rest := client.RESTClient()
		for media, body := range map[string][]byte{"application/json": []byte(merged), "application/yaml": inYAML} {
			answers("create by "+media, rest.Post().Namespace("team").Resource(test.resource).SetHeader("Content-Type", media).Body(body).Do(t.Context()).Error())
			answers("update by "+media, rest.Put().Namespace("team").Resource(test.resource).Name(name).SetHeader("Content-Type", media).Param("fieldValidation", "Strict").Body(body).Do(t.Context()).Error())
		}
		for _, by := range all {
			body := test.patch
			if by == types.ApplyYAMLPatchType {
				body = applied
			}
			request := rest.Patch(by).Namespace("team").Resource(test.resource).Name(name).Param("fieldManager", "test")
			if by == types.ApplyYAMLPatchType {
				request.Param("force", "true") // a conflict would be answered first
			}
			answers(string(by), request.Body([]byte(body)).Do(t.Context()).Error())
		}
	}
	operations := func(text string) string {
		t.Helper()
		err := client.RESTClient().Patch(types.JSONPatchType).Namespace("team").Resource("records").Name("www").Body([]byte(text)).Do(t.Context()).Error()
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if said, want := operations(`[{"op":"replace","path":"/spec/ttl","value":"1h"}]`), `Record cannot be read: spec.ttl takes a whole number, and has the text "1h"`; said != want {
		t.Errorf("%s, want %s", said, want)
	}
	if said, want := operations(`[{"op":"add","path":"/spec/values","value":[]},{"op":"add","path":"/spec/values/-","value":1}]`), `Record cannot be read: spec.values[0] takes a text: put it into quotes, and has the number 1`; said != want {
		t.Errorf("%s, want %s", said, want)
	}
	// A write that is refused for another reason gets that reason.
	if said := operations(`[{"op":"replace","path":"/spec/rdata","value":"192.0.2.300"}]`); !strings.Contains(said, `spec.rdata: Invalid value: "192.0.2.300"`) {
		t.Error(said)
	}
	if said := operations(`[{"op":"replace","path":"/spec/rdata","value":"192.0.2.3"}]`); said != "" {
		t.Error(said)
	}
	// A body that is longer is refused in the words of the generic server.
	long, err := merge(aRecord, `{"spec":{"ttl":"1h","description":"`+strings.Repeat("x", maxKeptBody)+`"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.RESTClient().Post().Namespace("team").Resource("records").SetHeader("Content-Type", "application/json").Body([]byte(long)).Do(t.Context()).Error(); !apierrors.IsBadRequest(err) {
		t.Error(err)
	}
}

// merge puts a patch over an object, as texts.
func merge(object, patch string) (string, error) {
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

// Objects of our own clients fit, for every field that a kind has.
func TestWrongTypes_ofWhatFits(t *testing.T) {
	for _, text := range []string{aRecord, aZone, `{"metadata":{"creationTimestamp":null,"managedFields":[{"fieldsV1":{"f:spec":{}},"time":"2026-01-02T15:04:05Z"}]},"spec":{"$patch":"replace","ttl":null,"class":"IN"}}`, `{"spec":{"ttl":3e2}}`, `{"spec":{"ttl":300.0}}`, `[]`, `"text"`, `{`} {
		if wrong := wrongTypes([]byte(text), "application/json", reflect.TypeFor[v1alpha1.Record](), false); len(wrong) > 0 {
			t.Errorf("%s: %v", text, wrong)
		}
	}
}

// An unknown field is refused where the client asks for that, with the field that was meant, and once; a directive of
// a patch is none.
func TestWrite_namesTheFieldThatWasMeant(t *testing.T) {
	client := whole(t)
	if err := client.RESTClient().Post().Namespace("team").Resource("zones").SetHeader("Content-Type", "application/json").Body([]byte(aZone)).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ resource, with, says string }{
		{"records", `{"spec":{"tll":300}}`, `unknown field "spec.tll", did you mean ttl?`},
		{"records", `{"spec":{"zoneRef":{"nmae":"z"},"whatever":1}}`, `unknown field "spec.whatever"; unknown field "spec.zoneRef.nmae", did you mean name?`},
		{"records", `{"metdata":{}}`, `unknown field "metdata", did you mean metadata?`},
		{"zones", `{"spec":{"delegations":[{"namespace":"a","record":[{"pattern":"*"}]}]}}`, `unknown field "spec.delegations[0].record", did you mean records?`},
		{"zones", `{"spec":{"DomainName":"example.","limits":{"maxDeletePercent":"half"}}}`, `unknown field "spec.DomainName", did you mean domainName?; spec.limits.maxDeletePercent takes a whole number, and has the text "half"`},
	} {
		kind, object := "Record", aRecord
		if test.resource == "zones" {
			kind, object = "Zone", strings.Replace(aZone, `"z"`, `"other"`, 1)
		}
		body, err := merge(object, test.with)
		if err != nil {
			t.Fatal(err)
		}
		err = client.RESTClient().Post().Namespace("team").Resource(test.resource).SetHeader("Content-Type", "application/json").Param("fieldValidation", "Strict").Body([]byte(body)).Do(t.Context()).Error()
		if want := kind + " cannot be read: " + test.says; err == nil || err.Error() != want || !apierrors.IsBadRequest(err) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	body, err := merge(aRecord, `{"spec":{"tll":300}}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.RESTClient().Post().Namespace("team").Resource("records").SetHeader("Content-Type", "application/json").Param("fieldValidation", "Ignore").Body([]byte(body)).Do(t.Context()).Error(); err != nil {
		t.Error("not strict:", err)
	}
	directive := `{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]},"spec":{"$retainKeys":["domainName","type","rdata"],"domainName":"www.example.","type":"A","rdata":"192.0.2.2"}}`
	if err := client.RESTClient().Patch(types.StrategicMergePatchType).Namespace("team").Resource("records").Name("www").Param("fieldValidation", "Strict").Body([]byte(directive)).Do(t.Context()).Error(); err != nil {
		t.Error("a directive:", err)
	}
}

// A 500 of a write whose outcome is not known stays one, whatever its body has.
func TestHeldRefusal_keepsOtherFailures(t *testing.T) {
	for text, want := range map[string]bool{"failed to create typed patch object (a/b): .spec.ttl: expected numeric": true, "failed to convert new object (a/b): x": true, "whether it was written is not known": false} {
		held := &heldRefusal{ResponseWriter: httptest.NewRecorder()}
		held.WriteHeader(http.StatusInternalServerError)
		_, _ = held.Write([]byte(text))
		if held.refusesBody() != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}
