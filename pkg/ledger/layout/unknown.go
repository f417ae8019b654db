// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"kubi.zone/kubizone/pkg/law"
)

// An older server may write beside a newer one (migrate.go of package ledger). It reads a value that
// it rewrites into its own structs, so it keeps the fields that it does not know in their Unknown,
// at each level. There are none of these in a store that no newer program wrote: then
// reading costs one look at each field's name, and writing one at each Unknown.

// Decode reads an internal value into a pointer to a struct.
func Decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	s := shapeOf(reflect.TypeOf(into))
	if _, known := s.knowsFields(data, 0); known {
		return nil
	}
	return s.keepUnknown(data, reflect.ValueOf(into))
}

// Rewrite changes an internal value as the server would that reads and writes it.
func Rewrite[T any](data []byte, edit func(*T)) ([]byte, error) {
	var v T
	if err := Decode(data, &v); err != nil {
		return nil, err
	}
	edit(&v)
	return Encode(v), nil
}

// withUnknown is the JSON of v with the fields in it that this program does not know.
func withUnknown(data []byte, v any) ([]byte, error) {
	s, at := shapeOf(reflect.TypeOf(v)), reflect.ValueOf(v)
	if !s.carriesUnknown(at) {
		return data, nil
	}
	return s.mergeUnknown(data, at)
}

// shape describes the JSON of a type; nil: a value without fields.
type shape struct {
	fields  map[string]part // of a struct
	order   []part
	unknown []int  // where its Unknown is; nil: it has none
	elem    *shape // of a pointer, a slice, an array
	deep    bool   // there is an Unknown in it
}

type part struct {
	name  string
	index []int
	shape *shape
}

var (
	shapes      sync.Map // reflect.Type to *shape
	unknownType = reflect.TypeFor[*law.Unknown]()
)

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := newShape(t)
	shapes.Store(t, s)
	return s
}

// newShape makes the shape of a type. None of the types refers to itself.
func newShape(t reflect.Type) *shape {
	if t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		if s := newShape(t.Elem()); s != nil {
			return &shape{elem: s, deep: s.deep}
		}
	case reflect.Struct:
		s := &shape{fields: map[string]part{}}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Type == unknownType && len(f.Index) == 1:
				s.unknown, s.deep = f.Index, true
			case f.Anonymous || !f.IsExported() || name == "-":
			default:
				if name == "" {
					name = f.Name
				}
				x := part{name: name, index: f.Index, shape: newShape(f.Type)}
				s.fields[name], s.order = x, append(s.order, x)
				s.deep = s.deep || x.shape != nil && x.shape.deep
			}
		}
		return s
	}
	return nil
}

// knowsFields looks through the JSON at data[i:], which is valid, for fields that s does not have; next is behind it.
func (s *shape) knowsFields(data []byte, i int) (next int, known bool) {
	i = skipBlank(data, i)
	switch data[i] {
	case '{':
		for s != nil && s.fields == nil { // a pointer
			s = s.elem
		}
		for i = skipBlank(data, i+1); data[i] != '}'; i = skipBlank(data, i) {
			if data[i] == ',' {
				i = skipBlank(data, i+1)
			}
			end := skipString(data, i)
			var of *shape
			if s != nil {
				f, ok := s.fields[string(data[i+1:end-1])]
				if !ok {
					return 0, false
				}
				of = f.shape
			}
			i = skipBlank(data, end) + 1 // the colon
			if i, known = of.knowsFields(data, i); !known {
				return 0, false
			}
		}
		return i + 1, true
	case '[':
		for s != nil && s.elem != nil && s.elem.elem != nil { // a pointer to a slice
			s = s.elem
		}
		var of *shape
		if s != nil {
			of = s.elem
		}
		for i = skipBlank(data, i+1); data[i] != ']'; i = skipBlank(data, i) {
			if data[i] == ',' {
				i++
			}
			if i, known = of.knowsFields(data, i); !known {
				return 0, false
			}
		}
		return i + 1, true
	case '"':
		return skipString(data, i), true
	}
	for i < len(data) && !strings.ContainsRune(",]} \t\r\n", rune(data[i])) {
		i++
	}
	return i, true
}

func skipBlank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place behind the string at i.
func skipString(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// keepUnknown puts what s does not know of data into the Unknowns of v, which data was read into.
func (s *shape) keepUnknown(data []byte, v reflect.Value) error {
	switch {
	case s == nil || v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return s.elem.keepUnknown(data, v.Elem())
	case v.Kind() != reflect.Struct:
		var all []json.RawMessage
		if err := json.Unmarshal(data, &all); err != nil {
			return err
		}
		for i, x := range all[:min(len(all), v.Len())] {
			if err := s.elem.keepUnknown(x, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	rest := map[string][]byte{}
	for name, x := range all {
		if f, ok := s.fields[name]; !ok {
			rest[name] = x
		} else if err := f.shape.keepUnknown(x, v.FieldByIndex(f.index)); err != nil {
			return err
		}
	}
	if len(rest) > 0 && s.unknown != nil {
		v.FieldByIndex(s.unknown).Set(reflect.ValueOf(&law.Unknown{Fields: rest}))
	}
	return nil
}

// carriesUnknown reports whether there is anything in the Unknowns of v.
func (s *shape) carriesUnknown(v reflect.Value) bool {
	if s == nil || !s.deep {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer:
		return !v.IsNil() && s.elem.carriesUnknown(v.Elem())
	case reflect.Struct:
		if s.unknown != nil && !v.FieldByIndex(s.unknown).IsNil() {
			return true
		}
		for _, f := range s.order {
			if f.shape != nil && f.shape.deep && f.shape.carriesUnknown(v.FieldByIndex(f.index)) {
				return true
			}
		}
	default:
		for i := range v.Len() {
			if s.elem.carriesUnknown(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// mergeUnknown returns data, the JSON of v, with what the Unknowns of v have.
func (s *shape) mergeUnknown(data []byte, v reflect.Value) ([]byte, error) {
	switch {
	case !s.carriesUnknown(v):
		return data, nil
	case v.Kind() == reflect.Pointer:
		return s.elem.mergeUnknown(data, v.Elem())
	case v.Kind() != reflect.Struct:
		var all []json.RawMessage
		err := json.Unmarshal(data, &all)
		for i := range all {
			if err == nil {
				all[i], err = s.elem.mergeUnknown(all[i], v.Index(i))
			}
		}
		if err != nil {
			return nil, err
		}
		return encodePlain(all)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, f := range s.order {
		if x, ok := all[f.name]; ok && f.shape != nil {
			merged, err := f.shape.mergeUnknown(x, v.FieldByIndex(f.index))
			if err != nil {
				return nil, err
			}
			all[f.name] = merged
		}
	}
	if s.unknown != nil {
		if rest, _ := v.FieldByIndex(s.unknown).Interface().(*law.Unknown); rest != nil {
			for name, x := range rest.Fields {
				all[name] = x
			}
		}
	}
	return encodePlain(all)
}
