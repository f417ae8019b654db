// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package house

import (
	"cmp"
	"fmt"
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

// rates limits each pronoun and empty word, per 1,000 words. Comparable projects of Kubernetes and etcd use fewer.
type rates map[string]float64

var (
	inComments = rates{"what": 1.5, "one": 4, "it": 15, "that": 15, "stand": 0.3, "which": 5, "these": 1.5, "thing": 0.8}
	inPages    = rates{"what": 2, "one": 4, "it": 16, "which": 5, "these": 2, "thing": 0.8}

	standIns = map[string]string{"whatever": "what", "its": "it", "ones": "one", "things": "thing", "stands": "stand", "stood": "stand",
		"standing": "stand"}
	addresses = []string{"you", "your"}

	// unlike are pages of another kind, with the reason.
	unlike = map[string]string{
		"docs/semantics.md": "states rules about objects; S1 to S10 have a limit of words",
		"docs/details.md":   "continues the rules",
	}
)

// enoughWords is the least size of a folder or page for rates of its own. Smaller folders are added up.
const enoughWords = 1000

var (
	wordPattern = regexp.MustCompile(`[A-Za-z']+`)
	codeInPages = regexp.MustCompile("(?ms)\\A---\n.*?\n---\n|```.*?```|^ {4}[^\n]*$|`[^`]*`|\\]\\([^)]*\\)")
)

type tally struct {
	words int
	of    map[string]int
}

func (c *tally) addText(text string) {
	for _, w := range wordPattern.FindAllString(strings.ToLower(text), -1) {
		c.words++
		c.of[cmp.Or(standIns[w], w)]++
	}
}

func (c *tally) rateOf(words ...string) float64 {
	n := 0
	for _, w := range words {
		n += c.of[w]
	}
	return 1000 * float64(n) / float64(max(c.words, 1))
}

func (c *tally) expectWithin(t *testing.T, what string, limits rates) {
	t.Helper()
	for _, word := range slices.Sorted(maps.Keys(limits)) {
		if have := c.rateOf(word); have > limits[word] {
			t.Errorf("%s says %q %.1f times in 1,000 words (%d words), more than %.1f: name the noun that it stands for",
				what, word, have, c.words, limits[word])
		}
	}
}

// countWords adds up the texts by key, and the texts of small keys under a common key.
func countWords(t *testing.T, texts map[string][]string) map[string]*tally {
	t.Helper()
	counts := map[string]*tally{}
	for at, all := range texts {
		c := &tally{of: map[string]int{}}
		for _, text := range all {
			c.addText(text)
		}
		if c.words < enoughWords {
			at = "all small ones together"
			if have := counts[at]; have != nil {
				have.words += c.words
				for w, n := range c.of {
					have.of[w] += n
				}
				continue
			}
		}
		counts[at] = c
	}
	return counts
}

// TestComments_nameTheNoun: in each folder, comments use pronouns and empty words less often than the limits in
// inComments.
func TestComments_nameTheNoun(t *testing.T) {
	texts := map[string][]string{}
	for _, p := range listFiles(t) {
		if path.Ext(p) == ".go" && !anyMatches(machineWritten, path.Dir(p)) && !strings.HasPrefix(path.Base(p), "zz_generated") {
			texts[path.Dir(p)] = append(texts[path.Dir(p)], listComments(t, p)...)
		}
	}
	counts := countWords(t, texts)
	for _, at := range slices.Sorted(maps.Keys(counts)) {
		counts[at].expectWithin(t, at, inComments)
	}
	if len(counts) < 40 {
		t.Errorf("only %d folders were counted", len(counts))
	}
}

// listComments returns the comments of a file, without its licence and the directives of tools.
func listComments(t *testing.T, p string) (texts []string) {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), p, readFile(t, p), parser.ParseComments))(t)
	for _, group := range file.Comments {
		text := group.Text() // without directives
		if group.End() < file.Package && strings.Contains(text, "SPDX-License-Identifier") {
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

func TestPages_nameTheNounAndAddressTheReader(t *testing.T) {
	texts, all := map[string][]string{}, &tally{of: map[string]int{}}
	for _, p := range listFiles(t) {
		if path.Ext(p) != ".md" || path.Dir(p) != "docs" && p != "README.md" && p != "CONTRIBUTING.md" {
			continue
		}
		text := codeInPages.ReplaceAllString(readFile(t, p), " CODE ")
		if path.Dir(p) == "docs" {
			all.addText(text)
		}
		if unlike[p] == "" {
			texts[p] = append(texts[p], text)
		}
	}
	const least, most = 6, 50_000
	counts := countWords(t, texts)
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		counts[p].expectWithin(t, p, inPages)
	}
	all.expectWithin(t, "docs", inPages)
	if have := all.rateOf(addresses...); have < least {
		t.Errorf("the pages say %q %.1f times in 1,000 words, less than %d", addresses, have, least)
	}
	if all.words > most {
		t.Errorf("the pages have %d words, more than %d: what can go?", all.words, most)
	}
	if len(counts) < 15 {
		t.Errorf("only %d pages were counted: %s", len(counts), fmt.Sprint(slices.Sorted(maps.Keys(counts))))
	}
}
