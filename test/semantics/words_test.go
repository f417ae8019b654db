// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"kubi.zone/kubizone/test/must"
)

// What a reader can hold in the head: the words of one rule, but of why it is, its examples, its list and its table,
// and those of all rules about zones and records.
const (
	maxRuleWords = 30
	maxPageWords = 3300
)

var (
	anyRule = regexp.MustCompile(`(?m)^- (S\d+\.\d+) (.*)$`)
	// said begins why a rule is, and its examples.
	said = regexp.MustCompile(`\*(?:Why:|E\.g\.)\*`)
)

// countWords counts what has a letter or a digit between blanks.
func countWords(text string) (n int) {
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

func TestRules_areShort(t *testing.T) {
	text := string(must.Get(os.ReadFile("../../" + document))(t))
	_, page, found1 := strings.Cut(text, "\n## 1. ")
	page, _, found2 := strings.Cut(page, "\n## 11. ")
	if !found1 || !found2 {
		t.Fatalf("%s has no sections 1 to 10", document)
	}
	if n := countWords(page); n > maxPageWords {
		t.Errorf("%s: S1 to S10 have %d words, more than %d: move details to the page of their topic", document, n, maxPageWords)
	}
	rules := anyRule.FindAllStringSubmatch(page, -1)
	if len(rules) < 90 {
		t.Errorf("%s: only %d rules found", document, len(rules))
	}
	for _, m := range rules {
		if n := countWords(said.Split(m[2], 2)[0]); n > maxRuleWords {
			t.Errorf("%s has %d words, more than %d: split the rule", m[1], n, maxRuleWords)
		}
		for _, more := range said.Split(m[2], -1)[1:] {
			if n := countWords(more); n > maxRuleWords {
				t.Errorf("%s says in %d words why it is or what it does for example, more than %d: it hides a rule", m[1], n, maxRuleWords)
			}
		}
	}
}

func TestCountWords(t *testing.T) {
	if n := countWords("A name → 422, | `*` | else - 1 stands."); n != 6 {
		t.Errorf("%d words, want 6", n)
	}
}
