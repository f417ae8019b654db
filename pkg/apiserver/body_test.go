// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/test/must"
)

// S5.12: every kind of write refuses a body beyond the work of any object before decoding. The largest object fits in
// its longest JSON form.
func TestWrite_boundsItsBody_S5_12(t *testing.T) {
	client := startWholeServer(t)
	send := func(verb, media, body string) error {
		request := client.RESTClient().Verb(verb).Namespace("team").Resource("records").SetHeader("Content-Type", media).Body([]byte(body))
		if verb == "PATCH" {
			request = request.Name("www").Param("fieldManager", "test")
		}
		return request.Do(t.Context()).Error()
	}
	const inJSON = "application/json"
	must.Succeed(t, send("POST", inJSON, aRecord))
	annotated := func(octets int, text string) string {
		return strings.Replace(aRecord, `"metadata":{`, `"metadata":{"annotations":{"a":"`+strings.Repeat(text, octets)+`"},`, 1)
	}
	nested := func(levels int) string { return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) }
	operations := func(n int) string {
		return "[" + strings.Repeat(`{"op":"test","path":"/spec/type","value":"A"},`, n-1) + `{"op":"add","path":"/metadata/labels","value":{}}]`
	}
	labelled := func(n int) string {
		var labels []string
		for i := range n {
			labels = append(labels, fmt.Sprintf(`"l%d": ""`, i))
		}
		return `{"metadata":{"labels":{` + strings.Join(labels, ", ") + `}}}`
	}
	const manyEntries = "a list or object in a write of records has at most 10000 entries (S5.12)"
	for what, test := range map[string]struct {
		verb, media, body string
		code              int32 // 0: allowed
		want              string
	}{
		"the longest form of much": {"PUT", inJSON, annotated(79<<10, `\u003c`), 0, ""},
		"much more":                {"POST", inJSON, annotated(86<<10, `\u003c`), http.StatusRequestEntityTooLarge, "at most 512 KiB as it is sent (S5.12): write several objects"},
		"blanks":                   {"PATCH", string(types.MergePatchType), "{}" + strings.Repeat(" ", maxBody), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"of octets":                {"POST", runtime.ContentTypeProtobuf, strings.Repeat("x", maxBody+1), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"a long text to apply":     {"PATCH", string(types.ApplyYAMLPatchType), "# " + strings.Repeat("x", maxBody), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"sixty levels":             {"PATCH", string(types.MergePatchType), `{"x":` + nested(maxDepth-1) + `}`, 0, ""},
		"deeper": {"PATCH", string(types.MergePatchType), `{"x":` + nested(maxDepth) + `}`, http.StatusBadRequest,
			"a write of records cannot be read: lists and objects in it are nested deeper than 64 levels (S5.12)"},
		"much deeper":           {"PATCH", string(types.MergePatchType), `{"x":` + nested(9000) + `}`, http.StatusBadRequest, "deeper than 64"},
		"strategically":         {"PATCH", string(types.StrategicMergePatchType), `{"x":` + nested(9000) + `}`, http.StatusBadRequest, "deeper than 64"},
		"by an operation":       {"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/x","value":` + nested(9000) + `}]`, http.StatusBadRequest, "deeper than 64"},
		"as it is made":         {"POST", inJSON, strings.Replace(aRecord, "{", `{"x":`+nested(9000)+",", 1), http.StatusBadRequest, "deeper than 64"},
		"brackets in a text":    {"PATCH", string(types.MergePatchType), `{"metadata":{"annotations":{"a":"\"` + strings.Repeat("[{", 1000) + `\\"}}}`, 0, ""},
		"a thousand operations": {"PATCH", string(types.JSONPatchType), operations(maxOperations), 0, ""},
		"one more": {"PATCH", string(types.JSONPatchType), operations(maxOperations + 1), http.StatusRequestEntityTooLarge,
			"a JSON patch of records has at most 1000 operations (S5.12): replace the whole field"},
		"labels enough": {"PATCH", string(types.MergePatchType), labelled(maxEntries), http.StatusUnprocessableEntity,
			"metadata"},
		"more labels": {"PATCH", string(types.MergePatchType), labelled(maxEntries + 1), http.StatusRequestEntityTooLarge,
			manyEntries},
		"applied": {"PATCH", string(types.ApplyYAMLPatchType), labelled(maxEntries + 1), http.StatusRequestEntityTooLarge,
			manyEntries},
		"in YAML": {"POST", runtime.ContentTypeYAML, labelled(maxEntries + 1), http.StatusRequestEntityTooLarge,
			manyEntries},
		"a long list": {"PATCH", string(types.ApplyYAMLPatchType), "x: [" + strings.Repeat("1,", maxEntries) + "1]",
			http.StatusRequestEntityTooLarge, manyEntries},
		"parameters of the type": {"PATCH", string(types.JSONPatchType) + ";a=1;a=2", operations(maxOperations + 1),
			http.StatusRequestEntityTooLarge, "at most 1000 operations"},
	} {
		err := send(test.verb, test.media, test.body)
		if test.verb == "PUT" {
			err = client.RESTClient().Put().Namespace("team").Resource("records").Name("www").SetHeader("Content-Type", test.media).Body([]byte(test.body)).Do(t.Context()).Error()
		}
		if test.code == 0 && err == nil {
			continue
		}
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != test.code || !strings.Contains(status.Status().Message, test.want) || len(status.Status().Message) > 300 {
			t.Errorf("%s: %.300v, want %d %s", what, err, test.code, test.want)
		} else if rule := refusal.Of(err)[0].Rule; strings.Contains(err.Error(), "S5.12") != (rule == "S5.12") {
			t.Errorf("%s: %.300v: the rule is %q", what, err, rule)
		}
	}
}

// A YAML alias repeats a text that is written once, so a small body can become a huge object. Requests with aliases are
// therefore refused, in every kind of body and under every spelling of the content type (S5.12).
func TestBody_hasNoAliases_S5_12(t *testing.T) {
	client := startWholeServer(t).RESTClient()
	const inYAML, applied = runtime.ContentTypeYAML, string(types.ApplyYAMLPatchType)
	const aliases = "metadata: {name: www, annotations: {a: &a text}}\nx: [*a, *a]\n"
	record := "apiVersion: kubi.zone/v1alpha1\nkind: Record\n" + aliases
	for what, request := range map[string]*rest.Request{
		"create": client.Post().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body([]byte(record)),
		"with a parameter": client.Post().Namespace("team").Resource("records").SetHeader("Content-Type",
			"Application/YAML; charset=utf-8").Body([]byte(record)),
		"apply": client.Patch(types.ApplyYAMLPatchType).Namespace("team").Resource("records").Name("www").Param(
			"fieldManager", "test").Body([]byte(record)),
		"apply by name": client.Patch(types.ApplyYAMLPatchType).Namespace("team").Resource("records").Name("www").SetHeader(
			"Content-Type", applied+";a=1;a=2").Param("fieldManager", "test").Body([]byte(record)),
		"delete": client.Delete().Namespace("team").Resource("records").Name("www").SetHeader("Content-Type", inYAML).Body(
			[]byte(aliases)),
		"delete many":  client.Delete().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body([]byte(aliases)),
		"a change set": client.Post().Namespace("team").Resource("changesets").SetHeader("Content-Type", inYAML).Body([]byte(aliases)),
		"a delivery":   client.Post().Namespace("team").Resource("deliveries").SetHeader("Content-Type", inYAML).Body([]byte(aliases)),
		"a key by an alias": client.Post().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body(
			[]byte("a: &a b\nx:\n  *a : c\n")),
		"a merge": client.Post().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body(
			[]byte("a: &a {b: c}\nx:\n  <<: *a\n")),
	} {
		err := request.Do(t.Context()).Error()
		if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "*a; aliases are not taken (S5.12): write the value out") ||
			refusal.Of(err)[0].Rule != "S5.12" {
			t.Errorf("%s: %v", what, err)
		}
	}
	quoted := strings.Replace(aRecord, `"metadata":{`, `"metadata":{"annotations":{"a":"&a","b":"*a"},`, 1) + "\n# &a *a\n"
	if err := client.Post().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body([]byte(quoted)).Do(
		t.Context()).Error(); err != nil {
		t.Error(err)
	}
	deep := "x: " + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)
	if err := client.Post().Namespace("team").Resource("records").SetHeader("Content-Type", inYAML).Body([]byte(deep)).Do(
		t.Context()).Error(); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "deeper than 64") {
		t.Errorf("deep: %v", err)
	}
}

// The limit of 512 KiB for a request also applies to bodies that are no stored object: a patch of `scale`, the options
// of a deletion, an access review (S5.12).
func TestBody_ofAnyRequestIsBounded_S5_12(t *testing.T) {
	client := startWholeServer(t).RESTClient()
	long := []byte("{}" + strings.Repeat(" ", maxBody))
	for what, request := range map[string]*rest.Request{
		"a scale":    client.Patch(types.MergePatchType).AbsPath("/apis/bind9.kubi.zone/v1alpha1/namespaces/team/bind9clusters/c/scale"),
		"a deletion": client.Delete().Namespace("team").Resource("records").Name("www").SetHeader("Content-Type", "application/json"),
		"a review": client.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").SetHeader("Content-Type",
			"application/json"),
	} {
		if err := request.Body(long).Do(t.Context()).Error(); !apierrors.IsRequestEntityTooLargeError(err) ||
			!strings.Contains(err.Error(), "at most 512 KiB") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestJSONPlace_inPieces(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                              "1 0 0",
		`[{},[{}],"[{\"[{\\",{"a":"\\"}]`: "3 3 4",
		`{"a":[1,2,{"b":"]"}]}`:           "3 1 3",
		`[[1,",,,"],[1,2,3],[1,2],0]`:     "2 3 4",
		`"[[[",,`:                         "0 0 0",
		`]],,[,`:                          "0 0 0",
	} {
		var place jsonPlace
		reader := iotest.OneByteReader(strings.NewReader(text))
		for piece := make([]byte, 8); ; {
			n, err := reader.Read(piece)
			if place.passPiece(piece[:n]); err != nil {
				break
			}
		}
		if have := fmt.Sprint(place.deepest, place.items, place.largest); have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}
