// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPorts_areReserved: a test that opens a listener to find a free port, and closes the listener, may lose the port
// to another process. The test must keep the listener of port 0, or take a port from rig.FreePort.
func TestPorts_areReserved(t *testing.T) {
	for _, p := range listPackages(t) {
		sources := slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		if matchesPattern("test/...", p.trimModule()) {
			sources = append(sources, p.GoFiles...)
		}
		for _, source := range sources {
			positions := token.NewFileSet()
			tree, err := parser.ParseFile(positions, filepath.Join(p.Dir, source), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			for _, closed := range closedListeners(tree) {
				t.Errorf("%s closes a listener where it was opened: take a port from rig.FreePort, or defer Close", positions.Position(closed))
			}
		}
	}
}

// closedListeners returns the places where a function closes, without defer, a listener of a net.Listen function.
func closedListeners(tree *ast.File) (closed []token.Pos) {
	var inspect func(body ast.Node)
	inspect = func(body ast.Node) {
		listeners := map[string]bool{}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				if n.Body != body {
					inspect(n.Body)
					return false
				}
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && strings.HasPrefix(calledFunction(n.Rhs[0]), "net.Listen") {
					listeners[name.Name] = true
				}
			case *ast.ExprStmt:
				if receiver, ok := strings.CutSuffix(calledFunction(n.X), ".Close"); ok && listeners[receiver] {
					closed = append(closed, n.Pos())
				}
			}
			return true
		})
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			inspect(f.Body)
		}
	}
	return closed
}

func calledFunction(e ast.Expr) string {
	if call, ok := e.(*ast.CallExpr); ok {
		if selected, ok := call.Fun.(*ast.SelectorExpr); ok {
			if x, ok := selected.X.(*ast.Ident); ok {
				return x.Name + "." + selected.Sel.Name
			}
		}
	}
	return ""
}
