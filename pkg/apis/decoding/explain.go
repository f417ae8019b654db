// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package decoding

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Serializer is a NegotiatedSerializer whose decoders name each wrong field in their errors.
type Serializer struct {
	runtime.NegotiatedSerializer
	Creater runtime.ObjectCreater
}

func (s Serializer) DecoderToVersion(serializer runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return decoder{s.NegotiatedSerializer.DecoderToVersion(serializer, version), s.Creater}
}

type decoder struct {
	runtime.Decoder
	creater runtime.ObjectCreater
}

// Decode explains the error of the wrapped decoder. A strict decoding error keeps its type and duplicate fields.
func (d decoder) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*schema.GroupVersionKind, error) {
	object, kind, err := d.Decoder.Decode(text, defaults, into)
	if err == nil || kind == nil {
		return object, kind, err
	}
	of, unknown := d.creater.New(*kind)
	if unknown != nil {
		return object, kind, err
	}
	faults := Explain(Read(text), reflect.TypeOf(of), "", true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		all := strict.Errors()
		for i, wrong := range all {
			var at kjson.FieldError
			for _, one := range faults {
				if errors.As(wrong, &at) && one.(fault).field == at.FieldPath() {
					all[i] = one
				}
			}
		}
		err = runtime.NewStrictDecodingError(all)
	} else if len(faults) > 0 {
		err = utilerrors.NewAggregate(faults)
	}
	return object, kind, err
}

type fault struct{ field, detail string }

func (f fault) Error() string { return cmp.Or(f.field, "the body") + ": " + f.detail }

// Read decodes JSON or YAML, with numbers as json.Number. It returns nil for other text.
func Read(text []byte) (value any) {
	if !json.Valid(text) {
		text, _ = yaml.YAMLToJSON(text) // the server's decoder has the error
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value)
	return value
}

// Explain returns at most ten messages about a decoded JSON value that does not fit a Go type, for example
// "spec.limits: got list []; want an object". path is the field with the value, or "" for a whole object. If strict,
// unknown fields are faults too, except directives of a strategic merge patch, such as $patch.
func Explain(value any, of reflect.Type, path string, strict bool) (faults []error) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	const most = 10
	readsItself := reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]())
	object, _ := value.(map[string]any)
	list, _ := value.([]any)
	_, isString := value.(string)
	switch kind := of.Kind(); {
	case value == nil || isString && kind == reflect.String && !readsItself:
	case object != nil && !readsItself && (kind == reflect.Struct || kind == reflect.Map):
		for _, name := range slices.Sorted(maps.Keys(object)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if is, unknown := findField(of, name); is == nil && strict && !strings.HasPrefix(name, "$") {
				faults = append(faults, fault{at, unknown})
			} else if is != nil && len(faults) < most {
				faults = append(faults, Explain(object[name], is, at, strict)...)
			}
		}
	case list != nil && !readsItself && kind == reflect.Slice:
		for i := 0; i < len(list) && len(faults) < most; i++ {
			faults = append(faults, Explain(list[i], of.Elem(), fmt.Sprintf("%s[%d]", path, i), strict)...)
		}
	default:
		text, err := json.Marshal(value)
		if err == nil && kjson.UnmarshalCaseSensitivePreserveInts(text, reflect.New(of).Interface()) != nil {
			got, want := kinds[reflect.TypeOf(value).String()], cmp.Or(wants[of.String()], wants[kind.String()])
			faults = []error{fault{path, fmt.Sprintf("got %s %.60s; want %s", got, text, want)}}
		}
	}
	return faults[:min(len(faults), most)]
}

var (
	kinds = map[string]string{"bool": "bool", "string": "string", "json.Number": "number", "[]interface {}": "list",
		"map[string]interface {}": "object"}
	wants = map[string]string{"bool": "true or false, without quotes", "string": "a string: put it into quotes",
		"int32": "a whole number of at most 2147483647, without quotes", "int64": "a whole number, without quotes",
		"slice": "a list: put it into [ ]", "map": "an object", "struct": "an object", "[]uint8": "base64",
		"v1.Duration": `a duration such as "24h"`, "v1.Time": `a time such as "2026-01-02T15:04:05Z"`,
		"v1alpha1.Quantity": `a quantity such as "1Gi"`}
)

// findField returns the type of a struct's field with a JSON name, or of a map's values. For an unknown name the type
// is nil, and why may name the most similar field: "unknown field; did you mean zoneRef?".
func findField(of reflect.Type, name string) (is reflect.Type, why string) {
	if of.Kind() == reflect.Map {
		return of.Elem(), ""
	}

	why, least := "unknown field", -3
	for i := range of.NumField() {
		field := of.Field(i)
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case known == name:
			return field.Type, ""
		case known == "" && field.Anonymous:
			if is, why = findField(field.Type, name); is != nil {
				return is, ""
			}
		}

		// Count the equal letters at the beginning and at the end, in any case. A missing letter, or two swapped
		// letters, leave nearly all equal.
		a, b, same := strings.ToLower(name), strings.ToLower(known), 0
		for i := 0; i < min(len(a), len(b)) && a[i] == b[i]; i++ {
			same++
		}
		for i := 1; i <= min(len(a), len(b)) && a[len(a)-i] == b[len(b)-i]; i++ {
			same++
		}

		// The most similar field lacks the fewest letters of the longer name.
		if away := same - max(len(a), len(b)); same > 0 && away > least {
			why, least = "unknown field; did you mean "+known+"?", away
		}
	}
	return nil, why
}
