// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"reflect"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// providerBlocks are the fields of DNSClassSpec that are provider blocks, each a pointer to a type whose name ends in
// Provider, with their names in JSON.
var providerBlocks = func() (blocks []reflect.StructField) {
	for field := range reflect.TypeFor[v1alpha1.DNSClassSpec]().Fields() {
		if field.Type.Kind() == reflect.Pointer && strings.HasSuffix(field.Type.Elem().Name(), "Provider") {
			field.Name, _, _ = strings.Cut(field.Tag.Get("json"), ",")
			blocks = append(blocks, field)
		}
	}
	return blocks
}()

// Providers are the kinds of provider, each named as its block in the spec of a DNSClass.
func Providers() []string {
	kinds := make([]string, len(providerBlocks))
	for i, block := range providerBlocks {
		kinds[i] = block.Name
	}
	return kinds
}

// ProvidersOf are the kinds whose blocks the spec has. A valid one has exactly one.
func ProvidersOf(spec *v1alpha1.DNSClassSpec) (kinds []string) {
	value := reflect.ValueOf(spec).Elem()
	for _, block := range providerBlocks {
		if !value.FieldByIndex(block.Index).IsNil() {
			kinds = append(kinds, block.Name)
		}
	}
	return kinds
}

// ProviderOf is the kind of provider of a class; empty where the spec has no block that this version knows.
func ProviderOf(spec *v1alpha1.DNSClassSpec) string {
	for _, kind := range ProvidersOf(spec) {
		return kind
	}
	return ""
}
