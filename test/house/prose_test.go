// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"testing"

	"kubi.zone/kubizone/test/must"
)

var searches = regexp.MustCompile(`^(Contains\w*|HasPrefix|HasSuffix|(Last)?Index\w*|Cut\w*|EqualFold|Split\w*|Match\w*|Find\w*)$`)

// proseReaders are files that search in another program's messages, with the reason.
var proseReaders = map[string]string{
	"pkg/bind9/provider/updates.go": "the agent's client names the server in some of its errors",
	"cmd/program/program.go":        "cobra has no value for a command that it does not know",
	"pkg/zone/ledger/etcd/ops.go":   "gRPC has one code for a message that is too large and for other limits",
}

// TestCode_readsNoProse: no program searches in the text of a message, because the program would break when the message
// is improved. The parts of a refusal and the reason of a Warning are values (pkg/apis/refusal).
func TestCode_readsNoProse(t *testing.T) {
	readers := map[string]bool{}
	for _, p := range listProduction(t) {
		files := token.NewFileSet()
		ast.Inspect(must.Get(parser.ParseFile(files, p, readFile(t, p), 0))(t), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 || !isProse(call.Args[0]) {
				return true
			}
			if f, ok := call.Fun.(*ast.SelectorExpr); !ok || !searches.MatchString(f.Sel.Name) {
				return true
			}
			readers[p] = true
			if proseReaders[p] == "" {
				t.Errorf("%s looks into a sentence: give what it looks for a value of its own", files.Position(call.Pos()))
			}
			return true
		})
	}
	for p := range proseReaders {
		if !readers[p] {
			t.Errorf("proseReaders: %s looks into no sentence any more", p)
		}
	}
}

func isProse(e ast.Expr) bool {
	if call, ok := e.(*ast.CallExpr); ok {
		s, ok := call.Fun.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Error" && len(call.Args) == 0
	}
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Message"
}
