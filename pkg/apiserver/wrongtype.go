// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"sigs.k8s.io/yaml"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// maxKeptBody is how long a body may be that is explained, in octets. Of a longer one the generic server says what
	// is wrong.
	maxKeptBody = 128 << 10
	// toldFields is how many fields an answer names.
	toldFields = 10
	// shownText is how many characters of a text an answer repeats.
	shownText = 40
)

// kindsOf are the Go types of what the resources of our groups hold.
var kindsOf = map[schema.GroupResource]reflect.Type{
	v1alpha1.Resource("records"): reflect.TypeFor[v1alpha1.Record](), v1alpha1.Resource("zones"): reflect.TypeFor[v1alpha1.Zone](),
	v1alpha1.Resource("delegations"):        reflect.TypeFor[v1alpha1.Delegation](),
	v1alpha1.Resource("dnsclasses"):         reflect.TypeFor[v1alpha1.DNSClass](),
	v1alpha1.Resource("deliveries"):         reflect.TypeFor[v1alpha1.Delivery](),
	v1alpha1.Resource("changesets"):         reflect.TypeFor[v1alpha1.ChangeSet](),
	bind9.Resource("clusterbind9providers"): reflect.TypeFor[bind9.ClusterBind9Provider](),
	bind9.Resource("bind9clusters"):         reflect.TypeFor[bind9.Bind9Cluster](),
	bind9.Resource("bind9instances"):        reflect.TypeFor[bind9.Bind9Instance](),
}

// explainRefusals bounds the bodies of all requests, and names the fields of a write of our objects that the generic
// server could not read, with what each has and what it takes (S5.2): by the kind of write, the generic server says
// that in words of Go, repeats the whole object or names no field. The body is read a second time only where the write
// was refused, or has a number that may be too large for its field: of such a number the generic server takes what is
// left, in a strategic merge patch and an apply.
func explainRefusals(handler http.Handler, serializer runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest {
			handler.ServeHTTP(w, r)
			return
		}
		of, kind := kindsOf[schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}], strings.TrimSuffix(info.Resource, "s")
		if of != nil {
			kind = of.Name()
		}
		if r.Body != nil && r.Body != http.NoBody {
			// Controllers write deliveries, in JSON, and those list as much as their validation allows.
			if body := boundBody(r.Body, kind, r.Header.Get("Content-Type")); body.isYAML || info.Resource != "deliveries" {
				r.Body = body
			}
		}
		if of == nil || info.Subresource == "scale" || !slices.Contains([]string{"create", "update", "patch"}, info.Verb) {
			handler.ServeHTTP(w, r)
			return
		}
		body := &keptBody{ReadCloser: r.Body}
		body.explain = func(read []byte) error {
			strict := r.URL.Query().Get("fieldValidation") == metav1.FieldValidationStrict
			if wrong := wrongTypes(read, r.Header.Get("Content-Type"), of, strict); len(wrong) > 0 {
				return wrongTypesError(info.APIGroup, of.Name(), wrong)
			}
			return nil
		}
		r.Body = body
		answer := &heldRefusal{ResponseWriter: w}
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), r)
		if answer.code == 0 {
			return
		}
		if err := body.explain(body.read.Bytes()); err != nil && !body.long && answer.refusesBody() {
			w.Header().Del("Content-Encoding")
			w.Header().Del("Content-Length")
			responsewriters.ErrorNegotiated(err, serializer, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
			return
		}
		w.WriteHeader(answer.code)
		_, _ = w.Write(answer.text.Bytes()) // a client that is gone needs no answer
	})
}

// keptBody keeps what is read of a body, up to maxKeptBody.
type keptBody struct {
	io.ReadCloser
	read    bytes.Buffer
	long    bool
	explain func(read []byte) error
}

// longNumber matches what may be too large for a field of 32 bits.
var longNumber = regexp.MustCompile(`[0-9]{10}|[0-9][eE]`)

func (b *keptBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	switch {
	case b.long:
	case b.read.Len()+n > maxKeptBody:
		b.long, b.read = true, bytes.Buffer{}
	default:
		b.read.Write(into[:n])
	}
	if err == io.EOF && longNumber.Match(b.read.Bytes()) {
		if wrong := b.explain(b.read.Bytes()); wrong != nil {
			return n, wrong
		}
	}
	return n, err
}

// heldRefusal keeps back an answer that refuses what the client sent.
type heldRefusal struct {
	http.ResponseWriter
	code int
	text bytes.Buffer
}

func (h *heldRefusal) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader holds the codes with which the generic server refuses a body that it cannot decode.
func (h *heldRefusal) WriteHeader(code int) {
	switch code {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		h.code = code
	default:
		h.ResponseWriter.WriteHeader(code)
	}
}

func (h *heldRefusal) Write(text []byte) (int, error) {
	if h.code != 0 {
		return h.text.Write(text)
	}
	return h.ResponseWriter.Write(text)
}

// refusesBody: a 500 may be that of a write which was carried out, unless apply says that it cannot decode the body.
func (h *heldRefusal) refusesBody() bool {
	return h.code != http.StatusInternalServerError || bytes.Contains(h.text.Bytes(), []byte("failed to create typed patch object")) ||
		bytes.Contains(h.text.Bytes(), []byte("failed to convert new object"))
}

// wrongTypesError is the answer: each field in the message, and by itself in the causes.
func wrongTypesError(group, kind string, wrong field.ErrorList) error {
	var fields []string
	var causes []metav1.StatusCause
	for _, one := range wrong {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(one.Type), Field: one.Field, Message: one.Detail})
		text := one.Field + " " + one.Detail
		if one.Type == field.ErrorTypeForbidden {
			text = one.Detail
		}
		if len(fields) < toldFields {
			fields = append(fields, text)
		}
	}
	if more := len(wrong) - len(fields); more > 0 {
		fields = append(fields, fmt.Sprintf("and %d more", more))
		causes = causes[:toldFields]
	}
	err := apierrors.NewBadRequest(kind + " cannot be read: " + strings.Join(fields, "; "))
	err.ErrStatus.Details = &metav1.StatusDetails{Group: group, Kind: kind, Causes: causes}
	return err
}

// wrongTypes are the fields of an object, or of a patch of one, that have a value of another type than theirs, and
// where that is strict those that are unknown.
func wrongTypes(body []byte, contentType string, of reflect.Type, strict bool) field.ErrorList {
	var value any
	media := mediaOf(contentType)
	if media == runtime.ContentTypeProtobuf {
		return nil
	}
	if media == runtime.ContentTypeYAML || media == string(types.ApplyYAMLPatchType) {
		converted, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil
		}
		body = converted
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	if media != string(types.JSONPatchType) {
		return checkFit(value, of, nil, strict)
	}
	var wrong field.ErrorList
	operations, _ := value.([]any)
	for _, operation := range operations {
		one, _ := operation.(map[string]any)
		path, _ := one["path"].(string)
		if at, to := followPointer(of, path); to != nil && (one["op"] == "add" || one["op"] == "replace") {
			wrong = append(wrong, checkFit(one["value"], to, at, strict)...)
		}
	}
	return wrong
}

// followPointer returns the field that a JSON pointer leads to, and its type; nil where there is none.
func followPointer(of reflect.Type, pointer string) (*field.Path, reflect.Type) {
	var path *field.Path
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		for of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch {
		case readsItself(of):
			return nil, nil
		case of.Kind() == reflect.Struct:
			if of = fieldsOf(of)[step]; of == nil {
				return nil, nil
			}
			path = child(path, step)
		case of.Kind() == reflect.Map:
			path, of = path.Key(step), of.Elem()
		case of.Kind() == reflect.Slice:
			n, _ := strconv.Atoi(step) // "-" is the end
			path, of = path.Index(n), of.Elem()
		default:
			return nil, nil
		}
	}
	return path, of
}

func child(path *field.Path, name string) *field.Path {
	if path == nil {
		return field.NewPath(name)
	}
	return path.Child(name)
}

// fieldsKnown are what fieldsOf has answered.
var fieldsKnown sync.Map

// fieldsOf are the types of the fields of a struct, by their names in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsKnown.Load(of); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	defer fieldsKnown.Store(of, fields)
	for i := range of.NumField() {
		one := of.Field(i)
		name, _, _ := strings.Cut(one.Tag.Get("json"), ",")
		switch {
		case one.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(one.Type))
		case name != "" && name != "-":
			fields[name] = one.Type
		}
	}
	return fields
}

// readsThemselves are what readsItself has answered.
var readsThemselves sync.Map

// readsItself: a type with a form of its own, such as a time.
func readsItself(of reflect.Type) bool {
	known, ok := readsThemselves.Load(of)
	if !ok {
		known, _ = readsThemselves.LoadOrStore(of, reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()))
	}
	return known.(bool)
}

// forms are what types that read themselves take.
var forms = map[reflect.Type]string{
	reflect.TypeFor[bind9.Quantity]():   `a quantity, such as "1Gi" or "500m"`,
	reflect.TypeFor[metav1.Duration]():  `a duration, such as "24h" or "90s"`,
	reflect.TypeFor[metav1.Time]():      `a time, such as "2026-01-02T15:04:05Z"`,
	reflect.TypeFor[metav1.MicroTime](): `a time, such as "2026-01-02T15:04:05.000000Z"`,
}

// checkFit returns the faults of a value that is to be of a type. With strict, a field that the type does not have is
// a fault; a directive of a strategic merge patch ($patch, $setElementOrder) is none.
func checkFit(value any, of reflect.Type, path *field.Path, strict bool) field.ErrorList {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	fault := func(takes string) field.ErrorList {
		return field.ErrorList{field.TypeInvalid(path, nil, "takes "+takes+", and has "+describeValue(value))}
	}
	if value == nil {
		return nil
	}
	if path == nil && of.Kind() == reflect.Struct {
		if _, ok := value.(map[string]any); !ok {
			return nil // No object at all: the generic server says so.
		}
	}
	var wrong field.ErrorList
	switch {
	case readsItself(of):
		if forms[of] == "" { // such as managedFields, which are long
			return nil
		}
		if text, err := json.Marshal(value); err == nil && json.Unmarshal(text, reflect.New(of).Interface()) != nil {
			return fault(forms[of])
		}
	case of.Kind() == reflect.Struct:
		object, ok := value.(map[string]any)
		if !ok {
			return fault("an object")
		}
		fields := fieldsOf(of)
		for _, name := range slices.Sorted(maps.Keys(object)) {
			switch at := child(path, name); {
			case fields[name] != nil:
				wrong = append(wrong, checkFit(object[name], fields[name], at, strict)...)
			case strict && object[name] != nil && !strings.HasPrefix(name, "$"):
				unknown := fmt.Sprintf("unknown field %q", at)
				if near := nearest(name, fields); near != "" {
					unknown += ", did you mean " + near + "?"
				}
				wrong = append(wrong, field.Forbidden(at, unknown))
			}
		}
	case of.Kind() == reflect.Map:
		object, ok := value.(map[string]any)
		if !ok {
			return fault("an object")
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			wrong = append(wrong, checkFit(object[key], of.Elem(), path.Key(key), strict)...)
		}
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		if text, ok := value.(string); !ok || json.Unmarshal([]byte(strconv.Quote(text)), new([]byte)) != nil {
			return fault("a text in base64")
		}
	case of.Kind() == reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			if len(checkFit(value, of.Elem(), path, strict)) == 0 {
				return fault("a list: put this one into [ ]")
			}
			return fault("a list")
		}
		for i, item := range list {
			wrong = append(wrong, checkFit(item, of.Elem(), path.Index(i), strict)...)
		}
	case of.Kind() == reflect.String:
		if _, ok := value.(string); !ok {
			switch value.(type) {
			case json.Number, bool:
				return fault("a text: put it into quotes")
			}
			return fault("a text")
		}
	case of.Kind() == reflect.Bool:
		if _, ok := value.(bool); !ok {
			return fault("true or false, without quotes")
		}
	default:
		if text, ok := value.(string); ok {
			if _, err := strconv.ParseInt(text, 10, of.Bits()); err == nil {
				return fault("a whole number: leave the quotes away")
			}
			return fault("a whole number")
		}
		number, ok := value.(json.Number)
		if !ok {
			return fault("a whole number")
		}
		if _, err := strconv.ParseInt(number.String(), 10, of.Bits()); errors.Is(err, strconv.ErrRange) {
			return fault(fmt.Sprintf("a whole number of at most %d bits", of.Bits()))
		} else if float, wrong := number.Float64(); err != nil && (wrong != nil || float != math.Trunc(float) ||
			math.Abs(float) >= math.Ldexp(1, of.Bits()-1)) {
			return fault("a whole number")
		}
	}
	return wrong
}

// nearest is the field that a name was meant to be, at most two letters away; empty for none.
func nearest(typed string, fields map[string]reflect.Type) (near string) {
	least := min(2, len(typed)-1)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(fields))) {
		if d := countEdits(strings.ToLower(typed), strings.ToLower(name)); d <= least {
			near, least = name, d
		}
	}
	return near
}

// countEdits is Levenshtein's distance: how many letters are put in, taken out or replaced between two words.
func countEdits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := i
		row[0] = i + 1
		for j := range len(b) {
			change := last
			if a[i] != b[j] {
				change++
			}
			last, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// describeValue names a value in the words of JSON.
func describeValue(value any) string {
	switch value := value.(type) {
	case string:
		if runes := []rune(value); len(runes) > shownText {
			return fmt.Sprintf("a text that begins with %q", string(runes[:shownText]))
		}
		return fmt.Sprintf("the text %q", value)
	case json.Number:
		return "the number " + value.String()
	case bool:
		return strconv.FormatBool(value)
	case []any:
		return "a list"
	}
	return "an object"
}
