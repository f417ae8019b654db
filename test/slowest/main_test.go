// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

// A failed test is shown with its output, even after a crash. A passed package is a line. The slowest tests come
// last, without cached results.
func TestReport_saysWhatGoTestSays(t *testing.T) {
	const events = `{"ImportPath":"x/broken","Action":"build-output","Output":"broken.go:1: no\n"}
{"Action":"start","Package":"x/good"}
{"Action":"output","Package":"x/good","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"x/good","Test":"TestA","Output":"    a.go:1: passing log\n"}
{"Action":"pass","Package":"x/good","Test":"TestA","Elapsed":3}
{"Action":"output","Package":"x/bad","Test":"TestB/sub","Output":"    b.go:1: wrong\n"}
{"Action":"fail","Package":"x/bad","Test":"TestB/sub","Elapsed":1}
{"Action":"output","Package":"x/bad","Test":"TestB","Output":"--- FAIL: TestB\n"}
{"Action":"fail","Package":"x/bad","Test":"TestB","Elapsed":1.5}
{"Action":"output","Package":"x/bad","Test":"TestC","Output":"panic: gone\n"}
{"Action":"output","Package":"x/bad","Output":"FAIL\tx/bad\t2.000s\n"}
{"Action":"fail","Package":"x/bad","Elapsed":2}
{"Action":"output","Package":"x/good","Output":"PASS\n"}
{"Action":"output","Package":"x/good","Output":"ok  \tx/good\t3.100s\n"}
{"Action":"pass","Package":"x/good","Elapsed":3.1}
{"Action":"pass","Package":"x/kept","Test":"TestD","Elapsed":99}
{"Action":"output","Package":"x/kept","Output":"ok  \tx/kept\t(cached)\n"}
{"Action":"pass","Package":"x/kept","Elapsed":0}
{"Action":"output","Package":"x/none","Output":"?   \tx/none\t[no test files]\n"}
{"Action":"skip","Package":"x/none","Elapsed":0}
`
	const want = `broken.go:1: no
    b.go:1: wrong
--- FAIL: TestB
panic: gone
FAIL	x/bad	2.000s
ok  	x/good	3.100s
ok  	x/kept	(cached)
?   	x/none	[no test files]
slowest packages:
     3.1s  x/good
     2.0s  x/bad
     0.0s  x/none
slowest tests:
     3.0s  x/good TestA
     1.5s  x/bad TestB
`
	var out strings.Builder
	r := &report{out: &out}
	must.Succeed(t, r.readEvents(strings.NewReader(events)))
	if r.printSummary(&out, listed, 0, 0); out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

// The processor time of a run is divided by the steps of the go command; a step that Go's cache answered has none.
func TestCost_dividesTheStepsOfGo(t *testing.T) {
	c := cost{all: 100e9}
	c.addActions([]byte(`[
		{"Mode":"build","CmdUser":10000000000,"CmdSys":2000000000},
		{"Mode":"build"},
		{"Mode":"link","CmdUser":7000000000,"CmdSys":1000000000},
		{"Mode":"link"},
		{"Mode":"vet","CmdUser":3000000000},
		{"Mode":"test run"}]`))
	var out strings.Builder
	c.print(&out, 60e9)
	if want := "60 s, and 100 s of a processor: compiling 12, linking 1 programs 8, vet 3, tests 77\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// The options of slowest stand before those of go test. A module beside it gets the options that hold for every module.
func TestParseArgs(t *testing.T) {
	o := must.Get(parseArgs(strings.Fields("-table t.txt -beside a -beside b -vet=off -p 3 -timeout=20m ./x -go")))(t)
	if o.program != "go" || o.table != "t.txt" || !slices.Equal(o.beside, []string{"a", "b"}) ||
		!slices.Equal(o.args, []string{"-vet=off", "-p", "3", "-timeout=20m", "./x", "-go"}) {
		t.Errorf("got %+v", o)
	}
	if got := othersOptions(o.args); !slices.Equal(got, []string{"-vet=off", "-timeout=20m"}) {
		t.Errorf("another module gets %q", got)
	}
	if _, err := parseArgs([]string{"-table"}); err == nil {
		t.Error("an option without a value is taken")
	}
}
