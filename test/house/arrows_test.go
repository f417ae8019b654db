// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// arrowsUp bounds the upward arrows of packages with more than a tenth, or than two. The numbers only fall.
var arrowsUp = map[string]int{
	"pkg/bind9/agent":                       6,
	"pkg/bind9/fleet/render":                4,
	"cmd/kubectl-kubizone/doctor":           3,
	"pkg/delivery/controller/transferclass": 4,
	"pkg/delivery/rfc2136":                  4,
	"pkg/dns/name":                          3,
	"pkg/zone/law":                          5,
	"pkg/zone/ledger/fsck":                  8,
	"pkg/client/migrate":                    5,
	"pkg/apiserver/registry/changeset":      3,
	"pkg/apiserver/registry/kind":           3,
	"pkg/apiserver/registry/zone":           8,
}

var (
	readFirst = regexp.MustCompile(`(?s)Read first: (.*?)\.\s+(?:[A-Z]|$)`)
	fileName  = regexp.MustCompile(`\b\w+\.go\b`)
)

// TestPackages_readDownwards: the files of a package can be read from the first to the last. Each use of a name
// declared in another file is an arrow, and few arrows may lead up, to a file already read. Files not named under "Read
// first" come last, in the order with the fewest such arrows.
func TestPackages_readDownwards(t *testing.T) {
	packages := parsePackages(t)
	declaring := map[string]map[string]bool{} // packages by method
	for dir, files := range packages {
		for _, file := range files {
			for _, method := range listMethods(file) {
				if declaring[method] == nil {
					declaring[method] = map[string]bool{}
				}
				declaring[method][dir] = true
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		files := packages[dir]
		arrows := drawArrows(files, func(method string) bool { return len(declaring[method]) > 1 })
		order := orderFiles(slices.Sorted(maps.Keys(files)), listReadFirst(files), arrows)
		up, all := listUp(order, arrows), 0
		for _, targets := range arrows {
			all += len(targets)
		}
		most, listed := arrowsUp[dir]
		switch {
		case len(up) > max(2, all/10, most):
			t.Errorf("%s: %d of %d arrows lead up: move a declaration to the file below that uses it, or order the files under "+
				"\"Read first\" in doc.go:\n%s", dir, len(up), all, strings.Join(up, "\n"))
		case listed && len(up) < most:
			t.Errorf("arrowsUp: %s has %d arrows up now", dir, len(up))
		case listed && len(up) <= max(2, all/10):
			t.Errorf("arrowsUp: %s needs no row any more", dir)
		}
	}
}

func parsePackages(t *testing.T) map[string]map[string]*ast.File {
	packages := map[string]map[string]*ast.File{}
	for _, p := range listProduction(t) {
		if packages[path.Dir(p)] == nil {
			packages[path.Dir(p)] = map[string]*ast.File{}
		}
		packages[path.Dir(p)][path.Base(p)] = must.Get(parser.ParseFile(token.NewFileSet(), p, readFile(t, p), parser.ParseComments))(t)
	}
	return packages
}

func listReadFirst(files map[string]*ast.File) (first []string) {
	for _, file := range files {
		if messages := readFirst.FindStringSubmatch(file.Doc.Text()); messages != nil {
			first = append(first, fileName.FindAllString(messages[1], -1)...)
		}
	}
	return first
}

// drawArrows returns, for each file of a package, the files declaring its used names, with an example. A method
// counts if elsewhere is false for its name, and the package has no other method or field of that name. Receivers do
// not count: they are the reader's way down.
func drawArrows(files map[string]*ast.File, elsewhere func(method string) bool) map[string]map[string]string {
	declared := map[string]string{}
	declare := func(name, file string) {
		if at, known := declared[name]; known && at != file {
			file = ""
		}
		declared[name] = file
	}
	for name, file := range files {
		for object := range file.Scope.Objects {
			declare(object, name)
		}
		for _, method := range listMethods(file) {
			declare("."+method, name)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if fields, ok := n.(*ast.StructType); ok {
				for _, field := range fields.Fields.List {
					for _, ident := range field.Names {
						declare("."+ident.Name, "")
					}
				}
			}
			return true
		})
	}
	arrows := map[string]map[string]string{}
	for from, file := range files {
		arrows[from] = map[string]string{}
		add := func(name string) {
			if to := declared[name]; to != "" && to != from {
				arrows[from][to] = cmp.Or(arrows[from][to], name)
			}
		}
		receivers := map[token.Pos]bool{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				ast.Inspect(f.Recv, func(n ast.Node) bool {
					if n != nil {
						receivers[n.Pos()] = true
					}
					return true
				})
			}
		}
		for _, ident := range file.Unresolved {
			if !receivers[ident.Pos()] {
				add(ident.Name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && (!s.Sel.IsExported() || !elsewhere(s.Sel.Name)) {
				add("." + s.Sel.Name)
			}
			return true
		})
	}
	return arrows
}

func listMethods(file *ast.File) (methods []string) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
			methods = append(methods, f.Name.Name)
		}
	}
	return methods
}

// orderFiles returns a package's files in reading order: the named files, then the others, each at the place with the
// fewest upward arrows.
func orderFiles(all, first []string, arrows map[string]map[string]string) []string {
	order := slices.DeleteFunc(slices.Clone(first), func(p string) bool { return !slices.Contains(all, p) })
	named := len(order)
	order = append(order, slices.DeleteFunc(all, func(p string) bool { return slices.Contains(first, p) })...)
	fewest := len(listUp(order, arrows))
	for better := true; better; {
		better = false
		for from := named; from < len(order); from++ {
			for to := named; to < len(order); to++ {
				moved := slices.Insert(slices.Delete(slices.Clone(order), from, from+1), to, order[from])
				if n := len(listUp(moved, arrows)); n < fewest {
					order, fewest, better = moved, n, true
				}
			}
		}
	}
	return order
}

func listUp(order []string, arrows map[string]map[string]string) (up []string) {
	for i, from := range order {
		for _, to := range order[:i] {
			if name := arrows[from][to]; name != "" {
				up = append(up, fmt.Sprintf("%s → %s (%s)", from, to, name))
			}
		}
	}
	return up
}
