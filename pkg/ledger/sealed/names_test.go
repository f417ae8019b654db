// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const prefix = "/p/ledger/"

// layout: names/<view>/<labels>, and nothing else with labels.
var layout = Layout{Prefix: prefix, Except: prefix + "config", Labels: func(key string) int {
	rest, ok := strings.CutPrefix(key, prefix+"names/")
	_, labels, has := strings.Cut(rest, "/")
	if !ok || !has {
		return -1
	}
	return len(key) - len(labels)
}}

func newSeal(t testing.TB, names bool) *Seal {
	t.Helper()
	s, err := New(layout, NewKeys(names))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t testing.TB, s *Seal, key string) string {
	t.Helper()
	stored, err := s.sealKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// FuzzSealKey: a key comes back as it was, no label of it is in sight, and what
// begins with it in one order begins with it in the other (promise 1).
func FuzzSealKey(f *testing.F) {
	for _, key := range []string{
		"names/@/", "names/@/org.", "names/@/org.example.", "names/internal/org.example.*.", "names/@/org.example./r/ns/www",
		"names/@//r/ns/www", "names/@", "names/", "outbox/1", "config", "", "names/@/arpa.in-addr.2.0~25.", "names/@/org", "names/@/org..a.", "names/@/org.\x00",
	} {
		f.Add(key, "names/@/org.")
	}
	s := newSeal(f, true)
	f.Fuzz(func(t *testing.T, key, other string) {
		key, other = prefix+key, prefix+other
		head, labels, tail, inside := s.splitKey(key)
		wrong := labels != "" && (!strings.HasSuffix(labels, ".") || strings.HasPrefix(labels, ".") || strings.Contains(labels, ".."))
		stored, err := s.sealKey(key)
		if (err != nil) != wrong {
			t.Fatalf("%q: %v", key, err)
		}
		if err != nil {
			return
		}
		if back, err := s.openKey(stored); err != nil || back != key {
			t.Fatalf("%q is stored as %q, and that is %q, %v", key, stored, back, err)
		}
		if labels != "" && strings.Contains(stored, "/"+labels) || !strings.HasPrefix(stored, head) || !strings.HasSuffix(stored, tail) || !inside && stored != key {
			t.Fatalf("%q is stored as %q", key, stored)
		}
		if _, theirs, theirTail, _ := s.splitKey(other); s.isWhole(other) && (theirTail == "" || theirs == labels) {
			if begins, err := s.sealKey(other); err == nil && strings.HasPrefix(stored, begins) != strings.HasPrefix(key, other) {
				t.Fatalf("%q begins with %q, stored %q and %q", key, other, stored, begins)
			}
		}
	})
}

// Promise 1: equal labels are told apart by what stands before them.
func TestSealKey_hidesThatLabelsAreEqual(t *testing.T) {
	s := newSeal(t, true)
	last := func(key string) string {
		labels := strings.Split(strings.TrimSuffix(seal(t, s, prefix+key), "."), ".")
		label := labels[len(labels)-1]
		return label[strings.LastIndexByte(label, '/')+1:]
	}
	seen := map[string]string{}
	for _, key := range []string{"names/@/www.", "names/internal/www.", "names/@/org.www.", "names/@/net.www.", "names/@/www.www."} {
		if twin, ok := seen[last(key)]; ok {
			t.Errorf("the last label of %s is stored as that of %s", key, twin)
		}
		seen[last(key)] = key
	}
	if newSeal := newSeal(t, true); seal(t, newSeal, prefix+"names/@/www.") == seal(t, s, prefix+"names/@/www.") {
		t.Error("another store's keys look the same")
	}
	if _, err := newSeal(t, true).openKey(seal(t, s, prefix+"names/@/www.")); err == nil {
		t.Error("another store's key is taken for our own")
	}
}

func randomKeys(n int) []string {
	labels := []string{"a", "b", "org", "example", "www", "*", "_tcp", "xn--bcher-kva", "0~25", "-", "~"}
	var keys []string
	for range n {
		key := prefix + []string{"names/@/", "names/internal/", "names/in/"}[rand.IntN(3)]
		for range rand.IntN(5) {
			key += labels[rand.IntN(len(labels))] + "."
		}
		if rand.IntN(3) == 0 {
			key += "/r/" + labels[rand.IntN(4)] + "/" + labels[rand.IntN(4)]
		}
		keys = append(keys, key)
	}
	keys = append(keys, prefix+"names/@/org./r/a/a", prefix+"names/@/org./r/b/a", prefix+"names/@//r/a/a", prefix+"names/@//r/b/a", prefix+"outbox/1", prefix+"name", prefix+"zzz", prefix+"config", "/p/kubi.zone/records/org.example.", "/p/z")
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Promises 1 and 3: exactly what was in a range is in the range it becomes.
func TestSealRange_holdsWhatTheRangeHolds(t *testing.T) {
	s := newSeal(t, true)
	keys := randomKeys(1500)
	stored := make([]string, len(keys))
	for i, key := range keys {
		stored[i] = seal(t, s, key)
	}
	within := func(from, end, key string) bool { return key >= from && (key < end || end == "\x00") }
	check := func(from, end string) {
		t.Helper()
		sealedFrom, sealedEnd, err := s.sealRange(from, end)
		if err != nil {
			t.Fatalf("[%q, %q): %v", from, end, err)
		}
		for i, key := range keys {
			if within(sealedFrom, sealedEnd, stored[i]) != within(from, end, key) {
				t.Fatalf("[%q, %q) is [%q, %q): differs at %q, stored %q", from, end, sealedFrom, sealedEnd, key, stored[i])
			}
		}
	}
	prefixes := map[string]bool{prefix: true, "/p/": true, "/": true}
	for _, key := range keys {
		for i := range key {
			if p := key[:i+1]; strings.HasSuffix(p, "/") || strings.HasSuffix(p, ".") || !strings.HasPrefix(p, prefix+"names/") {
				prefixes[p] = true
			}
		}
		if strings.HasSuffix(key, ".") {
			prefixes[key+"/"] = true
		}
	}
	for p := range prefixes {
		check(p, clientv3.GetPrefixRangeEnd(p))
	}
	check("/p/", "\x00")
	check(prefix, prefix+"names/")
	check(prefix+"names/@/", prefix+"outbox/")
	check(prefix+"names0", prefix+"outbox0")
	if len(prefixes) < 500 {
		t.Errorf("only %d prefixes", len(prefixes))
	}
}

// Promise 3: paging from behind each key goes on in etcd's order, to the end of
// the prefix and no further.
func TestSealRange_goesOnBehindAKey(t *testing.T) {
	s := newSeal(t, true)
	type pair struct{ key, stored string }
	for _, p := range []string{prefix + "names/", prefix + "names/@/", prefix + "names/@/org.", prefix + "names/@/org./", prefix + "names/@//", prefix, "/"} {
		var all []pair
		for _, key := range randomKeys(800) {
			if strings.HasPrefix(key, p) {
				all = append(all, pair{key, seal(t, s, key)})
			}
		}
		slices.SortFunc(all, func(x, y pair) int { return strings.Compare(x.stored, y.stored) })
		for i, last := range all {
			from, end, err := s.sealRange(last.key+"\x00", clientv3.GetPrefixRangeEnd(p))
			if err != nil {
				t.Fatal(err)
			}
			for j, x := range all {
				if (x.stored >= from && x.stored < end) != (j > i) {
					t.Fatalf("%q behind %q: [%q, %q), %q", p, last.key, from, end, x.stored)
				}
			}
		}
		if len(all) < 2 {
			t.Errorf("%s: only %d keys", p, len(all))
		}
	}
}

// Promise 3: a range from a prefix to behind a key that was read there has that key and
// those that etcd has before it.
func TestSealRange_endsBehindAKey(t *testing.T) {
	s := newSeal(t, true)
	type pair struct{ key, stored string }
	for _, p := range []string{prefix + "names/", prefix + "names/@/", prefix + "names/@/org.", prefix + "names/@/org./"} {
		var all []pair
		for _, key := range randomKeys(800) {
			if strings.HasPrefix(key, p) {
				all = append(all, pair{key, seal(t, s, key)})
			}
		}
		slices.SortFunc(all, func(x, y pair) int { return strings.Compare(x.stored, y.stored) })
		for i, last := range all {
			from, end, err := s.sealRange(p, last.key+"\x00")
			if err != nil {
				t.Fatal(err)
			}
			for j, x := range all {
				if (x.stored >= from && x.stored < end) != (j <= i) {
					t.Fatalf("%q to behind %q: [%q, %q), %q", p, last.key, from, end, x.stored)
				}
			}
		}
		if len(all) < 2 {
			t.Errorf("%s: only %d keys", p, len(all))
		}
	}
}

// Promise 3: a range from behind one key that was read to behind a later one has what etcd has between them.
func TestSealRange_endsBehindAKeyOfTheNextPage(t *testing.T) {
	s := newSeal(t, true)
	type pair struct{ key, stored string }
	var all []pair
	for _, key := range randomKeys(60) {
		if strings.HasPrefix(key, prefix+"names/@/") {
			all = append(all, pair{key, seal(t, s, key)})
		}
	}
	slices.SortFunc(all, func(x, y pair) int { return strings.Compare(x.stored, y.stored) })
	for i := range all {
		for j := i; j < len(all); j++ {
			from, end, err := s.sealRange(all[i].key+"\x00", all[j].key+"\x00")
			if err != nil {
				t.Fatal(err)
			}
			for k, x := range all {
				if (x.stored >= from && x.stored < end) != (k > i && k <= j) {
					t.Fatalf("%q behind %q to behind %q: [%q, %q)", x.key, all[i].key, all[j].key, from, end)
				}
			}
		}
	}
	if len(all) < 10 {
		t.Errorf("only %d keys", len(all))
	}
}

// Promise 3: whatever means nothing in etcd's order is refused.
func TestSealRange_refusesWhatItCannotMean(t *testing.T) {
	s := newSeal(t, true)
	for _, r := range [][2]string{
		{"names/@/or", ""}, {"names/@/or", "names/@/os"}, {"names/@/org", "names/@/orh"},
		{"names/@/org.a.", "names/@/org.b."}, {"names/@/", "names/@/org."}, {"names/@/", "names/@/org/"}, {"names/", "names/@/org/"},
		{"names/@/org.example.", "names/@/org/"}, {"names/@/org.", "names/@0"}, {"names/@/org.", "zzz"}, {"names/@/net.\x00", "names/@/org/"},
		{"names/@/", "names/@//s"}, {"outbox/", "names/@/org."}, {"names/@/org.example./a", "names/@/org.example./c"}, {"names/@/org..", ""}, {"names/@/.", ""},
		{"names/@/net.", "names/@/org.\x00"}, {"names/@/or", "names/@/org.\x00"},
	} {
		end := ""
		if r[1] != "" {
			end = prefix + r[1]
		}
		if from, to, err := s.sealRange(prefix+r[0], end); err == nil {
			t.Errorf("[%q, %q) became [%q, %q)", r[0], r[1], from, to)
		}
	}
}

// Promise 2
func TestOpenValue_isBoundToItsKey(t *testing.T) {
	s, began := newSeal(t, true), newSeal(t, false)
	for _, data := range []string{"", "{}", strings.Repeat("192.0.2.1", 1000)} {
		stored := s.sealValue("one", []byte(data))
		if back, err := s.openValue("one", stored); err != nil || string(back) != data {
			t.Errorf("%.20q came back as %.20q, %v", data, back, err)
		}
		if slices.Equal(stored, s.sealValue("one", []byte(data))) {
			t.Errorf("%.20q looks the same each time", data)
		}
		if _, err := s.openValue("two", stored); err == nil {
			t.Errorf("%.20q is taken from another key", data)
		}
		for i := range min(len(stored), 200) {
			stored[i] ^= 1
			if _, err := s.openValue("one", stored); err == nil {
				t.Fatalf("%.20q: octet %d was changed, and nothing is said", data, i)
			}
			stored[i] ^= 1
		}
		for i := range min(len(stored), 200) {
			if _, err := s.openValue("one", stored[:i]); err == nil {
				t.Fatalf("%.20q: cut at %d, and nothing is said", data, i)
			}
		}
	}
	if _, err := s.openValue("one", []byte("{}")); err == nil {
		t.Error("a value that is not encrypted is taken in a store where all are")
	}
	if back, err := began.openValue("one", []byte("{}")); err != nil || string(back) != "{}" {
		t.Errorf("a value from before encryption: %q, %v", back, err)
	}
}
