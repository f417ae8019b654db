// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/docs"
	"kubi.zone/kubizone/pkg/apis/reasons"
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
		{numbers: "99.1", err: "the first is S1.1, the last S"},
		{numbers: "wrong", err: `"wrong" is no number of a rule, such as S4.8`},
		{numbers: "NameHeld", want: []string{"NameHeld (Adopted, of a Record): the name is own", "\n  Who mends it: you, who write",
			"\n  Next step: choose another name", "\n  Rules: S4.8\n"}},
		{numbers: "kubizonezonesheld NameHeld", want: []string{"NameHeld (Adopted",
			"\n\nKubizoneZonesHeld: docs/operations.md#kubizonezonesheld\n  A namespace removed much"}},
		{numbers: "KubizoneServerNotReady", want: []string{"kubectl get bind9instances -n"}},
		{numbers: "KubizoneSecondaryBehind", want: []string{"\n  1. kubectl kubizone doctor names the server", "\n  3. "}},
		{numbers: "KubizoneDeliverylat", err: "did you mean KubizoneDeliveryLate?"},
		{numbers: "namehelt", err: "did you mean NameHeld or NameKept?"},
		{numbers: "ZONENOTFOUND S2.3", want: []string{"ZoneNotFound (Adopted", "\n\nZoneNotFound (Ready", "\n\nS2.3 "}},
	} {
		var out strings.Builder
		found, err := findAll(strings.Fields(c.numbers))
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

// Messages cite rules such as S4.8, and users look them up by `kubectl kubizone explain`. So explain knows every rule
// that pkg/zone/law cites (X1).
func TestExplain_knowsWhatMessagesCite(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../pkg/zone/law/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	cited := map[string]bool{}
	for _, file := range files {
		text := must.Get(os.ReadFile(file))(t)
		for _, number := range regexp.MustCompile(`S\d+\.\d+`).FindAllString(string(text), -1) {
			cited[number] = true
		}
	}
	if len(cited) < 20 {
		t.Errorf("only %d numbers are cited: this test looks at the wrong files", len(cited))
	}
	for number := range cited {
		if _, err := findAll([]string{number}); err != nil {
			t.Error(err)
		}
	}
}

// Every reason that the code sets in a condition or an Event has a row in docs/reasons.md, so that `kubectl kubizone
// explain REASON` can explain it (X3).
func TestExplain_knowsEveryReason_X3(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^\s*(?:const )?(?:[Rr]eason|Warning|Notice)[A-Z]\w*(?: +(?:Reason|delivery\.Reason))? += "(\w+)"`)
	unused := map[string]string{"InUse": "no object has it", "PrerequisiteFailed": "the answer to a change set has it"}
	seen := map[string]bool{}
	for _, pattern := range []string{"../../../api/kubizone/v1alpha1/*.go", "../../../pkg/zone/law/*.go", "../../../pkg/zone/law/records/*.go",
		"../../../pkg/delivery/*.go", "../../../pkg/delivery/objects/*.go", "../../../pkg/delivery/controller/*/*.go", "../../../pkg/apiserver/*.go"} {
		for _, file := range must.Get(filepath.Glob(pattern))(t) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, m := range declared.FindAllStringSubmatch(string(must.Get(os.ReadFile(file))(t)), -1) {
				seen[m[1]] = true
				if found := reasons.Find(m[1]); unused[m[1]] == "" && len(found) == 0 {
					t.Errorf("%s: docs/reasons.md has no row for %s", file, m[1])
				}
			}
		}
	}
	for _, want := range []string{"NameHeld", "NoController", "AuthenticationFailed", "DNSClassNotFound", "HistoryForgotten", "Suspended",
		"NameHidden", "TakesAway", "NotProven"} {
		if !seen[want] {
			t.Errorf("the test no longer finds the constant of %s", want)
		}
	}
}

// X4: every alert of the chart is explained.
func TestExplain_knowsEveryAlert_X4(t *testing.T) {
	t.Parallel()
	rules := string(must.Get(os.ReadFile("../../../artifacts/deploy/monitoring/rules.yaml"))(t))
	names := regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	if len(names) < 20 {
		t.Fatalf("only %d alerts are found", len(names))
	}
	for _, one := range names {
		if found, err := findAll(one[1:]); err != nil || len(found.Alerts) != 1 || found.Alerts[0].Text == "" {
			t.Errorf("%s: %+v, %v", one[1], found, err)
		}
	}
}

// Every row of docs/reasons.md has a meaning and a next step, and the rules that it cites exist. `kubectl kubizone
// explain` prints these rows.
func TestExplain_reasonsAreWhole(t *testing.T) {
	t.Parallel()
	all := reasons.All()
	if len(all) < 75 {
		t.Errorf("only %d reasons are read from docs/reasons.md", len(all))
	}
	for _, one := range all {
		rests := one.Step == "nothing" || one.Mends == reasons.None && strings.HasPrefix(one.Step, "wait ")
		if one.Meaning == "" || one.Step == "" || (one.Mends == reasons.None) != rests {
			t.Errorf("%+v", one)
		}
		for _, rule := range one.Rules {
			if _, err := findAll([]string{rule}); err != nil {
				t.Errorf("%s: %v", one.Reason, err)
			}
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `").FindAllString(docs.Reasons, -1)
	if len(rows) < 55 || len(all) < len(rows) {
		t.Errorf("%d rows, %d reasons", len(rows), len(all))
	}
}
