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

// Linux compiles process_linux.go, and every other system process_other.go. Both must declare the same functions,
// because the tests here compile the first only.
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
