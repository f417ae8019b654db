// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/test/must"
)

func TestExplain_printsWhatIsAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		numbers string
		want    []string
		err     string
	}{
		{numbers: "S2.10", want: []string{"S2.10 A name that moves is locked", "\n  Why: no namespace takes a name in the gap.\n"}},
		{numbers: "2.10", want: []string{"S2.10 A name"}},
		{numbers: "4.8", want: []string{"S4.8 A claimed name comes with all below it", "\n  Why: wildcards", "a tenant's record by a rule with *"}},
		{numbers: "s4.10", want: []string{"  - the apex;\n"}},
		{numbers: "S4.7", want: []string{"\n  E.g. _acme-challenge.apps and *.apps need a rule for apps.\n",
			"\n  Why: they speak for it.\n"}},
		{numbers: "S4.6", want: []string{"zone example.org., pattern", "*.dev"}},
		{numbers: "S1.1 S2.1", want: []string{"S1.1 ", "\n\nS2.1 "}},
		{numbers: "S4", want: []string{"S4.1   Only what", "\nS4.19  A tenant"}},
		{numbers: "", want: []string{"S1.1 ", "\nS13."}},
		{numbers: "4.99", err: "no rule has the number 4.99: this section has S4.1, S4.2,"},
		{numbers: "99.1", err: "the first is S1.1, the last S14."},
		{numbers: "wrong", err: `"wrong" is no number of a rule, such as S4.8`},
	} {
		var out strings.Builder
		found, err := findRules(strings.Fields(c.numbers))
		if err == nil {
			text := output.NewText(&out)
			found.printText(text)
			must.Get(text.WriteTo(&out))(t)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v", c.numbers, err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q lacks %q:\n%s", c.numbers, want, out.String())
			}
		}
		for line := range strings.Lines(out.String()) {
			if n := len([]rune(line)); n > 101 || strings.Contains(line, "**") || strings.Contains(line, "](") {
				t.Errorf("%q: a line of %d columns: %s", c.numbers, n, line)
			}
		}
	}
}

// Each rule cited in a message of pkg/law is known (X1).
func TestExplain_knowsWhatMessagesCite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../law/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	cited := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range regexp.MustCompile(`S\d+\.\d+`).FindAllString(string(text), -1) {
			cited[number] = true
		}
	}
	if len(cited) < 20 {
		t.Errorf("only %d numbers are cited: this test looks at the wrong files", len(cited))
	}
	for number := range cited {
		if _, err := findRules([]string{number}); err != nil {
			t.Error(err)
		}
	}
}
