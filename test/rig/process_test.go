// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// Both files declare the same names: only Linux compiles the first, and every other system the second.
func TestProcess_isDeclaredForEverySystem(t *testing.T) {
	list := func(file string) (names []string) {
		parsed := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				names = append(names, f.Name.Name)
			}
		}
		slices.Sort(names)
		return names
	}
	if linux, other := list("process_linux.go"), list("process_other.go"); !slices.Equal(linux, other) {
		t.Errorf("process_linux.go declares %q, process_other.go %q", linux, other)
	}
}
