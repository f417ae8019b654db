// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// again is how often a part of what failed is done before it is taken as harmless: what meets in one run need not in
// the next.
const again = 4

// smaller is delta debugging (Zeller and Hildebrandt, ddmin): what fails still when parts of it are left out, down to
// what fails no more without any one of them. fails says whether a part does; more is asked before each question.
func smaller[T any](all []T, fails func([]T) bool, more func() bool) []T {
	for parts := 2; len(all) > 1; {
		size := (len(all) + parts - 1) / parts
		found := false
		for at := 0; at < len(all) && !found; at += size {
			if !more() {
				return all
			}
			if rest := slices.Concat(all[:at], all[min(at+size, len(all)):]); len(rest) > 0 && fails(rest) {
				all, found = rest, true
			}
		}
		switch {
		case found:
			parts = max(parts-1, 2)
		case size == 1:
			return all
		default:
			parts = min(2*parts, len(all))
		}
	}
	return all
}

// shrunk does parts of what failed again, each on servers and a store of its own, for as long as -shrink says; it
// returns the smallest part that failed and a text about what happened in it. Where nothing of it fails again, all is
// told as it happened.
func (w *world) shrunk(t *testing.T, ops []operation, first ran) ([]operation, string) {
	t.Helper()
	until := time.Now().Add(*shrinking)
	last, times := first, 0
	fails := func(part []operation) bool {
		for range again {
			if time.Now().After(until) {
				return false
			}
			f, err := w.fresh(t.Context())
			if err != nil {
				t.Logf("no fresh servers: %v", err)
				return false
			}
			times++
			r := f.run(t, part)
			f.close()
			if r.wrong != nil {
				last = r
				return true
			}
		}
		return false
	}
	smallest := ops
	// The servers that failed hold what was there before as well, and some of it may be what it takes.
	if fails(ops) {
		smallest = smaller(ops, fails, func() bool { return time.Now().Before(until) })
	} else {
		last = first
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%v\n\n%d operations of %d, done again %d times\n\n", last.wrong, len(smallest), len(ops), times)
	about := last.about
	if len(smallest) < len(ops) {
		about = nil // it is all about this
	}
	out.WriteString(scenario(last.asked, last.history, about))
	return smallest, out.String()
}

// A failure that needs two of a hundred, one before the other, is cut down to these two; and when time is up,
// what there is by then is returned.
func TestSmaller_leavesWhatItTakes(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	asked := 0
	fails := func(part []int) bool {
		asked++
		x, y := slices.Index(part, 17), slices.Index(part, 83)
		return x >= 0 && y > x
	}
	if got := smaller(all, fails, func() bool { return true }); !slices.Equal(got, []int{17, 83}) {
		t.Errorf("%v is left", got)
	}
	if asked > 100 {
		t.Errorf("it took %d questions", asked)
	}
	if got := smaller(all, func([]int) bool { return false }, func() bool { return true }); len(got) != len(all) {
		t.Errorf("%d are left of what fails only whole", len(got))
	}
	left := 4
	got := smaller(all, fails, func() bool { left--; return left >= 0 })
	if len(got) == len(all) || len(got) < 2 || !fails(got) {
		t.Errorf("after four questions %d are left", len(got))
	}
}

// TestShrink_brokenServers: servers that leave out a compare (-broken) fail, and what it takes is few operations to
// read.
func TestShrink_brokenServers(t *testing.T) {
	if *broken == "" {
		t.Skip("the servers are whole: -broken zone breaks them, -shrink bounds how long it may take")
	}
	w := need(t)
	for range 10 {
		f, err := w.fresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ops := draw(4)
		r := f.run(t, ops)
		f.close()
		if r.wrong == nil {
			*seed++
			continue
		}
		began := time.Now()
		smallest, text := w.shrunk(t, ops, r)
		path := filepath.Join(os.TempDir(), fmt.Sprintf("kubizone-model-%d.txt", *seed))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Logf("seed %d: %d operations of %d after %s, in %s:\n%s", *seed, len(smallest), len(ops), time.Since(began).Round(time.Second), path, text)
		if len(smallest) > len(ops)/4 {
			t.Errorf("%d operations of %d are left", len(smallest), len(ops))
		}
		return
	}
	t.Errorf("servers without the compare %q are not found out", *broken)
}
