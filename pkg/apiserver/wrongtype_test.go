// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	restclient "k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/must"
)

const (
	aRecord = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"name":"www","namespace":"team"},` +
		`"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.1"}}`
	aZone = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"z","namespace":"team"},` +
		`"spec":{"domainName":"example.","delegations":[{"namespace":"team","records":[{"pattern":"*"}]}]}}`
)

type writer struct {
	*testing.T
	rest restclient.Interface
}

func (w writer) createAs(resource, media, body string, parameters ...string) error {
	return w.sendTo(w.rest.Post().SetHeader("Content-Type", media).Body([]byte(body)), resource, parameters...)
}

func (w writer) updateAs(resource, name, body string, parameters ...string) error {
	return w.sendTo(w.rest.Put().Name(name).SetHeader("Content-Type", "application/json").Body([]byte(body)), resource, parameters...)
}

func (w writer) patchAs(by types.PatchType, resource, name, body string, parameters ...string) error {
	parameters = append(parameters, "fieldManager=test")
	if by == types.ApplyYAMLPatchType {
		parameters = append(parameters, "force=true")
	}
	return w.sendTo(w.rest.Patch(by).Name(name).Body([]byte(body)), resource, parameters...)
}

func (w writer) sendTo(request *restclient.Request, resource string, parameters ...string) error {
	if resource != "dnsclasses" {
		request = request.Namespace("team")
	}
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		request = request.Param(name, value)
	}
	return request.Resource(resource).Do(w.Context()).Error()
}

func startWriter(t *testing.T) writer {
	w := writer{t, startWholeServer(t).RESTClient()}
	must.Succeed(t, w.createAs("zones", "application/json", aZone))
	must.Succeed(t, w.createAs("records", "application/json", aRecord))
	return w
}

// S5.13: every kind of write refuses a wrong type, a number out of range and an unknown field with the field, its
// value and the right form.
func TestWrite_namesTheFieldThatDoesNotFit_S5_13(t *testing.T) {
	w := startWriter(t)
	for _, test := range []struct{ resource, patch, want string }{
		{"records", `{"spec":{"ttl":"1h"}}`, `spec.ttl: got string "1h"; want a whole number of at most 2147483647, without quotes`},
		{"records", `{"spec":{"ttl":1.5}}`, `spec.ttl: got number 1.5; want a whole number`},
		{"records", `{"spec":{"ttl":99999999999}}`, `spec.ttl: got number 99999999999; want a whole number of at most 2147483647`},
		{"records", `{"spec":{"ttl":4294967396}}`, `spec.ttl: got number 4294967396; want a whole number`},
		{"records", `{"spec":{"rdata":10}}`, `spec.rdata: got number 10; want a string: put it into quotes`},
		{"records", `{"spec":{"values":"192.0.2.1"}}`, `spec.values: got string "192.0.2.1"; want a list: put it into [ ]`},
		{"records", `{"metadata":{"labels":{"n":1}}}`, `metadata.labels.n: got number 1; want a string: put it into quotes`},
		{"records", `{"spec":{"rdatta":"192.0.2.9"}}`, `spec.rdatta: unknown field; did you mean rdata?`},
		{"records", `{"spec":{"zoneRef":{"nmae":"z"}}}`, `spec.zoneRef.nmae: unknown field; did you mean name?`},
		{"zones", `{"spec":{"delegations":[{"namespace":"a"},{"records":[{"pattern":"*","types":"A"}]}]}}`,
			`spec.delegations[1].records[0].types: got string "A"; want a list: put it into [ ]`},
		{"zones", `{"spec":{"delegations":[{"records":[{"pattern":"*","shared":"yes"}]}]}}`,
			`spec.delegations[0].records[0].shared: got string "yes"; want true or false, without quotes`},
		{"zones", `{"spec":{"withdrawalGracePeriod":"a day"}}`, `spec.withdrawalGracePeriod: got string "a day"; want a duration`},
		{"zones", `{"spec":{"retry":true,"ttl":[]}}`, `spec.retry: got bool true; want a whole number`},
		{"zones", `{"spec":{"retry":true,"ttl":[]}}`, `spec.ttl: got list []; want a whole number`},
	} {
		kind, object, name := "Record", aRecord, "www"
		if test.resource == "zones" {
			kind, object, name = "Zone", aZone, "z"
		}
		merged := must.Get(mergePatch(object, test.patch))(t)
		applied := must.Get(mergePatch(`{"apiVersion":"kubi.zone/v1alpha1","kind":"`+kind+`"}`, test.patch))(t)
		var operations []string
		for field, value := range readFields(t, test.patch) {
			operations = append(operations, fmt.Sprintf(`{"op":"add","path":%q,"value":%s}`, field, value))
		}
		byOperations := "[" + strings.Join(operations, ",") + "]"
		const strict = "fieldValidation=Strict"
		answers := map[string]error{
			"update":          w.updateAs(test.resource, name, merged, strict),
			"create":          w.createAs(test.resource, "application/json", merged, strict),
			"create by YAML":  w.createAs(test.resource, "application/yaml", string(must.Get(yaml.JSONToYAML([]byte(merged)))(t)), strict),
			"merge patch":     w.patchAs(types.MergePatchType, test.resource, name, test.patch, strict),
			"strategic patch": w.patchAs(types.StrategicMergePatchType, test.resource, name, test.patch, strict),
			"JSON patch":      w.patchAs(types.JSONPatchType, test.resource, name, byOperations, strict),
			"apply":           w.patchAs(types.ApplyYAMLPatchType, test.resource, name, applied),
			"apply anew":      w.patchAs(types.ApplyYAMLPatchType, test.resource, "new", applied),
		}
		for how, err := range answers {
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 400 {
				t.Errorf("%s %s: %v\nwant %s", how, test.patch, err, test.want)
			}
		}
	}
	set := `{"apiVersion":"kubi.zone/v1alpha1","kind":"ChangeSet","spec":{"fieldManager":"test","items":[{"%s":%s}]}}`
	wrong := strings.Replace(aRecord, `"192.0.2.1"`, "false", 1)
	for _, way := range []string{"create", "apply"} {
		err := w.createAs("changesets", "application/json", fmt.Sprintf(set, way, wrong))
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spec.items[0] (www): ") ||
			!strings.Contains(err.Error(), "spec.rdata: got bool false; want a string") {
			t.Errorf("an item that is to %s: %v", way, err)
		}
	}
	for operations, want := range map[string]string{
		`[{"op":"copy","from":"/spec/rdata","path":"/spec/ttl"}]`: `spec.ttl: got string "192.0.2.1"; want a whole number`,
		`[{"op":"add","path":"/spec/values","value":["a"]},{"op":"add","path":"/spec/values/-","value":1}]`: `spec.values[1]: got ` +
			`number 1; want a string`,
	} {
		err := w.patchAs(types.JSONPatchType, "records", "www", operations)
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", operations, err, want)
		}
	}
}

// Writes check a patch for values of a wrong type. A patch that is refused for another reason still gets that reason,
// and a valid patch passes, also with directives such as `$patch`, which only look like fields. A new object must not
// have a resourceVersion, as with kinds of Kubernetes: a creation with a version is refused, also in a dry run (S7.3).
func TestWrite_judgesPatchesAndVersions(t *testing.T) {
	w := startWriter(t)
	operations := `[{"op":"replace","path":"/spec/rdata","value":"192.0.2.300"}]`
	if err := w.patchAs(types.JSONPatchType, "records", "www", operations); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), `spec.rdata: Invalid value: "192.0.2.300"`) {
		t.Error(err)
	}
	// Directives are not fields.
	must.Succeed(t, w.patchAs(types.StrategicMergePatchType, "records", "www", `{"metadata":{"labels":{"$patch":"replace","n":"1"},`+
		`"$deleteFromPrimitiveList/finalizers":["x"]},"spec":{"$retainKeys":["domainName","type","rdata"],"domainName":"www.example.",`+
		`"type":"A","rdata":"192.0.2.2","ttl":null}}`, "fieldValidation=Strict"))
	must.Succeed(t, w.patchAs(types.ApplyYAMLPatchType, "records", "www", `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record",`+
		`"metadata":{"creationTimestamp":null},"spec":{"domainName":"www.example.","type":"A","rdata":"192.0.2.2"}}`))
	must.Succeed(t, w.patchAs(types.MergePatchType, "records", "www", `{"spec":{"rdatta":"x"}}`, "fieldValidation=Ignore"))
	// Upstream's 500 would count as a fault of the server.
	versioned := strings.Replace(aZone, `"metadata":{`, `"metadata":{"resourceVersion":"x",`, 1)
	class := `{"apiVersion":"kubi.zone/v1alpha1","kind":"DNSClass","spec":{"views":["a","a"]}}`
	for body, err := range map[string]error{
		class:                     w.patchAs(types.ApplyYAMLPatchType, "dnsclasses", "c", class),
		`{"spec":{"$patch":"x"}}`: w.patchAs(types.StrategicMergePatchType, "records", "www", `{"spec":{"$patch":"x"}}`),
		"a version":               w.patchAs(types.MergePatchType, "records", "www", `{"metadata":{"resourceVersion":"x"}}`),
		"a version to update":     w.updateAs("zones", "z", versioned),
	} {
		if !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, version := range []string{"5", "x"} {
		body := strings.Replace(aRecord, `"metadata":{`, `"metadata":{"resourceVersion":"`+version+`",`, 1)
		for _, parameters := range [][]string{nil, {"dryRun=All"}} {
			if err := w.createAs("records", "application/json", body, parameters...); !apierrors.IsInvalid(err) ||
				!strings.Contains(err.Error(), "metadata.resourceVersion") {
				t.Errorf("version %s, %q: %v", version, parameters, err)
			}
		}
	}
}

// readFields returns the fields of a patch to depth two, as JSON pointers.
func readFields(t *testing.T, patch string) map[string]json.RawMessage {
	t.Helper()
	fields := map[string]json.RawMessage{}
	var top map[string]json.RawMessage
	must.Succeed(t, json.Unmarshal([]byte(patch), &top))
	for name, value := range top {
		var below map[string]json.RawMessage
		if json.Unmarshal(value, &below) != nil {
			fields["/"+name] = value
		}
		for field, value := range below {
			fields["/"+name+"/"+field] = value
		}
	}
	return fields
}

func mergePatch(object, patch string) (string, error) {
	var into, from map[string]any
	if err := yaml.Unmarshal([]byte(object), &into); err != nil {
		return "", err
	}
	if err := yaml.Unmarshal([]byte(patch), &from); err != nil {
		return "", err
	}
	for key, value := range from {
		before, own := into[key].(map[string]any)
		fields, foreign := value.(map[string]any)
		if !own || !foreign {
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
