// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package figures

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func TestCompare_namesWhatMoved(t *testing.T) {
	before, after := New(0), New(0)
	for i := range 3 {
		before.Add("same", "ms", float64(10+i))
		after.Add("same", "ms", float64(11+i))
		before.Add("moved", "ms", float64(10+i))
		after.Add("moved", "ms", float64(20+2*i))
		after.Add("new", "ms", 1)
	}
	file := filepath.Join(t.TempDir(), "kept.jsonl")
	must.Succeed(t, before.Write(file))
	kept := must.Get(Read(file))(t)
	var out bytes.Buffer
	compareRuns(kept, after, &out)
	if got := out.String(); !strings.Contains(got, "moved   11 ms  22   2.00") || strings.Contains(got, "same") || strings.Contains(got, "new") {
		t.Error(got)
	}
}

func TestTarget_isMetOnItsSide(t *testing.T) {
	for _, c := range []struct {
		target Target
		value  float64
		met    bool
	}{
		{Target{Most: true, Bound: 1.15}, 1.15, true}, {Target{Most: true, Bound: 1.15}, 1.16, false},
		{Target{Bound: 0.85}, 0.85, true}, {Target{Bound: 0.85}, 0.84, false},
	} {
		if got := c.target.Met(c.value); got != c.met {
			t.Errorf("%+v, %v: %t", c.target, c.value, got)
		}
	}
}

func TestSumCounters_addsOnlyTheMetric(t *testing.T) {
	const text = "# TYPE a_total counter\na_total{of=\"x y\"} 2\na_total{of=\"z\"} 4e+01\na_total_more 7\nb_total 3\n"
	all := func(string) bool { return true }
	for _, c := range []struct {
		name  string
		match func(string) bool
		want  float64
	}{
		{"a_total", all, 42}, {"a_total", func(labels string) bool { return labels == `{of="z"}` }, 40},
		{"b_total", all, 3}, {"c_total", all, 0},
	} {
		if got := must.Get(SumCounters([]byte(text), c.name, c.match))(t); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestCPU_isOfTheProcess(t *testing.T) {
	before := must.Get(CPU(os.Getpid()))(t)
	var used time.Duration
	for began := time.Now(); used < 50*time.Millisecond; {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("%s after half a minute of computing", used)
		}
		now := must.Get(CPU(os.Getpid()))(t)
		used = now - before
	}
}
