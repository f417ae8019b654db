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
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/provider"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// Each provider block of DNSClassSpec has a constructor, a package whose tests run the suite for providers, and a row
// in the pages. (The tests of validation cover the block itself.)
func TestProviders_areComplete(t *testing.T) {
	blocks, rows := slices.Sorted(slices.Values(class.Providers())), slices.Sorted(maps.Keys(Sources{}.Constructors()))
	if !slices.Equal(blocks, rows) {
		t.Errorf("the provider blocks of DNSClassSpec are %v, there are constructors for %v: add a row to provider.Providers, or to Constructors",
			blocks, rows)
	}
	const root = "../../.."
	for _, kind := range blocks {
		dir := filepath.Join("pkg/delivery", kind)
		if kind == "bind9" { // with the other BIND code
			dir = "pkg/bind9/provider"
		}
		if !callsExam(t, filepath.Join(root, dir)) {
			t.Errorf("no test of %s calls deliverytest.Run: examine the provider there against what it writes to (docs/providers.md)", dir)
		}
	}
	for page, before := range map[string]string{"docs/delivery.md": "| block |", "docs/providers.md": "| provider |"} {
		if listed := firstColumn(t, filepath.Join(root, page), before); !slices.Equal(listed, blocks) {
			t.Errorf("%s: the table that begins with %q lists %v, the provider blocks of DNSClassSpec are %v", page, before, listed, blocks)
		}
	}
	readme := must.Get(os.ReadFile(filepath.Join(root, "docs/README.md")))(t)
	for _, kind := range blocks {
		if !strings.Contains(string(readme), "(`"+kind+"`)") {
			t.Errorf("docs/README.md: the row of `kubizone controller` does not name `%s`", kind)
		}
	}
}

// docs/providers.md explains to authors how to write a provider. Its tables show the methods, abilities and test fields
// that the code has now.
func TestProviders_areAsTheirPageSays(t *testing.T) {
	read := func(path string) string {
		text := must.Get(os.ReadFile(path))(t)
		return string(text)
	}
	page := read("../../../docs/providers.md")
	named := regexp.MustCompile(`(?m)^\t"\w+": +new\w+,$`).FindAllString(read("../../provider/providers.go"), -1)
	if len(named) != len(provider.Providers) {
		t.Fatalf("providers.go has %d rows as docs/providers.md shows them, and Providers %d", len(named), len(provider.Providers))
	}
	for method := range reflect.TypeFor[delivery.Provider]().Methods() {
		named = append(named, "| `"+method.Name+"` |")
	}
	for field := range reflect.TypeFor[delivery.Abilities]().Fields() {
		named = append(named, "| `Abilities."+field.Name+"` |")
	}
	for _, text := range named {
		if !strings.Contains(page, text) {
			t.Errorf("docs/providers.md does not have %s", text)
		}
	}
	for _, name := range regexp.MustCompile("(?m)^\t(\\w+): +func|`Subject\\.(\\w+)`").FindAllStringSubmatch(page, -1) {
		if _, ok := reflect.TypeFor[deliverytest.Subject]().FieldByName(name[1] + name[2]); !ok {
			t.Errorf("docs/providers.md: a deliverytest.Subject has no %s", name[1]+name[2])
		}
	}
}

func callsExam(t *testing.T, dir string) (found bool) {
	t.Helper()
	tests := must.Get(filepath.Glob(filepath.Join(dir, "*_test.go")))(t)
	for _, file := range tests {
		tree := must.Get(parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution))(t)
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

func firstColumn(t *testing.T, page, header string) (cells []string) {
	t.Helper()
	text := must.Get(os.ReadFile(page))(t)
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
