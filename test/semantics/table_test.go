// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kubi.zone/kubizone/test/must"
)

// spellSentence builds a sentence number at run time, so that this file claims nothing.
func spellSentence(number string) string { return "S" + number }

func TestTable(t *testing.T) {
	source := strings.NewReplacer("@", "S").Replace(`// Package door proves @1.1.
package door

import "testing"

// TestOpen proves @1.2.
func TestOpen(t *testing.T) {
	// @1.3: at night too.
	v := visitor{}
	v.enter(t)
	for _, c := range cases {
		t.Run(c, nil)
	}
	t.Run("@3.1, @3.2: alone", testAlone)
	t.Errorf("@3.3: "+"%v, see @3.4", v)
	_ = "@12x and X@1.1"
}

var cases = []string{"@2.1 in the rain", "says: (@3.5)"}

// testAlone is for @3.6.
func testAlone(t *testing.T) { t.Fatal("@3.7") }

type visitor struct{}

// enter knows of @2.2.
func (visitor) enter(t *testing.T) { t.Error("@2.3: shut") }

func unused() string { return "@2.4" }

func TestMain(m *testing.M) { _ = "@2.5" }

func Testament() { _ = "@2.6" }
`)
	root := fstest.MapFS{
		document: {Data: []byte(strings.NewReplacer("@", "S").Replace("# Words\n- @1.1 One.\n- @1.2 Two.\n  @7.7 is " +
			"no definition\n- @1.3 Three.\n- @1.4 Four.\n- @2.3 Eight.\n- @2.4 Nine.\n- @2.6 Ten.\n"))},
		situations:                   {Data: []byte("# All\n## 1. It rains (" + spellSentence("2.6") + ")\nby " + spellSentence("2.5") + "\n")},
		"pkg/door/open_test.go":      {Data: []byte(source)},
		"pkg/door/fuzz_test.go":      {Data: []byte("package door\n\nfunc FuzzOpen_" + spellSentence("2_9") + "() {}\n")},
		"pkg/door/testdata/a.txt":    {Data: []byte("# " + spellSentence("1.4") + "\nsay " + spellSentence("2.7") + "\n")},
		"pkg/other/testdata/b.txt":   {Data: []byte("# " + spellSentence("2.4") + ": nothing runs this\n")},
		"test/none.go":               {Data: []byte("package none // " + spellSentence("2.8"))},
		"cmd/none.go":                {Data: []byte("package none")},
		"cmd/webhook-server/none.go": {Data: []byte("package none")},
	}
	table := must.Get(readTable(root))(t)
	open := []string{"pkg/door.TestOpen"}
	for number, want := range map[string][]string{
		"1.1": open, "1.2": open, "1.3": open, "2.1": open, "3.1": open, "3.2": open, "3.6": open,
		"2.9": {"pkg/door.FuzzOpen_" + spellSentence("2_9")},
		"1.4": {"pkg/door/testdata/a.txt"},
		"2.2": nil, "2.3": nil, "3.3": nil, "3.4": nil, "3.5": nil, "3.7": nil, "2.4": nil, "2.5": nil, "2.6": {situations}, "2.7": nil, "2.8": nil,
	} {
		if got := table.tests[spellSentence(number)]; !slices.Equal(got, want) {
			t.Errorf("%s is named by %q, want %q", spellSentence(number), got, want)
		}
	}
	wrong := table.listWrong()
	if len(wrong) != 7 || !strings.HasPrefix(wrong[1], "no test names "+spellSentence("2.4")) ||
		!strings.HasPrefix(wrong[2], document+" has no "+spellSentence("2.1")) {
		t.Errorf("wrong is %q", wrong)
	}
	if !strings.Contains(table.String(), spellSentence("1.4")+" Four.\n     pkg/door/testdata/a.txt\n") {
		t.Errorf("the table is\n%s", table)
	}
}

// CI must fail on a sentence without a test and on a test of an unknown sentence: CI runs tests, not `make verify`.
func TestTable_ofTheRealTreeIsComplete(t *testing.T) {
	table := must.Get(readTable(os.DirFS("../..")))(t)
	for _, wrong := range table.listWrong() {
		t.Error(wrong)
	}
}
