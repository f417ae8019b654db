// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func TestMain(m *testing.M) {
	if played, err := playRole(); played {
		exitWith(err)
	}
	quietLog("FATAL")
	os.Exit(m.Run())
}

// Only counts matter on this small scale: a lone write is a transaction and an fsync, without a read.
func TestRun_countsWhatAWriteIs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts six servers")
	}
	dir := t.TempDir()
	p := plan{Rounds: 1, Profiled: 1, Load: []load{{1, 24}, {8, 64}}, Profiles: filepath.Join(dir, "profiles")}
	r := must.Get(p.runPlan(t.Context(), testWriter{t}))(t)
	for _, op := range operations {
		for _, a := range []string{armOne, armSixteen, armPlain} {
			at := writeName(op, 1, a)
			// The archive of the history has a transaction for a page of steps, and etcd syncs again for a snapshot of
			// its log.
			for what, more := range map[string]float64{"txns": 0.1, "fsyncs": 0.2} {
				if got, ok := r.Median(at + "/" + what); !ok || got < 1 || got > 1+more {
					t.Errorf("%s: %v %s a write, want 1", at, got, what)
				}
			}
			reads := 0.0
			if op == "delete" && a == armPlain {
				reads = 1 // the generic registry reads an object before its deletion
			}
			// Caches sometimes read too, so this is not exact.
			if got, _ := r.Median(at + "/reads"); got < reads || got > reads+0.5 {
				t.Errorf("%s: %v reads a write, want %v", at, got, reads)
			}
			if v, _ := r.Median(at + "/rate"); v <= 0 {
				t.Errorf("%s: no rate", at)
			}
		}
	}
	for _, name := range []string{"one-zone-1.cpu.pb.gz", "plain-8.cpu.pb.gz", "ledger.allocs.pb.gz"} {
		if info, err := os.Stat(filepath.Join(dir, "profiles", name)); err != nil || info.Size() == 0 {
			t.Errorf("no profile %s: %v", name, err)
		}
	}
	var first, second bytes.Buffer
	report{Results: r}.printReport(&first)
	must.Succeed(t, r.Finish(dir, true, &first))
	must.Succeed(t, r.Finish(dir, false, &second))
	for _, want := range []string{"a lone caller's create ÷ plain, p50", "creates by 8"} {
		if strings.Contains(want, "lone") != strings.Contains(first.String(), want) {
			t.Errorf("%q:\n%s", want, first.String())
		}
	}
	if !strings.Contains(second.String(), "0 of ") {
		t.Errorf("a run differs from itself:\n%s", second.String())
	}
	t.Log("\n" + first.String())
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
