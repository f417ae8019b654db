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
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

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
	// Beside a wrong type, unknown fields are named too.
	const wholeObject, isStrict = "", true
	faults := Explain(Read(text), reflect.TypeOf(example), wholeObject, isStrict)
	strictErr, isStrictErr := runtime.AsStrictDecodingError(err)
	switch {
	case isStrictErr:
		err = runtime.NewStrictDecodingError(replaceExplained(strictErr.Errors(), faults))
	case len(faults) > 0:
		err = utilerrors.NewAggregate(faults)
	}
	return object, kind, err
}

// replaceExplained replaces the errors of fields that have a fault.
func replaceExplained(strictErrs, faults []error) []error {
	for i, strictErr := range strictErrs {
		var fieldErr kjson.FieldError
		// A duplicate field has no fault, and keeps the decoder's error.
		if !errors.As(strictErr, &fieldErr) {
			continue
		}
		for _, explained := range faults {
			if explained.(fault).field == fieldErr.FieldPath() {
				strictErrs[i] = explained
			}
		}
	}
	return strictErrs
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
func Explain(value any, goType reflect.Type, path string, strict bool) []error {
	for goType.Kind() == reflect.Pointer {
		goType = goType.Elem()
	}
	// null means an absent field, of any type.
	if value == nil {
		return nil
	}
	// A time or duration is a string in JSON, and a struct in Go.
	if reflect.PointerTo(goType).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return explainValue(value, goType, path)
	}

	// The shape decides first: of a list in place of an object, the elements say nothing.
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch kind := goType.Kind(); {
	case isObject && (kind == reflect.Struct || kind == reflect.Map):
		return explainFields(object, goType, path, strict)
	case isList && kind == reflect.Slice:
		return explainElements(list, goType.Elem(), path, strict)
	}
	return explainValue(value, goType, path)
}

const maxFaults = 10

// explainFields returns the faults of an object's fields, ordered by name, at most maxFaults.
func explainFields(object map[string]any, goType reflect.Type, path string, strict bool) (faults []error) {
	// The first unknown field lists all fields, later ones only a similar name.
	fields := "; the fields are " + strings.Join(listFields(goType), ", ")
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(faults) >= maxFaults {
			break
		}
		fieldPath := strings.TrimPrefix(path+"."+name, ".")
		fieldType, similar := findField(goType, name)
		isDirective := strings.HasPrefix(name, "$")
		switch {
		case fieldType != nil:
			faults = append(faults, Explain(object[name], fieldType, fieldPath, strict)...)
		case !strict || isDirective:
		case similar != "":
			faults = append(faults, fault{fieldPath, "unknown field; did you mean " + similar + "?"})
		default:
			faults = append(faults, fault{fieldPath, "unknown field" + fields})
			fields = "" // once is enough
		}
	}
	return faults[:min(len(faults), maxFaults)]
}

func explainElements(list []any, elementType reflect.Type, path string, strict bool) (faults []error) {
	for i, element := range list {
		if len(faults) >= maxFaults {
			break
		}
		faults = append(faults, Explain(element, elementType, fmt.Sprintf("%s[%d]", path, i), strict)...)
	}
	return faults[:min(len(faults), maxFaults)]
}

// explainValue compares a value as a whole with its type. The fault has the value, and the right one where it is known.
func explainValue(value any, goType reflect.Type, path string) []error {
	text, _ := json.Marshal(value) // value was read from JSON
	if kjson.UnmarshalCaseSensitivePreserveInts(text, reflect.New(goType).Interface()) == nil {
		return nil
	}
	got := kinds[reflect.TypeOf(value).String()]
	want := cmp.Or(wants[goType.String()], wants[goType.Kind().String()]) + detailOf(value, goType)
	// A frequent mistake: rdata: ["192.0.2.1", "192.0.2.2"].
	if got == "list" && strings.HasSuffix(path, ".rdata") {
		want = "a string: a list belongs into values"
	}
	return []error{fault{path, fmt.Sprintf("got %s %.60s; want %s", got, text, want)}}
}

// detailOf returns the fields of an object, or the seconds of a text as in zone files: 3600 for "1h".
func detailOf(value any, goType reflect.Type) string {
	written, _ := value.(string)
	seconds, _ := time.ParseDuration(written)
	switch kind := goType.Kind(); {
	case kind == reflect.Struct && wants[goType.String()] == "":
		return " with " + strings.Join(listFields(goType), ", ")
	case kind == reflect.Int32 && seconds >= time.Second && seconds.Seconds() <= math.MaxInt32:
		return fmt.Sprintf(": %.0f", seconds.Seconds())
	}
	return ""
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
// is nil, and similar is the field that differs by two letters at most, and has more in common, or of which the name is
// the beginning or end, or "": zoneRef for "zonRef" and "zone", domainName for "name", ttl for "recordTTL".
func findField(goType reflect.Type, name string) (fieldType reflect.Type, similar string) {
	if goType.Kind() == reflect.Map {
		return goType.Elem(), ""
	}

	fewestMissing := maxMissing + 2
	for i := range goType.NumField() {
		field := goType.Field(i)
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if known == name {
			return field.Type, ""
		}
		if known == "" && field.Anonymous {
			if fieldType, similar = findField(field.Type, name); fieldType != nil {
				return fieldType, ""
			}
		}

		if missing := countMissing(strings.ToLower(name), strings.ToLower(known)); missing < fewestMissing {
			similar, fewestMissing = known, missing
		}
	}
	return nil, similar
}

const maxMissing = 2

// countMissing returns the number of letters in which two names differ, or maxMissing+2 for names that are not similar.
func countMissing(name, known string) int {
	common := countCommonLetters(name, known)
	missing := max(len(name), len(known)) - common
	// A part counts as worse than two wrong letters, so "zone" finds zoneRef only if no closer field exists.
	if isPart(name, known) || isPart(known, name) {
		missing = min(missing, maxMissing+1)
	}
	if common < missing {
		return maxMissing + 2
	}
	return missing
}

// isPart reports whether text begins or ends with a word of at least three letters.
func isPart(word, text string) bool {
	return len(word) >= 3 && (strings.HasPrefix(text, word) || strings.HasSuffix(text, word))
}

// listFields returns the JSON names of a struct's fields, in their order in the API's documentation.
func listFields(goType reflect.Type) (names []string) {
	if goType.Kind() != reflect.Struct {
		return nil
	}
	for i := range goType.NumField() {
		field := goType.Field(i)
		known, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		// TypeMeta is inline in JSON, so kind and apiVersion are fields of the object.
		if known == "" && field.Anonymous {
			names = append(names, listFields(field.Type)...)
		} else {
			names = append(names, known)
		}
	}
	return names
}

// countCommonLetters counts the equal letters at the beginning and at the end. A missing letter, or two swapped
// letters, leave nearly all equal.
func countCommonLetters(a, b string) (common int) {
	shorter := min(len(a), len(b))
	for i := 0; i < shorter && a[i] == b[i]; i++ {
		common++
	}
	for i := 1; i <= shorter && a[len(a)-i] == b[len(b)-i]; i++ {
		common++
	}
	return common
}
