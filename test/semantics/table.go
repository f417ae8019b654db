// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	document   = "docs/semantics.md"
	situations = "docs/situations.md" // each story is a test
)

var (
	defined  = regexp.MustCompile(`(?m)^- (S(?:[1-9]|1[56])\.\d+) (.*)$`)
	named    = regexp.MustCompile(`\bS(?:[1-9]|1[56])\.\d+\b`)
	function = regexp.MustCompile(`^(Test|Fuzz)([^a-z]|$)`)
	part     = regexp.MustCompile(`^test[A-Z]`)
	suffix   = regexp.MustCompile(`_S([1-9]|1[56])_(\d+)(?:_|$)`)
	title    = regexp.MustCompile("^[\"`]S(?:[1-9]|1[56])\\.\\d+\\b")
)

type table struct {
	order []string            // as in the document
	text  map[string]string   // first words, by sentence
	tests map[string][]string // sorted, by sentence, even if unknown
}

func readTable(root fs.FS) (*table, error) {
	t := &table{text: map[string]string{}, tests: map[string][]string{}}
	text, err := fs.ReadFile(root, document)
	if err != nil {
		return nil, err
	}
	for _, m := range defined.FindAllStringSubmatch(string(text), -1) {
		if t.text[m[1]] != "" {
			return nil, fmt.Errorf("%s has %s twice", document, m[1])
		}
		t.order = append(t.order, m[1])
		t.text[m[1]] = m[2]
	}
	if len(t.order) == 0 {
		return nil, fmt.Errorf("%s has no line \"- S1.1 ...\"", document)
	}
	packages := map[string][]string{} // directory to test files
	var scenarios []string
	for _, top := range []string{"pkg", "test", "cmd"} {
		err := fs.WalkDir(root, top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			switch dir := path.Dir(p); {
			case strings.HasSuffix(p, "_test.go") && !strings.Contains(p, "/testdata/"):
				packages[dir] = append(packages[dir], p)
			case path.Base(dir) == "testdata" && (path.Ext(p) == ".txt" || path.Ext(p) == ".txtar"):
				scenarios = append(scenarios, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for dir, files := range packages {
		if err := t.readPackage(root, dir, files); err != nil {
			return nil, err
		}
	}
	for _, p := range scenarios {
		if len(packages[path.Dir(path.Dir(p))]) == 0 {
			continue
		}
		text, err := fs.ReadFile(root, p)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "#") {
				t.addClaims(p, line)
			}
		}
	}
	if text, err := fs.ReadFile(root, situations); err == nil {
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "## ") {
				t.addClaims(situations, line)
			}
		}
	}
	for sentence, tests := range t.tests {
		slices.Sort(tests)
		t.tests[sentence] = slices.Compact(tests)
	}
	return t, nil
}

func (t *table) addClaims(test, text string) {
	for _, sentence := range named.FindAllString(text, -1) {
		t.tests[sentence] = append(t.tests[sentence], test)
	}
}

// readPackage follows tests through functions, methods and variables. Methods are found by name only, perhaps too many.
func (t *table) readPackage(root fs.FS, dir string, files []string) error {
	declared := map[string][]ast.Node{}
	comments := map[ast.Node]string{} // above and inside of tests
	type test struct {
		decl *ast.FuncDecl
		file string // package comment
	}
	var tests []test
	set := token.NewFileSet()
	for _, p := range files {
		source, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, p, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = append(declared[d.Name.Name], d)
				isTest := d.Recv == nil && function.MatchString(d.Name.Name) && d.Name.Name != "TestMain"
				if isTest {
					tests = append(tests, test{d, file.Doc.Text()})
				}
				if !isTest && !part.MatchString(d.Name.Name) {
					continue
				}
				comments[d] = d.Doc.Text()
				for _, group := range file.Comments {
					if d.Pos() <= group.Pos() && group.End() <= d.End() {
						comments[d] += group.Text()
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							declared[n.Name] = append(declared[n.Name], v)
						}
					}
				}
			}
		}
	}
	for _, test := range tests {
		id := dir + "." + test.decl.Name.Name
		t.addClaims(id, test.file)
		for _, m := range suffix.FindAllStringSubmatch(test.decl.Name.Name, -1) {
			t.addClaims(id, fmt.Sprintf("S%s.%s", m[1], m[2]))
		}
		seen := map[string]bool{test.decl.Name.Name: true}
		reported := map[ast.Node]bool{}
		var follow func(ast.Node)
		follow = func(n ast.Node) {
			t.addClaims(id, comments[n])
			ast.Inspect(n, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.SelectorExpr); !ok || f.Sel.Name != "Run" {
						for _, arg := range n.Args {
							noteMessages(arg, reported)
						}
					}
				case *ast.BasicLit:
					if n.Kind == token.STRING && !reported[n] && title.MatchString(n.Value) {
						t.addClaims(id, n.Value)
					}
				case *ast.Ident:
					if !seen[n.Name] {
						seen[n.Name] = true
						for _, d := range declared[n.Name] {
							follow(d)
						}
					}
				}
				return true
			})
		}
		follow(test.decl)
	}
	return nil
}

// A failure message makes no claim.
func noteMessages(arg ast.Expr, reported map[ast.Node]bool) {
	switch arg := arg.(type) {
	case *ast.BasicLit:
		reported[arg] = true
	case *ast.BinaryExpr:
		noteMessages(arg.X, reported)
		noteMessages(arg.Y, reported)
	case *ast.ParenExpr:
		noteMessages(arg.X, reported)
	}
}

func (t *table) listWrong() (all []string) {
	for _, sentence := range t.order {
		if len(t.tests[sentence]) == 0 {
			all = append(all, fmt.Sprintf("no test names %s (%.60s...): write one, and name it there", sentence, t.text[sentence]))
		}
	}
	for _, sentence := range slices.Sorted(maps.Keys(t.tests)) {
		if t.text[sentence] == "" {
			all = append(all, fmt.Sprintf("%s has no %s, which is named by %s", document, sentence, strings.Join(t.tests[sentence], ", ")))
		}
	}
	return all
}

func (t *table) String() string {
	var out strings.Builder
	for _, sentence := range t.order {
		words := []rune(t.text[sentence])
		if len(words) > 100 {
			words = append(words[:99], '…')
		}
		fmt.Fprintf(&out, "%s %s\n", sentence, string(words))
		for _, test := range t.tests[sentence] {
			fmt.Fprintf(&out, "     %s\n", test)
		}
	}
	return out.String()
}
