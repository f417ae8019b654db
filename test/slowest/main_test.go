// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	r := &report{out: &out, running: map[string]*pkg{}}
	must.Succeed(t, r.readEvents(strings.NewReader(events)))
	if r.printSummary(); out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
