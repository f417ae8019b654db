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

// parts are sections for one reading, with the maximum of words for a rule and for the part. Reasons, examples, lists
// and tables count only for the part.
var parts = []struct {
	name, begin, end string
	rule, whole      int
	least            int // rules
}{
	{"S1 to S10", "\n## 1. ", "\n## 11. ", 30, 3200, 90},
	{"S11 and S12", "\n## 11. ", "\n## 13. ", 60, 1800, 33},
	{"S13 and S14", "\n## 13. ", "\n## 15. ", 30, 700, 16},
	{"S15 and S16", "\n## 15. ", "\n## 17. ", 30, 240, 8},
	{"S17", "\n## 17. ", "", 30, 120, 5},
}

var (
	anyRule = regexp.MustCompile(`(?m)^- (S\d+\.\d+) (.*)$`)
	// reported matches the start of a reason or an example.
	reported = regexp.MustCompile(`\*(?:Why:|E\.g\.)\*`)
)

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
	for _, part := range parts {
		_, page, found := strings.Cut(text, part.begin)
		if !found {
			t.Fatalf("%s has no part %s", document, part.name)
		}
		if part.end != "" {
			page, _, _ = strings.Cut(page, part.end)
		}
		if n := countWords(page); n > part.whole {
			t.Errorf("%s: %s have %d words, more than %d: move details to the page of their topic", document, part.name, n, part.whole)
		}
		rules := anyRule.FindAllStringSubmatch(page, -1)
		if len(rules) < part.least {
			t.Errorf("%s: only %d rules found in %s", document, len(rules), part.name)
		}
		for _, m := range rules {
			if n := countWords(reported.Split(m[2], 2)[0]); n > part.rule {
				t.Errorf("%s has %d words, more than %d: split the rule", m[1], n, part.rule)
			}
			for _, more := range reported.Split(m[2], -1)[1:] {
				if n := countWords(more); n > part.rule {
					t.Errorf("%s has %d words of reason or example, more than %d: they hide a rule", m[1], n, part.rule)
				}
			}
		}
	}
}

func TestCountWords(t *testing.T) {
	if n := countWords("A name → 422, | `*` | else - 1 stands."); n != 6 {
		t.Errorf("%d words, want 6", n)
	}
}
