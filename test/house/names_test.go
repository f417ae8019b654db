// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"bufio"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"kubi.zone/kubizone/test/must"
)

// bareVerbs may be the whole name of a method of more than ten lines: the receiver is the object, and Go readers know
// the verbs.
var bareVerbs = []string{"acquire", "close", "encode", "run", "serve", "start", "stop", "validate", "wait"}

const (
	// bareLines bounds the body of a function with a one-word name.
	bareLines = 10
	// commentColumns bounds a line of comment; a tab is four columns.
	commentColumns = 120
	// codeColumns bounds a line of code, without field tags; a tab is four columns.
	codeColumns = 140
	// A package with more than packageLines of code needs a reason.
	packageLines = 3000
)

// largePackages are the packages of more than packageLines lines, with the reason not to split.
var largePackages = map[string]string{
	"pkg/client/load": "a dry run of manifests is their apply, in change sets: it has the same refusals, Warnings and retries",
	"pkg/primary":     "answers, transfers and NOTIFY share one form of messages, their signatures and the classes",
}

// wideRooms is the number of lines wider than codeColumns: law and engine are being rewritten. The numbers only fall,
// and so does that of tests.
var wideRooms = map[string]int{"pkg/apis/pattern": 2, "tests": 1944}

func listProduction(t *testing.T) (all []string) {
	for _, p := range listFiles(t) {
		if path.Ext(p) == ".go" && (strings.HasPrefix(p, "pkg/") || strings.HasPrefix(p, "cmd/")) &&
			!strings.HasSuffix(p, "_test.go") && !generated.MatchString(readFile(t, p)) {
			all = append(all, p)
		}
	}
	return all
}

func TestCode_isNoWiderThanAScreen(t *testing.T) {
	wide := map[string]int{}
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".go" || generated.MatchString(readFile(t, p)) {
			continue
		}
		room := path.Dir(p)
		if strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, "test/") {
			room = "tests"
		}
		number := 0
		for line := range strings.Lines(readFile(t, p)) {
			number++
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
			if utf8.RuneCountInString(line) <= codeColumns || strings.Contains(line, "`json:") || strings.HasPrefix(strings.TrimSpace(line), "//") {
				continue
			}
			wide[room]++
			if _, known := wideRooms[room]; !known {
				t.Errorf("%s:%d: a line of more than %d columns; break it at a phrase, or name a part of it", p, number, codeColumns)
			}
		}
	}
	for room, most := range wideRooms {
		if n := wide[room]; n > most {
			t.Errorf("%s: %d lines are wider than %d columns, %d were: break the new ones", room, n, codeColumns, most)
		} else if n < most {
			t.Errorf("%s: %d lines are wider than %d columns, %d were: write the new number into wideRooms", room, n, codeColumns, most)
		}
	}
}

// TestNames_sayVerbAndObject: an unexported function of more than bareLines lines has a name of several words, a verb
// and its object.
func TestNames_sayVerbAndObject(t *testing.T) {
	seen := 0
	for _, p := range listProduction(t) {
		set := token.NewFileSet()
		file := must.Get(parser.ParseFile(set, filepath.Join(root, p), nil, parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil || f.Name.IsExported() || f.Recv == nil && slices.Contains([]string{"main", "init"}, f.Name.Name) {
				continue
			}
			lines := set.Position(f.Body.Rbrace).Line - set.Position(f.Body.Lbrace).Line - 1
			if lines <= bareLines {
				continue
			}
			seen++
			if len(wordsOf(f.Name.Name)) > 1 || f.Recv != nil && slices.Contains(bareVerbs, f.Name.Name) {
				continue
			}
			t.Errorf("%s: %s has %d lines and a name of one word; a verb with its object says what it does", set.Position(f.Pos()), f.Name.Name, lines)
		}
	}
	if seen < 500 {
		t.Errorf("only %d functions of more than %d lines found", seen, bareLines)
	}
}

// TestComments_fitBesideCode: comments are at most commentColumns wide, except lines with a link or a table, and
// generator markers.
func TestComments_fitBesideCode(t *testing.T) {
	row := regexp.MustCompile(`^\s*//\s.*\S(\s{2,}|\s\|\s)\S`)
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".go" || generated.MatchString(readFile(t, p)) {
			continue
		}
		n := 0
		for lines := bufio.NewScanner(strings.NewReader(readFile(t, p))); lines.Scan(); {
			n++
			line := lines.Text()
			if !strings.HasPrefix(strings.TrimSpace(line), "//") || row.MatchString(line) || strings.Contains(line, "://") || strings.HasPrefix(line, "// +genclient:") {
				continue
			}
			if width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); width > commentColumns {
				t.Errorf("%s:%d: a comment of %d columns; wrap it at %d", p, n, width, commentColumns)
			}
		}
	}
}

// TestPackages_largeOnesSayWhy: a package of more than packageLines lines of code is in largePackages, with the reason
// against a division, and a smaller package is not. Comments and blank lines do not count.
func TestPackages_largeOnesSayWhy(t *testing.T) {
	lines := map[string]int{}
	for _, p := range listProduction(t) {
		lines[path.Dir(p)] += codeLines(readFile(t, p))
	}
	for _, dir := range slices.Sorted(maps.Keys(lines)) {
		if _, known := largePackages[dir]; lines[dir] > packageLines && !known {
			t.Errorf("%s has %d lines: cut it where its parts ask for each other least, or say in largePackages why it is one", dir, lines[dir])
		}
	}
	for dir := range largePackages {
		if lines[dir] <= packageLines {
			t.Errorf("largePackages: %s has %d lines and needs no reason any more", dir, lines[dir])
		}
	}
}

// codeLines counts a line with both code and a block comment.
func codeLines(text string) (n int) {
	block := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case block:
			block = !strings.Contains(line, "*/")
		case strings.HasPrefix(line, "/*"):
			block = !strings.Contains(line, "*/")
		case line != "" && !strings.HasPrefix(line, "//"):
			n++
		}
	}
	return n
}
