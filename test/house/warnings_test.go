// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/test/must"
)

var (
	rule = regexp.MustCompile(`\bS\d+\.\d+\b`)
	// warns matches names of functions and types for Warnings.
	warns = regexp.MustCompile(`[wW]arn`)
)

// TestWarnings_haveTheirRuleAsValue: code gives the rule of a Warning as an argument of its own. A rule cited in the
// text would be printed twice, or not be found by programs.
func TestWarnings_haveTheirRuleAsValue(t *testing.T) {
	seen := 0
	for _, p := range listProduction(t) {
		files := token.NewFileSet()
		file := must.Get(parser.ParseFile(files, p, readFile(t, p), 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if !makesWarning(n) {
				return true
			}
			ast.Inspect(n, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text := must.Get(strconv.Unquote(lit.Value))(t)
					if seen++; rule.MatchString(text) && rule.FindString(text) != text {
						t.Errorf("%s: the text of a Warning cites a rule: give refusal.Warning, or law.Warning, the rule by itself",
							files.Position(lit.Pos()))
					}
				}
				return true
			})
			return false
		})
	}
	if seen < 100 {
		t.Errorf("only %d texts are of Warnings: this test looks at the wrong nodes", seen)
	}
}

// TestRefusals_haveTheirRuleAsCause: a refusal that cites a rule in its text only has no cause with the rule, which
// programs read. refusal.Cite adds the cause to a field.Error, refusal.ByRule to any other answer.
func TestRefusals_haveTheirRuleAsCause(t *testing.T) {
	given := map[string]int{}
	for _, p := range listProduction(t) {
		files := token.NewFileSet()
		ast.Inspect(must.Get(parser.ParseFile(files, p, readFile(t, p), 0))(t), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			from, cites := nameOf(of.X), rule.FindString(listTexts(call))
			switch {
			case from == "refusal" && (of.Sel.Name == "Cite" || of.Sel.Name == "ByRule"):
				given[of.Sel.Name]++
				return of.Sel.Name == "Cite"
			case (from == "field" || from == "apierrors") && cites != "":
				t.Errorf("%s: a sentence cites %s: give it to refusal.Cite or refusal.ByRule", files.Position(call.Pos()), cites)
			}
			return true
		})
	}
	if given["Cite"] < 40 || given["ByRule"] < 5 {
		t.Errorf("%v rules are given: this test looks at the wrong calls", given)
	}
}

func listTexts(n ast.Node) (all string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			all += lit.Value + "\n"
		}
		return true
	})
	return all
}

func makesWarning(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return warns.MatchString(n.Name.Name)
	case *ast.CallExpr:
		return warns.MatchString(nameOf(n.Fun))
	case *ast.CompositeLit:
		return warns.MatchString(nameOf(n.Type))
	}
	return false
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestWarnings_beginWithTheirRule: in the outputs of the stories, a Warning with a rule begins with the rule, where
// refusal.CutWarning parses the rule, and has the rule only once. The text of a refusal inside a Warning may cite
// another rule.
func TestWarnings_beginWithTheirRule(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:[^\s:]+: )?warning: (.*)$`)
	seen := 0
	for _, p := range listFiles(t) {
		if !regexp.MustCompile(`^pkg/zone/(law|ledger)/testdata/.*\.txt$`).MatchString(p) {
			continue
		}
		for _, m := range line.FindAllStringSubmatch(readFile(t, p), -1) {
			_, first, text := refusal.CutWarning(m[1])
			if seen++; first == "" && rule.MatchString(text) || first != "" && strings.Contains(text, first) {
				t.Errorf("%s: %s", p, m[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d Warnings are in the stories: this test looks at the wrong files", seen)
	}
}
