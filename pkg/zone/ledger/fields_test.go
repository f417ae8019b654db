// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/test/must"
)

func storedFields(of reflect.Type, path string) (paths []string) {
	switch {
	case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice:
		return storedFields(of.Elem(), path)
	case of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "v1alpha1"):
		return []string{path}
	}
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			paths = append(paths, storedFields(f.Type, path+"."+name)...)
		}
	}
	return paths
}

// Generated protobuf code drops unknown fields, so an older program that writes a Zone, Record or Delegation would
// delete a new field. A new field therefore needs a migration with OldersMayWrite false, even an empty one, so that
// older programs refuse the store. testdata/fields.golden lists the fields of each format, and reveals a new field.
func TestFields_ofObjectsComeWithAFormat(t *testing.T) {
	t.Parallel()
	const file = "testdata/fields.golden"
	now := []string{fmt.Sprint("format ", ledger.Format)}
	for _, of := range []reflect.Type{reflect.TypeFor[v1alpha1.Zone](), reflect.TypeFor[v1alpha1.Record](), reflect.TypeFor[v1alpha1.Delegation]()} {
		for _, part := range []string{"Spec", "Status"} {
			field, _ := of.FieldByName(part)
			now = append(now, storedFields(field.Type, of.Name()+"."+strings.ToLower(part))...)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	before := strings.Fields(strings.ReplaceAll(string(text), "format ", "format-"))
	after := strings.Fields(strings.ReplaceAll(strings.Join(now, "\n"), "format ", "format-"))
	if slices.Equal(before, after) {
		return
	}
	for _, path := range after[1:] {
		if len(before) > 0 && before[0] == after[0] && !slices.Contains(before, path) {
			t.Errorf("%s is new in format %d: append a migration with OldersMayWrite false and raise Format (format.go), or older servers drop it", path, ledger.Format)
		}
	}
	if t.Failed() {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the fields of stored objects, or the format, have changed: UPDATE=1 go test -run Fields ./pkg/zone/ledger writes %s", file)
	}
	must.Succeed(t, os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o644))
}
