// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/pkg/ledger/subrev"
)

func errorOf(o runtime.Object) error { return apierrors.FromObject(o) }

// TestWatch_resumedAnywhere: a watch from any revision, by any server, after a restart and after a compaction, shows
// everything after it in order, or 410. A server that stays has all of it.
func TestWatch_resumedAnywhere(t *testing.T) {
	w := need(t)
	r := rand.New(rand.NewPCG(*seed, 410))
	from := w.revision(t)
	if _, err := w.carryOut(t, draw(3)); err != nil {
		t.Error(err)
	}
	w.settled(t)
	w.mark(t)
	to := w.revision(t)
	whole, resumed := map[string]history{}, map[string]int{}
	for _, kind := range []string{"zones", "records"} {
		h, err := w.watched(t, 0, kind, from)
		if err != nil {
			t.Fatal(err)
		}
		whole[kind] = h
	}
	resume := func(what string, revision int64, mayBeGone bool) {
		t.Helper()
		for kind, all := range whole {
			server := r.IntN(2)
			got, err := w.watched(t, server, kind, revision)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				if !mayBeGone {
					t.Errorf("%s: server %d says that revision %d of %s is gone: %v", what, server, revision, kind, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: server %d: %v", what, server, err)
				continue
			}
			var want []string
			for _, c := range all {
				if c.revision > revision {
					want = append(want, c.String())
				}
			}
			resumed[what]++
			if !slices.Equal(got.keys(), want) {
				t.Errorf("%s: server %d shows of %s after %d\n%q\nwant\n%q", what, server, kind, revision, got.keys(), want)
			}
		}
	}
	// later is a resumption that no server may refuse, from the version of a list made since the server started: what
	// comes after that is what the other servers show.
	later := func(what string) {
		t.Helper()
		since := w.revision(t)
		w.mark(t)
		for kind := range whole {
			h, err := w.watched(t, 0, kind, since)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			whole[kind] = append(whole[kind], h...)
		}
		resume(what, since, false)
	}
	anywhere := func() int64 { return from + r.Int64N(to-from) }
	for range 3 {
		resume("as they are", anywhere(), false)
	}
	for i := range w.servers {
		if err := w.restart(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		resume("restarted", anywhere(), true)
	}
	later("restarted")
	middle := from + (to-from)/2
	compacted, _ := subrev.Split(middle)
	if _, err := w.client.Compact(t.Context(), compacted); err != nil {
		t.Fatal(err)
	}
	resume("compacted", from, true)
	resume("compacted", middle, true)
	resume("compacted", middle+(to-middle)/2, true)
	later("compacted")
	if err := w.restart(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	resume("compacted and restarted", from, true)
	resume("compacted and restarted", middle+(to-middle)/2, true)
	later("compacted and restarted")
	// A client that lists, as after a 410, goes on from there.
	before := w.revision(t)
	w.mark(t)
	to = w.revision(t)
	for kind := range whole {
		for server := range w.servers {
			got, err := w.watched(t, server, kind, before)
			if err != nil {
				t.Fatal(err)
			}
			if whole[kind] = got; len(got) == 0 {
				t.Errorf("server %d shows no %s after %d", server, kind, before)
			}
		}
	}
	for _, what := range []string{"as they are", "restarted", "compacted", "compacted and restarted"} {
		if resumed[what] == 0 {
			t.Errorf("%s: no watch was resumed", what)
		}
	}
	t.Logf("watches were resumed: %v", resumed)
}
