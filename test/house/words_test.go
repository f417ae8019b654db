// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"kubi.zone/kubizone/test/must"
)

// uses is the number of a package's names with a deprecated word, by "word package".
type uses map[string]int

const usesFile = "testdata/words.txt"

// TestWords_thatGo: no new name has a word listed in docs/glossary.md. testdata/words.txt counts the old names, and
// only falls: UPDATE=1 go test -run Words ./test/house writes the file.
func TestWords_thatGo(t *testing.T) {
	_, table, found := strings.Cut(readFile(t, "docs/glossary.md"), "\n## Words that go\n")
	if !found {
		t.Fatal("docs/glossary.md has no section on words that go")
	}
	instead := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z, ]+) \| (.+) \|$`).FindAllStringSubmatch(table, -1) {
		for _, word := range strings.Split(row[1], ", ") {
			instead[word] = row[2]
		}
	}
	delete(instead, "not")
	if len(instead) < 20 {
		t.Fatalf("docs/glossary.md: only %d words found", len(instead))
	}
	old := uses{}
	for line := range strings.Lines(readFile(t, "test/house/"+usesFile)) {
		var word, at string
		var n int
		if _, err := fmt.Sscan(line, &word, &at, &n); err != nil {
			t.Fatalf("%s: %q: %v", usesFile, line, err)
		}
		old[word+" "+at] = n
	}
	now := uses{}
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".go" || anyMatches(machineWritten, path.Dir(p)) || strings.HasPrefix(path.Base(p), "zz_generated") {
			continue
		}
		for _, word := range declaredWords(t, p) {
			if _, goes := instead[word]; goes {
				now[word+" "+path.Dir(p)]++
			}
		}
	}
	if os.Getenv("UPDATE") != "" {
		var lines strings.Builder
		for _, key := range slices.Sorted(maps.Keys(now)) {
			fmt.Fprintln(&lines, key, now[key])
		}
		must.Succeed(t, os.WriteFile(usesFile, []byte(lines.String()), 0o644))
		return
	}
	for key, n := range now {
		if word, at, _ := strings.Cut(key, " "); n > old[key] {
			t.Errorf("%s has %d names with %q, %d are left from before: docs/glossary.md says %q instead", at, n, word, old[key],
				instead[word])
		}
	}
	for key, n := range old {
		if now[key] < n {
			t.Errorf("%s: %s has %d and not %d any more: UPDATE=1 go test -run Words ./test/house", usesFile, key, now[key], n)
		}
	}
}

// ownWords bounds the words that a reader has to learn here, because no trade has them. The number only falls.
const ownWords = 40

func TestGlossary_hasFewWordsOfItsOwn(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "docs/glossary.md"), "\n## Our own words\n")
	table, _, found := strings.Cut(table, "\n## ")
	// A word within a row in asterisks is a word of its own.
	first, within := regexp.MustCompile(`(?m)^\| ([A-Za-z, -]+) \|`), regexp.MustCompile(`\*([a-z ]+)\*`)
	words := map[string]bool{}
	for _, row := range first.FindAllStringSubmatch(table, -1) {
		for _, word := range strings.Split(row[1], ", ") {
			words[word] = true
		}
	}
	for _, word := range within.FindAllStringSubmatch(table, -1) {
		words[word[1]] = true
	}
	delete(words, "word")
	if n := len(words); !found || n > ownWords || n < ownWords/2 {
		t.Errorf("docs/glossary.md has %d words of our own, at most %d: take a word of RFC 9499, Kubernetes or etcd\n%v", n, ownWords,
			slices.Sorted(maps.Keys(words)))
	}
}

func declaredWords(t *testing.T, p string) (words []string) {
	file := must.Get(parser.ParseFile(token.NewFileSet(), filepath.Join(root, p), nil, parser.SkipObjectResolution))(t)
	add := func(names ...*ast.Ident) {
		for _, name := range names {
			words = append(words, wordsOf(name.Name)...)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.Field:
			add(n.Names...)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					add(name)
				}
			}
		}
		return true
	})
	return words
}

// wordsOf splits a name at capitals and underscores: "rrsetCount_S75" is rrset, count, s75.
func wordsOf(name string) (words []string) {
	start, runes := 0, []rune(name)
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i, r := range runes {
		switch {
		case r == '_':
			cut(i)
			start = i + 1
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
		}
	}
	cut(len(runes))
	return words
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string]string{"debt": "debt", "payDebts": "pay debts", "RRsetCount_S75": "r rset count s75",
		"TTLs": "tt ls", "_": "", "heraldHTTP": "herald http"} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// nameless matches words for a person or program without a name; the noun is the user, the tenant, the server, the
// client. "who" after a noun is a relative clause and stays.
var nameless = regexp.MustCompile(`(?i)\b(?:whom?ever|(?:no|some|every|any)body|(?:some|every|any)one)\b` +
	`|(?:^|[.:;(] ?|\b(?:and|as|at|but|by|for|from|if|in|is|know|knows|of|on|one|ones|or|say|says|tell|tells|than|that|those|to|when|where|with) )whom?\b`)

// TestWords_nameTheNoun: comments and pages use no word for a person or program without a name, as listed in nameless.
func TestWords_nameTheNoun(t *testing.T) {
	judge := func(at, text string) {
		if found := nameless.FindString(text); found != "" {
			t.Errorf("%s: %q has no noun: name the user, the server, the client or the rule", at, strings.TrimSpace(found))
		}
	}
	seen := 0
	for _, p := range listFiles(t) {
		switch path.Ext(p) {
		case ".go":
			if generated.MatchString(readFile(t, p)) {
				continue
			}
			set := token.NewFileSet()
			file := must.Get(parser.ParseFile(set, filepath.Join(root, p), nil, parser.ParseComments|parser.SkipObjectResolution))(t)
			for _, group := range file.Comments {
				judge(set.Position(group.Pos()).String(), strings.Join(strings.Fields(group.Text()), " "))
				seen++
			}
		case ".md":
			for n, paragraph := range strings.Split(readFile(t, p), "\n\n") {
				judge(fmt.Sprintf("%s, paragraph %d", p, n+1), strings.Join(strings.Fields(paragraph), " "))
			}
		case ".txtar":
			story, _, _ := strings.Cut(readFile(t, p), "\n-- ")
			for line := range strings.Lines(story) {
				if comment, is := strings.CutPrefix(line, "# "); is {
					judge(p, comment)
				}
			}
		}
	}
	if seen < 5000 {
		t.Errorf("only %d comments found", seen)
	}
}
