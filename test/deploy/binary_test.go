// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"debug/elf"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

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
