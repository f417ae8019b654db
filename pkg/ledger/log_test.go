// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// A log is read as it was written, by whoever comes after a crash (I4); what is no
// log, or not all of one, is an error and carries nothing out.
func TestRedoLog_isReadAsWritten_I4(t *testing.T) {
	log := redoLog{Entries: []logEntry{
		{Key: "/registry/kubi.zone/records/team/made", Value: []byte("k8s\x00\x01\xff")},
		{Key: "/registry/kubi.zone/records/team/gone"},
		{Key: "/registry/kubi.zone/records/team/long", Value: []byte(strings.Repeat("x", 700))},
	}}
	data := log.encode()
	if have, err := decodeLog([]byte(data)); err != nil || !reflect.DeepEqual(have, log) {
		t.Errorf("%v: %d entries", err, len(have.Entries))
	}
	whole := 0
	for i := range data {
		if cut, err := decodeLog([]byte(data[:i])); err == nil {
			whole++
			for j, e := range cut.Entries {
				if !reflect.DeepEqual(e, log.Entries[j]) {
					t.Fatalf("cut at %d, entry %d is another", i, j)
				}
			}
		}
	}
	if whole != 3 { // nothing, and after the first and the second entry
		t.Errorf("%d beginnings of a log are taken for one, want 3", whole)
	}
	for _, other := range []string{`{"e":[]}`, "\x0a\x02\x12\x00", "\x08\x01", "\x1a\x00"} {
		if _, err := decodeLog([]byte(other)); err == nil {
			t.Errorf("%q is taken for a log", other)
		}
	}
}

// A turn that something else held up says nothing of the disk; many that all took long do.
func TestTurns_theLeastOfTheLastCounts(t *testing.T) {
	l := &Ledger{config: Config{slowTurn: slowTurn}}
	for _, x := range []struct {
		trip time.Duration
		n    int
		slow bool
	}{
		{0, 0, false},
		{slowTurn, 1, true}, // all that is known
		{slowTurn / 2, 1, false},
		{3 * slowTurn, manyTurns - 1, false},
		{slowTurn, 1, true},
		{slowTurn - 1, 1, false},
	} {
		for range x.n {
			l.turns.took(x.trip)
		}
		if got := l.slow(); got != x.slow {
			t.Errorf("after %d turns of %s: slow is %t, want %t (the least is %s)", x.n, x.trip, got, x.slow, l.turns.disk())
		}
	}
}

// Where the disk is fast nobody is waited for, and a small batch says that there is no company.
func TestGather_waitsWhereTheDiskIsSlow(t *testing.T) {
	for _, x := range []struct {
		turn    time.Duration
		company int
		want    int // that are waited for
	}{
		{slowTurn, companyOf, companyOf},
		{slowTurn, companyOf - 1, 0},
		{slowTurn / 2, companyOf, 0},
	} {
		l, h := &Ledger{config: Config{slowTurn: slowTurn}}, &head{}
		l.turns.took(x.turn)
		l.gather(h, x.company, time.Now())
		if h.want != x.want {
			t.Errorf("after a turn of %s and a batch of %d: %d are waited for, want %d", x.turn, x.company, h.want, x.want)
		}
	}
}
