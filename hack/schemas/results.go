// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"

	"kubi.zone/kubizone/cmd/output"
)

// describeResult returns the schema of a document that kubectl kubizone prints. Programs ignore unknown fields: a later
// client of the same version may have more.
func describeResult(kind string, result any) ([]byte, error) {
	top := describeType(reflect.TypeOf(result))
	properties := top["properties"].(map[string]any)
	properties["apiVersion"] = map[string]any{"type": "string", "enum": []string{output.Version}}
	properties["kind"] = map[string]any{"type": "string", "enum": []string{kind}}
	required, _ := top["required"].([]string)
	top["required"] = append([]string{"apiVersion", "kind"}, required...)
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	return json.MarshalIndent(top, "", " ")
}

var (
	marshalsJSON = reflect.TypeFor[json.Marshaler]()
	marshalsText = reflect.TypeFor[encoding.TextMarshaler]()
)

func describeType(of reflect.Type) map[string]any {
	switch {
	case of.Kind() == reflect.Pointer:
		return describeType(of.Elem())
	case reflect.PointerTo(of).Implements(marshalsText), reflect.PointerTo(of).Implements(marshalsJSON):
		return map[string]any{"type": []string{"string", "null"}} // a time
	}
	switch of.Kind() {
	case reflect.Struct:
		return describeStruct(of)
	case reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": describeType(of.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": describeType(of.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	default:
		return map[string]any{"type": "integer"}
	}
}

func describeStruct(of reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || field.Anonymous || name == "-" || name == "" {
			continue
		}
		// A zone has zones below it.
		if inner := field.Type; inner.Kind() == reflect.Slice && inner.Elem() == reflect.PointerTo(of) {
			properties[name] = map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"type": "object"}}
		} else {
			properties[name] = describeType(field.Type)
		}
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
