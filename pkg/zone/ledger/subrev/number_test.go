// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"kubi.zone/kubizone/test/must"
)

func makeMapping(t testing.TB) *Mapping {
	t.Helper()
	return must.Get(New("/r/pods/", "/r/others/"))(t)
}

func TestVersion(t *testing.T) {
	for _, c := range []struct{ revision, sub, version, whole int64 }{
		{0, 0, 0, -1}, {1, 0, 128, 0}, {1, Last, 255, 1}, {2, 0, 256, 1}, {2, 126, 382, 1}, {2, Last, 383, 2},
		{1_000_000_000_000, Last, 128_000_000_000_127, 1_000_000_000_000}, // as added by a restore
		{1<<56 - 1, Last, math.MaxInt64, -1},                              // the last version; 2,000 years of 1,000,000 writes a second
	} {
		if got := Version(c.revision, c.sub); got != c.version {
			t.Errorf("Version(%d, %d) = %d, not %d", c.revision, c.sub, got, c.version)
		}
		if revision, sub := Split(c.version); revision != c.revision || sub != c.sub {
			t.Errorf("Split(%d) = %d, %d", c.version, revision, sub)
		}
		if c.version != math.MaxInt64 && wholeRevision(c.version) != c.whole {
			t.Errorf("whole(%d) = %d, not %d", c.version, wholeRevision(c.version), c.whole)
		}
		if isInside(c.version) != (c.version > 0 && c.sub != Last) {
			t.Errorf("inside(%d)", c.version)
		}
	}
}

func TestStored(t *testing.T) {
	for _, value := range []string{"{}", "k8s\x00\n", "k8s:enc:aesgcm:v1:k:\x90", "\xd9\xd9\xf7\xa1", "\x80", "\x7f", "\xff\xff"} {
		for sub := range int64(Objects) {
			in := []byte(value)
			put := encodeValue(in, sub)
			rest, got := decodeValue(put)
			if string(rest) != value || got != sub || string(in) != value {
				t.Errorf("%q at %d is stored as %q and loaded as %q at %d", value, sub, put, rest, got)
			}
			if plain := value[0] < octet; sub == Last && plain != bytes.Equal(put, in) {
				t.Errorf("%q alone is stored as %q: a form of Kubernetes stays as it is", value, put)
			}
		}
	}
	if rest, sub := decodeValue(nil); len(rest) > 0 || sub != Last {
		t.Errorf("nothing is loaded as %q at %d", rest, sub)
	}
}

func TestNew_refuses(t *testing.T) {
	for _, resources := range [][]string{{"/r/pods"}, {""}, {"/r/", "/r/pods/"}, {"/r/pods/", "/r/pods/"}} {
		if _, err := New(resources...); err == nil {
			t.Errorf("%q: no error", resources)
		}
	}
	if _, err := New("/r/zones/", "/r/zonesets/", "/r/records/"); err != nil {
		t.Error(err)
	}
}

func TestResourcesIn(t *testing.T) {
	m := makeMapping(t)
	for _, c := range []struct {
		key, end string
		touched  []int
		in       bool
	}{
		{"/r/pods/a", "", []int{0}, true}, {"/r/pods/", "", nil, false}, {"/r/pods", "", nil, false}, {"/r/podsx", "", nil, false},
		{"/r/pods/", "/r/pods0", []int{0}, true}, {"/r/pods/ns/", "/r/pods/ns0", []int{0}, true}, {"/r/pods", "/r/pods0", []int{0}, false},
		{"/r/", "/r0", []int{0, 1}, false}, {"\x00", "\x00", []int{0, 1}, false}, {"/r/pods/a", "\x00", []int{0}, false},
		{"/r/others/z", "/r/pods/a", []int{0, 1}, false}, {"/r/outbox/", "/r/outbox0", nil, false}, {"/r/p", "/r/pods/", nil, false}, {"/r/pods0", "/r/q", nil, false},
	} {
		touched, in := m.resourcesIn(makeSpan(c.key, c.end))
		slices.Sort(touched)
		if !slices.Equal(touched, c.touched) || in != c.in {
			t.Errorf("[%q, %q) touches %v (%v), not %v (%v)", c.key, c.end, touched, in, c.touched, c.in)
		}
	}
}

// applyOps is an independent model that applies operations to a set of keys.
func applyOps(there map[string]bool, ops []clientv3.Op) (events []*clientv3.Event, by []int) {
	for i, op := range ops {
		switch {
		case op.IsPut():
			events, by = append(events, &clientv3.Event{Type: mvccpb.Event_PUT, Kv: &mvccpb.KeyValue{Key: op.KeyBytes(), Value: op.ValueBytes(), ModRevision: 7}}), append(by, i)
		case op.IsDelete():
			var gone []string
			for key := range there {
				if spanOf(op).contains(key) {
					gone = append(gone, key)
				}
			}
			slices.Sort(gone)
			for _, key := range gone {
				events, by = append(events, &clientv3.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: 7}}), append(by, i)
			}
		}
	}
	return events, by
}

// expectAgreement requires that the numbers given before sending equal those of a watch and of a read, and are unique
// and in the order of the operations. It reports whether the transaction is allowed.
func expectAgreement(t *testing.T, m *Mapping, there map[string]bool, ops []clientv3.Op, compared func(string) bool) bool {
	t.Helper()
	sent := slices.Clone(ops)
	subs, err := m.numberWrites(sent, func(key string) bool { return there[key] && compared(key) })
	if err != nil {
		return false
	}
	events, by := applyOps(there, sent)
	counted, ok := m.countEvents(events, nil)
	ofResource := map[int]int{}
	for _, e := range events {
		ofResource[resourceIndex(m.resources, e.Kv.Key)]++
	}
	if ofResource[0] > Objects || ofResource[1] > Objects { // only a range deletes so many
		if ok {
			t.Fatalf("%d and %d events are numbered", ofResource[0], ofResource[1])
		}
		return true
	}
	if !ok {
		t.Fatalf("%d events are not numbered: %v", len(events), describeOps(sent))
	}
	last := map[int]int64{0: -1, 1: -1}
	for i, e := range events {
		r := resourceIndex(m.resources, e.Kv.Key)
		if r < 0 {
			if counted[i] != Last {
				t.Fatalf("%s is no object and at %d", e.Kv.Key, counted[i])
			}
			continue
		}
		op := ops[by[i]]
		if len(op.RangeBytes()) == 0 && counted[i] != subs[by[i]] {
			t.Fatalf("%s is sent as %d and counted as %d: %v", e.Kv.Key, subs[by[i]], counted[i], describeOps(sent))
		}
		if counted[i] <= last[r] {
			t.Fatalf("%s at %d follows %d: %v", e.Kv.Key, counted[i], last[r], describeOps(sent))
		}
		if last[r] >= 0 && counted[i] != last[r]+1 {
			t.Fatalf("%s at %d follows %d with a gap", e.Kv.Key, counted[i], last[r])
		}
		last[r] = counted[i]
		if e.Type == mvccpb.Event_PUT {
			if value, sub := decodeValue(e.Kv.Value); sub != counted[i] || !bytes.Equal(value, op.ValueBytes()) {
				t.Fatalf("%s is loaded as %q at %d, was put as %q, is counted as %d", e.Kv.Key, value, sub, op.ValueBytes(), counted[i])
			}
		}
	}
	for r, sub := range last {
		if ofResource[r] > 0 && sub != Last {
			t.Fatalf("the last of %s is at %d", m.resources[r], sub)
		}
	}
	return true
}

func describeOps(ops []clientv3.Op) (out []string) {
	for _, op := range ops {
		out = append(out, fmt.Sprintf("put=%v %s-%s %q", op.IsPut(), op.KeyBytes(), op.RangeBytes(), op.ValueBytes()))
	}
	return out
}

// readOperations decodes two bytes for each operation. The operations have different keys, as etcd demands.
func readOperations(description []byte) (there map[string]bool, ops []clientv3.Op, compared func(string) bool) {
	there = map[string]bool{}
	rooms := []string{"/r/pods/ns/", "/r/pods/ns2/", "/r/others/ns/", "/r/journal/"}
	values := []string{"{}", "k8s\x00", "\xd9\xd9\xf7", "\x80"}
	used := map[string]bool{}
	without := map[string]bool{}
	for len(description) >= 2 {
		what, key := description[0], fmt.Sprintf("%s%03d", rooms[description[0]>>2&3], description[1])
		description = description[2:]
		if used[key] {
			continue
		}
		used[key] = true
		switch what & 3 {
		case 0, 1:
			ops = append(ops, clientv3.OpPut(key, values[what>>4&3]))
		case 2:
			there[key] = what>>4&7 != 0 // one in eight is absent
			without[key] = what>>7 == 1
			ops = append(ops, clientv3.OpDelete(key))
		case 3:
			there[key] = true // without an operation
		}
		if what == 0xff {
			ops = append(ops, clientv3.OpDelete("/r/pods/ns3/", clientv3.WithPrefix()))
			for i := range append(description, 0)[0] { // as many as the next octet says
				there[fmt.Sprintf("/r/pods/ns3/%03d", i)] = true
			}
		}
	}
	return there, ops, func(key string) bool { return !without[key] }
}

func TestNumberWrites_agreesWithWhatAWatchCounts(t *testing.T) {
	m := makeMapping(t)
	random := rand.New(rand.NewPCG(1, 2))
	taken, refused := 0, 0
	for range 20_000 {
		description := make([]byte, random.IntN(60))
		for i := range description {
			description[i] = byte(random.IntN(256))
			if i%2 == 0 && random.IntN(4) > 0 {
				description[i] |= 0x10 // present
				description[i] &= 0x7f // compared
			}
		}
		there, ops, compared := readOperations(description)
		if expectAgreement(t, m, there, ops, compared) {
			taken++
		} else {
			refused++
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d taken, %d refused: both are to be seen", taken, refused)
	}
}

func FuzzNumber(f *testing.F) {
	f.Add([]byte{0, 1, 0x12, 2, 0, 3})
	f.Add([]byte{0xff, 1, 200, 2})
	f.Add(bytes.Repeat([]byte{0x12, 7, 0x16, 9}, 3))
	m := must.Get(New("/r/pods/", "/r/others/"))(f)
	f.Fuzz(func(t *testing.T, description []byte) {
		there, ops, compared := readOperations(description)
		expectAgreement(t, m, there, ops, compared)
	})
}

// A write that etcd may drop or multiply, such as the deletion of an absent key or of a range, must be the only write
// of its resource in a transaction. Otherwise the numbers given here would differ from those that a watch counts. Such
// transactions are refused, as are transactions with more than 128 objects of a resource.
func TestNumberWrites_refuses(t *testing.T) {
	m := makeMapping(t)
	pod := func(i int) clientv3.Op { return clientv3.OpPut(fmt.Sprintf("/r/pods/ns/%d", i), "{}") }
	puts := func(n int) (out []clientv3.Op) {
		for i := range n {
			out = append(out, pod(i))
		}
		return out
	}
	gone, all := clientv3.OpDelete("/r/pods/ns/gone"), clientv3.OpDelete("/r/pods/", clientv3.WithPrefix())
	for _, c := range []struct {
		what  string
		ops   []clientv3.Op
		error string // "": allowed
	}{
		{"128 objects", puts(128), ""},
		{"129 objects", puts(129), "more than 128 objects of /r/pods/"},
		{"128 of one resource and one of another", append(puts(128), clientv3.OpPut("/r/others/a", "{}")), ""},
		{"a deletion of what may be absent, last", []clientv3.Op{pod(1), gone}, "compare ModRevision"},
		{"a deletion of what may be absent, first", []clientv3.Op{gone, pod(1)}, "compare ModRevision"},
		{"a deletion of what may be absent, alone of its resource", []clientv3.Op{gone, clientv3.OpPut("/r/others/a", "{}"), clientv3.OpPut("/r/journal/1", "{}")}, ""},
		{"a range beside a put", []clientv3.Op{pod(1), all}, "compare ModRevision"},
		{"a range alone", []clientv3.Op{all}, ""},
		{"a range over both resources", []clientv3.Op{clientv3.OpDelete("/r/", clientv3.WithPrefix()), clientv3.OpPut("/r/others/a", "{}")}, "compare ModRevision"},
		{"no value", []clientv3.Op{clientv3.OpPut("/r/pods/ns/a", "", clientv3.WithIgnoreValue())}, "put with its value"},
		{"no value of what is no object", []clientv3.Op{clientv3.OpPut("/r/journal/1", "")}, ""},
		{"a transaction inside that writes objects", []clientv3.Op{clientv3.OpTxn(nil, nil, []clientv3.Op{pod(1)})}, "transaction inside a transaction"},
		{"a transaction inside that writes none", []clientv3.Op{clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("/r/journal/1", "x"), clientv3.OpGet("/r/pods/ns/1")}, nil), pod(1)}, ""},
	} {
		_, err := m.numberWrites(slices.Clone(c.ops), func(string) bool { return false })
		if (err == nil) != (c.error == "") || err != nil && !strings.Contains(err.Error(), c.error) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}

// Writes of other programs have no octets, and etcdctl deletes ranges.
func TestCountEvents_whatOthersWrote(t *testing.T) {
	m := makeMapping(t)
	event := func(key, value string) *clientv3.Event {
		e := &clientv3.Event{Type: mvccpb.Event_PUT, Kv: &mvccpb.KeyValue{Key: []byte(key), Value: []byte(value), ModRevision: 7}}
		if value == "" {
			e.Type = mvccpb.Event_DELETE
		}
		return e
	}
	deleted := func(n int) (out []*clientv3.Event) {
		for i := range n {
			out = append(out, event(fmt.Sprintf("/r/pods/ns/%03d", i), ""))
		}
		return out
	}
	for _, c := range []struct {
		what   string
		events []*clientv3.Event
		subs   []int64 // nil: not numbered
	}{
		{"a lone put", []*clientv3.Event{event("/r/pods/ns/a", "{}")}, []int64{127}},
		{"a lone put of a value that had an octet", []*clientv3.Event{event("/r/pods/ns/a", "\x85{}")}, []int64{5}},
		{"two puts", []*clientv3.Event{event("/r/pods/ns/a", "{}"), event("/r/pods/ns/b", "{}")}, nil},
		{"a put of each resource", []*clientv3.Event{event("/r/pods/ns/a", "{}"), event("/r/others/b", "{}")}, []int64{127, 127}},
		{"deletions before a put", append(deleted(2), event("/r/pods/ns/a", "{}")), []int64{125, 126, 127}},
		{"deletions after a put without an octet", append([]*clientv3.Event{event("/r/pods/ns/a", "{}")}, deleted(2)...), nil},
		{"deletions after a put with a low octet", append([]*clientv3.Event{event("/r/pods/ns/a", "\x83{}")}, deleted(1)...), []int64{3, 127}},
		{"two of one octet", []*clientv3.Event{event("/r/pods/ns/a", "\xfe{}"), event("/r/pods/ns/b", "\xfe{}")}, nil},
		{"octets that fall", []*clientv3.Event{event("/r/pods/ns/a", "\xfe{}"), event("/r/pods/ns/b", "\xf0{}")}, nil},
		{"no room before an octet", append(deleted(1), event("/r/pods/ns/a", "\x80{}")), nil},
		{"128 deletions", deleted(128), nil},
		{"129 deletions", deleted(129), nil},
	} {
		want := c.subs
		if c.what == "128 deletions" {
			for i := range int64(128) {
				want = append(want, i)
			}
		}
		if got, ok := m.countEvents(c.events, nil); !slices.Equal(got, want) || ok != (want != nil) {
			t.Errorf("%s: %v (%v), not %v", c.what, got, ok, want)
		}
	}
}
