// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// barePercent bounds the percentage of test helpers with a one-word name.
const barePercent = 2

// TestHelpers_sayVerbAndObject: helpers of tests are named by a verb and an object, because a test is read by the names
// of helpers. A few may be a bare word.
func TestHelpers_sayVerbAndObject(t *testing.T) {
	all, bare := 0, []string{}
	entry := regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example|main$|init$)`)
	for _, p := range listFiles(t) {
		ofTest := strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "test/")
		if path.Ext(p) != ".go" || !ofTest || generated.MatchString(readFile(t, p)) {
			continue
		}
		file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, p), nil, parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.IsExported() || f.Recv == nil && entry.MatchString(f.Name.Name) {
				continue
			}
			all++
			if len(wordsOf(f.Name.Name)) == 1 {
				bare = append(bare, p+": "+f.Name.Name)
			}
		}
	}
	if len(bare)*100 > all*barePercent {
		t.Errorf("%d of %d helpers have a name of one word, more than %d %%; say verb and object, as readZone does:\n%s",
			len(bare), all, barePercent, strings.Join(bare[:min(len(bare), 20)], "\n"))
	}
}
