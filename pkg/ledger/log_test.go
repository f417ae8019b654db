// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"strings"
	"testing"
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
