// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

// A provider is complete, or this says what it lacks: a block of DNSClassSpec has a row in Providers, and a package of
// its name that takes the exam; the pages list it. (That the block is judged, the test of validation says.)
func TestProviders_areComplete(t *testing.T) {
	blocks, rows := slices.Sorted(slices.Values(class.Providers())), slices.Sorted(maps.Keys(Providers))
	if !slices.Equal(blocks, rows) {
		t.Errorf("the provider blocks of DNSClassSpec are %v, Providers in providers.go has rows for %v: add the row of a new block, with its New", blocks, rows)
	}
	const root = "../../.."
	for _, kind := range blocks {
		if dir := filepath.Join("pkg/delivery", kind); !callsExam(t, filepath.Join(root, dir)) {
			t.Errorf("no test of %s calls deliverytest.Run: examine the provider there against what it writes to (docs/providers.md)", dir)
		}
	}
	for page, before := range map[string]string{"docs/delivery.md": "| block |", "docs/providers.md": "| provider |"} {
		if listed := firstColumn(t, filepath.Join(root, page), before); !slices.Equal(listed, blocks) {
			t.Errorf("%s: the table that begins with %q lists %v, the provider blocks of DNSClassSpec are %v", page, before, listed, blocks)
		}
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range blocks {
		if !strings.Contains(string(readme), "(`"+kind+"`)") {
			t.Errorf("README.md: the row of `kubizone controller` does not name `%s`", kind)
		}
	}
}

// callsExam reports whether a test file of the directory calls deliverytest.Run.
func callsExam(t *testing.T, dir string) (found bool) {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tests {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" {
					of, ok := sel.X.(*ast.Ident)
					found = found || ok && of.Name == "deliverytest"
				}
			}
			return !found
		})
	}
	return found
}

// firstColumn is what stands in code font in the first column of a table, sorted.
func firstColumn(t *testing.T, page, header string) (cells []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n"+header)
	if !found {
		t.Fatalf("%s has no table that begins with %q", page, header)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		cells = append(cells, row[1])
	}
	slices.Sort(cells)
	return cells
}
