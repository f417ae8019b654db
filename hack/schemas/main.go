// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubectl-kubizone/client"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apis/openapi"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "schemas: %v\n", err)
		os.Exit(1)
	}
}

const toDefinition = "#/definitions/"

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("write schemas DIR")
	}
	definitions, err := readDefinitions()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), bind9.AddToScheme(scheme)); err != nil {
		return err
	}
	for _, group := range []schema.GroupVersion{v1alpha1.SchemeGroupVersion, bind9.SchemeGroupVersion} {
		for kind, of := range scheme.KnownTypes(group) {
			if _, object := reflect.New(of).Interface().(metav1.Object); !object {
				continue // a list, or options
			}
			text, err := describeKind(definitions, of, group.WithKind(kind))
			if err != nil {
				return err
			}
			name := strings.ToLower(fmt.Sprintf("%s-%s-%s.json", kind, group.Group, group.Version))
			if err := os.WriteFile(filepath.Join(arguments[0], name), text, 0o644); err != nil { //nolint:gosec // everybody may read it
				return err
			}
		}
	}
	for kind, result := range client.Results() {
		text, err := describeResult(kind, result)
		if err != nil {
			return err
		}
		name := strings.ToLower(kind + "-" + strings.ReplaceAll(output.Version, "/", "-") + ".json")
		if err := os.WriteFile(filepath.Join(arguments[0], name), text, 0o644); err != nil { //nolint:gosec // everybody may read it
			return err
		}
	}
	return nil
}

func readDefinitions() (map[string]map[string]any, error) {
	all := map[string]map[string]any{}
	for name, definition := range openapi.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef(toDefinition + name)
	}) {
		text, err := json.Marshal(definition.Schema)
		if err != nil {
			return nil, err
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil {
			return nil, err
		}
		all[name] = closeSchema(plain).(map[string]any)
	}
	all[metav1.Time{}.OpenAPIModelName()]["type"] = []string{"string", "null"} // creationTimestamp: null, as kubectl prints it
	return all, nil
}

// closeSchema forbids unknown fields in objects with named fields, and removes Kubernetes' extensions.
func closeSchema(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			if strings.HasPrefix(key, "x-kubernetes-") {
				delete(value, key)
				continue
			}
			value[key] = closeSchema(item)
		}
		if _, isSchema := value["properties"].(map[string]any); isSchema && value["type"] == "object" {
			value["additionalProperties"] = false
		}
	case []any:
		for i := range value {
			value[i] = closeSchema(value[i])
		}
	}
	return value
}

func describeKind(all map[string]map[string]any, of reflect.Type, kind schema.GroupVersionKind) ([]byte, error) {
	named, ok := reflect.Zero(of).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		return nil, fmt.Errorf("%s has no name in OpenAPI", kind.Kind)
	}
	top := map[string]any{}
	for key, value := range all[named.OpenAPIModelName()] {
		top[key] = value
	}
	properties := map[string]any{}
	for name, property := range top["properties"].(map[string]any) {
		properties[name] = property
	}
	properties["apiVersion"] = map[string]any{"type": "string", "enum": []string{kind.GroupVersion().String()}}
	properties["kind"] = map[string]any{"type": "string", "enum": []string{kind.Kind}}
	top["properties"] = properties
	required := []any{"apiVersion", "kind", "metadata"}
	if more, ok := top["required"].([]any); ok {
		required = append(required, more...)
	}
	top["required"] = required
	top["$schema"] = "http://json-schema.org/draft-07/schema#"
	needed := map[string]any{}
	collectNeeded(all, top, needed)
	top["definitions"] = needed
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(top)
	return text.Bytes(), err
}

func collectNeeded(all map[string]map[string]any, value any, needed map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			reference, _ := item.(string)
			name, refers := strings.CutPrefix(reference, toDefinition)
			if key != "$ref" || !refers {
				collectNeeded(all, item, needed)
			} else if needed[name] == nil {
				needed[name] = all[name]
				collectNeeded(all, all[name], needed)
			}
		}
	case []any:
		for _, item := range value {
			collectNeeded(all, item, needed)
		}
	}
}
