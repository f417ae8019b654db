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

// longAlone lists files whose long form does more than choose numbers, with the reason.
var longAlone = map[string]string{
	"pkg/zone/ledger/exam_versions_test.go": "links the suites of the storage anew, which takes a quarter of a minute of a core",
	"test/pods/story_test.go":               "links kubizone-gardener, a module of its own, which takes three minutes to compile",
}

// TestLong_differsInNumbersAlone: an if on the long form only assigns or returns, so that all other code runs in both
// forms.
func TestLong_differsInNumbersAlone(t *testing.T) {
	asks := func(text string) bool {
		return strings.Contains(text, "rig.Long()") || strings.Contains(text, `os.Getenv("KUBIZONE_TEST_LONG")`)
	}
	found := map[string]bool{}
	for _, p := range listFiles(t) {
		text := readFile(t, p)
		switch {
		case path.Ext(p) == ".txtar" && (strings.Contains(text, "[long]") || strings.Contains(text, "[!long]")):
			t.Errorf("%s: a story has no lines of the long form", p)
		case path.Ext(p) != ".go" || p == "test/rig/long.go" || path.Dir(p) == "test/house" || !asks(text):
			continue
		}
		files := token.NewFileSet()
		file := must.Get(parser.ParseFile(files, p, text, parser.SkipObjectResolution))(t)
		of := func(n ast.Node) string { return text[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset] }
		chosen := 0
		ast.Inspect(file, func(n ast.Node) bool {
			var body []ast.Stmt
			switch n := n.(type) {
			case *ast.IfStmt:
				if !asks(of(n.Cond)) {
					return true
				}
				body = n.Body.List
			case *ast.CaseClause:
				if len(n.List) != 1 || !asks(of(n.List[0])) {
					return true
				}
				body = n.Body
			default:
				return true
			}
			chosen++
			for _, s := range body {
				switch s.(type) {
				case *ast.AssignStmt, *ast.ReturnStmt:
				default:
					if found[p] = true; longAlone[p] == "" {
						t.Errorf("%s: %q runs in one form alone; choose numbers by the form, and run the same lines",
							files.Position(s.Pos()), of(s))
					}
				}
			}
			return true
		})
		if all := strings.Count(text, "rig.Long()") + strings.Count(text, `os.Getenv("KUBIZONE_TEST_LONG")`); all != chosen {
			t.Errorf("%s asks %d times for the long form, %d times to choose numbers", p, all, chosen)
		}
	}
	for p, why := range longAlone {
		if !found[p] {
			t.Errorf("%s is listed and runs the same lines in both forms: %s", p, why)
		}
	}
}
