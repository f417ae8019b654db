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
)

// S5.6: a body that asks for more work than any object needs is refused before it is decoded, by whatever write it
// comes; what the largest object may have fits, in the longest form that JSON has for it.
func TestWrite_boundsItsBody_S5_6(t *testing.T) {
	client := whole(t)
	send := func(verb, media, body string) error {
		request := client.RESTClient().Verb(verb).Namespace("team").Resource("records").SetHeader("Content-Type", media).Body([]byte(body))
		if verb == "PATCH" {
			request = request.Name("www").Param("fieldManager", "test")
		}
		return request.Do(t.Context()).Error()
	}
	const inJSON = "application/json"
	if err := send("POST", inJSON, aRecord); err != nil {
		t.Fatal(err)
	}
	annotated := func(octets int, text string) string {
		return strings.Replace(aRecord, `"metadata":{`, `"metadata":{"annotations":{"a":"`+strings.Repeat(text, octets)+`"},`, 1)
	}
	nested := func(levels int) string { return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) }
	operations := func(n int) string {
		return "[" + strings.Repeat(`{"op":"test","path":"/spec/type","value":"A"},`, n-1) + `{"op":"add","path":"/metadata/labels","value":{}}]`
	}
	for what, test := range map[string]struct {
		verb, media, body string
		code              int32 // 0: allowed
		says              string
	}{
		"the longest form of much": {"PUT", inJSON, annotated(79<<10, `\u003c`), 0, ""},
		"much more":                {"POST", inJSON, annotated(86<<10, `\u003c`), http.StatusRequestEntityTooLarge, "at most 512 KiB as it is sent (S5.6): write several objects"},
		"blanks":                   {"PATCH", string(types.MergePatchType), "{}" + strings.Repeat(" ", maxBody), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"of octets":                {"POST", runtime.ContentTypeProtobuf, strings.Repeat("x", maxBody+1), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"a long text to apply":     {"PATCH", string(types.ApplyYAMLPatchType), "# " + strings.Repeat("x", maxBody), http.StatusRequestEntityTooLarge, "at most 512 KiB"},
		"sixty levels":             {"PATCH", string(types.MergePatchType), `{"x":` + nested(maxDepth-1) + `}`, 0, ""},
		"deeper":                   {"PATCH", string(types.MergePatchType), `{"x":` + nested(maxDepth) + `}`, http.StatusBadRequest, "Record cannot be read: lists and objects in it are nested deeper than 64 levels (S5.6)"},
		"much deeper":              {"PATCH", string(types.MergePatchType), `{"x":` + nested(9000) + `}`, http.StatusBadRequest, "deeper than 64"},
		"strategically":            {"PATCH", string(types.StrategicMergePatchType), `{"x":` + nested(9000) + `}`, http.StatusBadRequest, "deeper than 64"},
		"by an operation":          {"PATCH", string(types.JSONPatchType), `[{"op":"add","path":"/x","value":` + nested(9000) + `}]`, http.StatusBadRequest, "deeper than 64"},
		"as it is made":            {"POST", inJSON, strings.Replace(aRecord, "{", `{"x":`+nested(9000)+",", 1), http.StatusBadRequest, "deeper than 64"},
		"brackets in a text":       {"PATCH", string(types.MergePatchType), `{"metadata":{"annotations":{"a":"\"` + strings.Repeat("[{", 1000) + `\\"}}}`, 0, ""},
		"a thousand operations":    {"PATCH", string(types.JSONPatchType), operations(maxOperations), 0, ""},
		"one more":                 {"PATCH", string(types.JSONPatchType), operations(maxOperations + 1), http.StatusRequestEntityTooLarge, "a JSON patch of a Record has at most 1000 operations (S5.6): replace the whole field"},
	} {
		err := send(test.verb, test.media, test.body)
		if test.verb == "PUT" {
			err = client.RESTClient().Put().Namespace("team").Resource("records").Name("www").SetHeader("Content-Type", test.media).Body([]byte(test.body)).Do(t.Context()).Error()
		}
		if test.code == 0 && err == nil {
			continue
		}
		status, ok := err.(apierrors.APIStatus)
		if !ok || status.Status().Code != test.code || !strings.Contains(status.Status().Message, test.says) || len(status.Status().Message) > 300 {
			t.Errorf("%s: %.300v, want %d %s", what, err, test.code, test.says)
		}
	}
}

func TestJSONPlace_inPieces(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                              "1 0",
		`[{},[{}],"[{\"[{\\",{"a":"\\"}]`: "3 3",
		`{"a":[1,2,{"b":"]"}]}`:           "3 1",
		`"[[["`:                           "0 0",
		`]]`:                              "0 0",
	} {
		var place jsonPlace
		reader := iotest.OneByteReader(strings.NewReader(text))
		for piece := make([]byte, 8); ; {
			n, err := reader.Read(piece)
			if place.passPiece(piece[:n]); err != nil {
				break
			}
		}
		if have := fmt.Sprint(place.deepest, place.items); have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}
