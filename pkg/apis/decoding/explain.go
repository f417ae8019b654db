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

// Decode explains the error of the wrapped decoder. A strict decoding error keeps its type, and its errors about
// duplicate fields.
func (d decoder) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object,
	*schema.GroupVersionKind, error) {
	object, kind, err := d.Decoder.Decode(text, defaults, into)
	if err == nil || kind == nil {
		return object, kind, err
	}
	example, newErr := d.creater.New(*kind)
	if newErr != nil {
		return object, kind, err
	}
	const wholeObject, isStrict = "", true
	faults := Explain(Read(text), reflect.TypeOf(example), wholeObject, isStrict)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		all := strict.Errors()
		for i, strictErr := range all {
			var fieldErr kjson.FieldError
			for _, explained := range faults {
				if errors.As(strictErr, &fieldErr) && explained.(fault).field == fieldErr.FieldPath() {
					all[i] = explained
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
// "spec.limits: got list []; want an object". The value is the field at path, or a whole object if path is "". If
// strict is true, unknown fields are faults too, except directives of a strategic merge patch, such as $patch.
func Explain(value any, goType reflect.Type, path string, strict bool) (faults []error) {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	const maxFaults = 10
	readsItself := reflect.PointerTo(goType).Implements(reflect.TypeFor[json.Unmarshaler]())
	object, _ := value.(map[string]any)
	list, _ := value.([]any)
	_, isString := value.(string)
	switch kind := goType.Kind(); {
	case value == nil || isString && kind == reflect.String && !readsItself:
	case object != nil && !readsItself && (kind == reflect.Struct || kind == reflect.Map):
		for _, name := range slices.Sorted(maps.Keys(object)) {
			fieldPath := strings.TrimPrefix(path+"."+name, ".")
			if fieldType, why := findField(goType, name); fieldType == nil && strict && !strings.HasPrefix(name, "$") {
				faults = append(faults, fault{fieldPath, why})
			} else if fieldType != nil && len(faults) < maxFaults {
				faults = append(faults, Explain(object[name], fieldType, fieldPath, strict)...)
			}
		}
	case list != nil && !readsItself && kind == reflect.Slice:
		for i := 0; i < len(list) && len(faults) < maxFaults; i++ {
			faults = append(faults, Explain(list[i], goType.Elem(), fmt.Sprintf("%s[%d]", path, i), strict)...)
		}
	default:
		text, err := json.Marshal(value)
		if err == nil && kjson.UnmarshalCaseSensitivePreserveInts(text, reflect.New(goType).Interface()) != nil {
			got, want := kinds[reflect.TypeOf(value).String()], cmp.Or(wants[goType.String()], wants[kind.String()])
			faults = []error{fault{path, fmt.Sprintf("got %s %.60s; want %s", got, text, want)}}
		}
	}
	return faults[:min(len(faults), maxFaults)]
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

// findField returns the type of a struct's field with a JSON name, or of a map's values. For an unknown name, fieldType
// is nil, and why may name the most similar field: "unknown field; did you mean zoneRef?".
func findField(goType reflect.Type, name string) (fieldType reflect.Type, why string) {
	if goType.Kind() == reflect.Map {
		return goType.Elem(), ""
	}

	why, mostSimilar := "unknown field", -3 // a similar field lacks at most two letters
	for i := range goType.NumField() {
		field := goType.Field(i)
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case known == name:
			return field.Type, ""
		case known == "" && field.Anonymous: // an embedded struct
			if fieldType, why = findField(field.Type, name); fieldType != nil {
				return fieldType, ""
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
		if similarity := same - max(len(a), len(b)); same > 0 && similarity > mostSimilar {
			why, mostSimilar = "unknown field; did you mean "+known+"?", similarity
		}
	}
	return nil, why
}
