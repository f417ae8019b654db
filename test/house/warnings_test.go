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

	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/test/must"
)

var (
	// rule matches a rule in a text.
	rule = regexp.MustCompile(`\bS\d+\.\d+\b`)
	// warns matches the names of functions and types that make Warnings.
	warns = regexp.MustCompile(`[wW]arn`)
)

// TestWarnings_haveTheirRuleAsValue: a sentence that cites its rule would have it twice, or where no reader looks.
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

// TestFieldErrors_citeTheirRule: a rule within the sentence of a field.Error is no cause of the answer. refusal.Cite
// notes it for that, and writes it.
func TestFieldErrors_citeTheirRule(t *testing.T) {
	cited := 0
	for _, p := range listProduction(t) {
		files := token.NewFileSet()
		ast.Inspect(must.Get(parser.ParseFile(files, p, readFile(t, p), 0))(t), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			of, ok := call.Fun.(*ast.SelectorExpr)
			switch {
			case ok && nameOf(of.X) == "refusal" && of.Sel.Name == "Cite":
				cited++
			case ok && nameOf(of.X) == "field":
				ast.Inspect(call, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && rule.MatchString(lit.Value) {
						t.Errorf("%s: the sentence of a field.Error cites a rule: give it to refusal.Cite", files.Position(lit.Pos()))
					}
					return true
				})
			}
			return true
		})
	}
	if cited < 40 {
		t.Errorf("only %d field.Errors cite a rule: this test looks at the wrong calls", cited)
	}
}

// makesWarning reports whether a node is a function, a call or a value that makes Warnings.
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

// nameOf returns the name of a function or type, without its package.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// TestWarnings_beginWithTheirRule: in the stories each Warning that tells a rule has it where refusal.CutWarning reads
// it, and once. The sentence of a refusal within a Warning may cite another rule.
func TestWarnings_beginWithTheirRule(t *testing.T) {
	line := regexp.MustCompile(`(?m)^(?:[^\s:]+: )?warning: (.*)$`)
	seen := 0
	for _, p := range listFiles(t) {
		if !regexp.MustCompile(`^pkg/(law|ledger)/testdata/.*\.txt$`).MatchString(p) {
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
