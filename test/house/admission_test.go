// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// TestStorage_hasObjectsValidated: a storage gets a function for validating admission from the API server's handlers,
// and must call this function. A storage that names the parameter _ would let every object pass unvalidated.
func TestStorage_hasObjectsValidated(t *testing.T) {
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".go" || !strings.HasPrefix(p, "pkg/") && !strings.HasPrefix(p, "cmd/") || strings.HasSuffix(p, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), p, readFile(t, p), parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			for _, in := range f.Type.Params.List {
				of, ok := in.Type.(*ast.SelectorExpr)
				if !ok || of.Sel.Name != "ValidateObjectFunc" && of.Sel.Name != "ValidateObjectUpdateFunc" {
					continue
				}
				for _, parameter := range in.Names {
					if parameter.Name == "_" {
						t.Errorf("%s: %s drops its %s; call it, or hand it on", p, f.Name.Name, of.Sel.Name)
					}
				}
			}
		}
	}
}
