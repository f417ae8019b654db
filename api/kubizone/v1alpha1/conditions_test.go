// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// Condition types and reasons are API: clients compare them. A change here changes for them.
func TestConditions_areAPI(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			value, err := strconv.Unquote(spec.Values[i].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name.Name, "Reason") && name.Name != "Reason"+value {
				t.Errorf("%s is called %q", name.Name, value)
			}
			lines = append(lines, name.Name+" "+value)
		}
		return true
	})
	sort.Strings(lines)
	golden := filepath.Join("testdata", "conditions.txt")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) {
		t.Errorf("%s says\n%s\nconditions.go says\n%s", golden, want, got)
	}
}
