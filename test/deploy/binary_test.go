// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// The linker drops methods that nothing calls, since nothing finds methods by reflection: without hack/slim/overlay.json
// the binary is a quarter larger, and its pages are memory.
func TestBinary_lacksUnusedMethods(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	binary := must.Get(os.ReadFile(must.Get(rig.Kubizone(t.Context(), t.TempDir(), ""))(t)))(t)
	for method, want := range map[string]bool{"kubi.zone/kubizone/pkg/cmd.Main": true,
		"k8s.io/client-go/kubernetes/typed/core/v1.(*pods).Bind": false, "text/template.(*state).evalField": false} {
		if bytes.Contains(binary, []byte(method)) != want {
			t.Errorf("the binary has %s: %v; go build -ldflags=-dumpdep shows which function is marked ReflectMethod", method, !want)
		}
	}
}

// The image has neither loader nor library.
func TestBinary_isStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	binary := must.Get(rig.Kubizone(t.Context(), t.TempDir(), ""))(t)
	file := must.Get(elf.Open(binary))(t)
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP || part.Type == elf.PT_DYNAMIC {
			t.Errorf("the binary has %v", part.Type)
		}
	}
	if libraries, _ := file.ImportedLibraries(); len(libraries) > 0 {
		t.Errorf("the binary needs %q", libraries)
	}
}
