// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

func jsonFields(t reflect.Type) (fields []string) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	slices.Sort(fields)
	return fields
}

// Package definition decodes a zone's content into its own structs. They must have every field of the API, because a
// missing field would be lost without an error.
func TestDefinition_readsEveryFieldOfTheAPI(t *testing.T) {
	for api, read := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[v1alpha1.RRset]():      reflect.TypeFor[rrset](),
		reflect.TypeFor[v1alpha1.Row]():        reflect.TypeFor[row](),
		reflect.TypeFor[v1alpha1.TTLChange]():  reflect.TypeFor[ttlChange](),
		reflect.TypeFor[v1alpha1.ZoneHeader](): reflect.TypeFor[content.Header](),
		reflect.TypeFor[v1alpha1.NameServer](): reflect.TypeFor[content.NameServer](),
		reflect.TypeFor[v1alpha1.ZoneStep]():   reflect.TypeFor[zoneChanges]().Field(1).Type.Elem(),
	} {
		if want, got := jsonFields(api), jsonFields(read); !slices.Equal(got, want) {
			t.Errorf("%s has the fields %v, and %v are read; add what is missing to definition.go", api, want, got)
		}
	}
}
