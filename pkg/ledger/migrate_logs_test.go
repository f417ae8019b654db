// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// A log is read as it was written, by the server that comes after a crash (I4); what is no
// log, or not all of one, is an error and carries nothing out.
func TestRedoLog_isReadAsWritten_I4(t *testing.T) {
	log := redoLog{Entries: []logEntry{
		{Key: "/registry/kubi.zone/records/team/made", Value: []byte("k8s\x00\x01\xff")},
		{Key: "/registry/kubi.zone/records/team/gone"},
		{Key: "/registry/kubi.zone/records/team/long", Value: []byte(strings.Repeat("x", 700))},
	}}
	data := encodeLog(log)
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

// encodeLog writes a log as the servers before format 13 did.
func encodeLog(l redoLog) []byte {
	size := 0
	for _, e := range l.Entries {
		size += len(e.Key) + len(e.Value) + 16 // tags and lengths
	}
	out := make([]byte, 0, size)
	for _, e := range l.Entries {
		inner := 1 + protowire.SizeBytes(len(e.Key))
		if e.Value != nil {
			inner += 1 + protowire.SizeBytes(len(e.Value))
		}
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendVarint(out, uint64(inner))
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendString(out, e.Key)
		if e.Value != nil {
			out = protowire.AppendTag(out, 2, protowire.BytesType)
			out = protowire.AppendBytes(out, e.Value)
		}
	}
	return out
}
