// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"kubi.zone/kubizone/test/must"
)

func updateState(t testing.TB, state State, removed, added []Element) State {
	t.Helper()
	return must.Get(state.Update(removed, added))(t)
}

func stateOf(t testing.TB, texts ...string) State {
	t.Helper()
	var elements []Element
	for _, text := range texts {
		elements = append(elements, NewElement(text))
	}
	return updateState(t, State{}, nil, elements)
}

// Stored zones name the algorithm of their hash, so the result of an algorithm must never change. This test pins it
// against changes of the tags, the encoding of elements, and the library.
func TestAlgorithm1_isPinned(t *testing.T) {
	if Algorithm != 1 {
		t.Fatalf("Algorithm is %d: pin a vector for it here", Algorithm)
	}
	got := updateState(t, State{}, nil, []Element{NewElement("row", "www", "1", "192.0.2.1"), NewElement("ttl", "www", "1", "inherit")})
	const want = "XkV++0yc0GbnC9Nqrhc2VPBFNj1VhOQrGoJ4u3huVBU"
	if got.String() != want {
		t.Errorf("state %s, want %s", got, want)
	}
}

func TestUpdate_countsMatter(t *testing.T) {
	seen := map[State]int{}
	var texts []string
	for count := range 300 { // past 256: a count in an octet would wrap
		state := stateOf(t, texts...)
		if other, ok := seen[state]; ok {
			t.Fatalf("%d and %d times the same element give one state", count, other)
		}
		seen[state] = count
		texts = append(texts, "a")
	}
}

// A XOR of element hashes is insecure: it loses pairs, and any 257 elements of 256 bits contain a subset that cancels
// out. Sums modulo a power of two fall to Wagner's generalised birthday attack.
func TestUpdate_linearAttacksFail(t *testing.T) {
	digest := func(i int) (d [32]byte) { return sha256.Sum256(NewElement(fmt.Sprint(i))) }

	t.Run("XOR", func(t *testing.T) {
		subset := cancellingSubset(257, digest)
		var xor [32]byte
		var elements []Element
		for _, i := range subset {
			d := digest(i)
			for b := range xor {
				xor[b] ^= d[b]
			}
			elements = append(elements, NewElement(fmt.Sprint(i)))
		}
		if len(subset) == 0 || xor != [32]byte{} {
			t.Fatalf("the attack on XOR itself failed (%d elements)", len(subset))
		}
		if got := updateState(t, State{}, nil, elements); got == (State{}) {
			t.Errorf("%d elements that cancel under XOR give the empty set's state", len(subset))
		}
	})

	t.Run("sum", func(t *testing.T) {
		// Sums of two elements modulo 2^32 collide after some 2^16 tries.
		word := func(i int) uint32 {
			d := digest(i)
			return uint32(d[0])<<24 | uint32(d[1])<<16 | uint32(d[2])<<8 | uint32(d[3])
		}
		seen := map[uint32][2]int{}
		found := 0
		for i := 0; i < 1000 && found < 8; i++ {
			for j := range i {
				other, ok := seen[word(i)+word(j)]
				if !ok {
					seen[word(i)+word(j)] = [2]int{i, j}
					continue
				}
				found++
				if stateOf(t, fmt.Sprint(i), fmt.Sprint(j)) == stateOf(t, fmt.Sprint(other[0]), fmt.Sprint(other[1])) {
					t.Errorf("{%d, %d} and %v give one state", i, j, other)
				}
			}
		}
		if found == 0 {
			t.Fatal("the attack on the sum itself failed")
		}
	})
}

// cancellingSubset finds, by elimination over GF(2), some of the first n numbers whose digests XOR to zero.
func cancellingSubset(n int, digest func(int) [32]byte) []int {
	type row struct {
		bits    [32]byte
		members []int
	}
	pivots := map[int]row{}
	for i := range n {
		current := row{digest(i), []int{i}}
		for bit := 0; bit < 256; bit++ {
			if current.bits[bit/8]&(1<<(bit%8)) == 0 {
				continue
			}
			pivot, ok := pivots[bit]
			if !ok {
				pivots[bit] = current
				break
			}
			for b := range current.bits {
				current.bits[b] ^= pivot.bits[b]
			}
			for _, member := range pivot.members {
				if at := slices.Index(current.members, member); at >= 0 {
					current.members = slices.Delete(slices.Clone(current.members), at, at+1)
				} else {
					current.members = append(slices.Clone(current.members), member)
				}
			}
		}
		if current.bits == [32]byte{} {
			return current.members
		}
	}
	return nil
}

// twin is an obviously correct set hash: sort, then hash.
type twin []Element

func (w twin) applyChange(removed, added []Element) twin {
	next := slices.Clone(w)
	for _, element := range added {
		next = append(next, element)
	}
	for _, element := range removed {
		at := slices.IndexFunc(next, func(e Element) bool { return bytes.Equal(e, element) })
		next = slices.Delete(next, at, at+1)
	}
	return next
}

func (w twin) hashElements() [32]byte {
	sorted := slices.Clone(w)
	slices.SortFunc(sorted, func(a, b Element) int { return bytes.Compare(a, b) })
	sum := sha256.New()
	for _, element := range sorted {
		fmt.Fprintf(sum, "%d:%s", len(element), element)
	}
	return [32]byte(sum.Sum(nil))
}

// Two zones have the same hash exactly if they have the same content. On random histories, the hash that is updated
// with each change agrees with a hash over the sorted content.
func TestUpdate_agreesWithSortAndHash(t *testing.T) {
	states := map[[32]byte]State{}
	hashes := map[State][32]byte{}
	rapid.Check(t, func(t *rapid.T) {
		var set twin
		state := State{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			var removed []Element
			if len(set) > 0 && rapid.Bool().Draw(t, "remove") {
				removed = append(removed, rapid.SampledFrom(set).Draw(t, "removed"))
			}
			added := rapid.SliceOfN(rapid.Map(rapid.SampledFrom([]string{"a", "b", "c", "d"}), func(s string) Element { return NewElement(s) }), 0, 3).Draw(t, "added")
			set = set.applyChange(removed, added)
			next, err := state.Update(removed, added)
			if err != nil {
				t.Fatal(err)
			}
			state = next
			hash := set.hashElements()
			if known, ok := states[hash]; ok && known != state {
				t.Fatalf("%q: one multiset, two states %s and %s", set, known, state)
			}
			if known, ok := hashes[state]; ok && known != hash {
				t.Fatalf("%q: two multisets, one state %s", set, state)
			}
			states[hash], hashes[state] = state, hash
		}
	})
	if len(states) < 50 && !testing.Short() { // a short run draws a fifth
		t.Fatalf("only %d multisets seen: the test says nothing", len(states))
	}
}

func TestLeads_saysWhatUpdateComesTo(t *testing.T) {
	elements := rapid.SliceOfN(rapid.Map(rapid.SampledFrom([]string{"a", "b", "c"}), func(s string) Element { return NewElement(s) }), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		update := func(s State, removed, added []Element) State {
			next, err := s.Update(removed, added)
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		start := update(State{}, nil, elements.Draw(t, "start"))
		removed, added := elements.Draw(t, "removed"), elements.Draw(t, "added")
		to := update(start, removed, added)
		for _, claimed := range []State{to, start, {}, update(to, nil, []Element{NewElement("a")})} {
			for _, remembered := range []bool{true, false} {
				if !remembered {
					sums.mu.Lock()
					sums.young, sums.old = nil, nil
					sums.mu.Unlock()
				}
				leads, err := start.LeadsTo(removed, added, claimed)
				if err != nil || leads != (claimed == to) {
					t.Fatalf("leads to %s: %t, %v; it leads to %s (remembered: %t)", claimed, leads, err, to, remembered)
				}
			}
		}
	})
	if leads, err := (State{1}).LeadsTo(nil, []Element{NewElement("a")}, State{}); leads || err == nil {
		t.Error("from what encodes nothing something leads somewhere")
	}
}

func TestNewElement_partsDoNotRunTogether(t *testing.T) {
	lists := [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {"a", "", "b"}, {"\x00\x00\x00\x01a"}, {"a\x00\x00\x00\x01b"}}
	for i, one := range lists {
		for j, other := range lists {
			if i != j && bytes.Equal(NewElement(one...), NewElement(other...)) {
				t.Errorf("%q and %q give one element", one, other)
			}
		}
	}
}

func TestParseState_refusesWhatEncodesNothing(t *testing.T) {
	valid := stateOf(t, "a").String()
	field := State{0xed, 31: 0x7f} // 2^255-19: the identity, not in canonical form
	for i := 1; i < 31; i++ {
		field[i] = 0xff
	}
	odd := State{1} // negative field element (RFC 9496 §4.3.1)
	for name, text := range map[string]string{
		"empty": "", "short": valid[:42], "long": valid + "A", "padded": valid + "=", "line break": valid[:20] + "\n" + valid[20:],
		"URL alphabet": strings.Repeat("_", 42) + "8", "trailing bits": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB",
		"identity twice": field.String(), "negative": odd.String(),
	} {
		if state, err := ParseState(text); err == nil {
			t.Errorf("%s: %q was read as %s", name, text, state)
		}
	}
	for _, state := range []State{field, odd} {
		if _, err := state.Update(nil, []Element{NewElement("a")}); err == nil {
			t.Errorf("Update of %s: no error", state)
		}
		if _, err := state.Update(nil, nil); err == nil {
			t.Errorf("empty Update of %s: no error", state)
		}
	}
	if state, err := ParseState(strings.Repeat("A", 43)); err != nil || state != (State{}) {
		t.Errorf("the empty set: %s, %v", state, err)
	}
}

func BenchmarkUpdate(b *testing.B) {
	row := func(i int) Element { return NewElement("row", "www", "1", fmt.Sprint("192.0.2.", i)) }
	state := updateState(b, State{}, nil, []Element{row(0)})
	b.Run("replace one", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			state = updateState(b, state, []Element{row(i)}, []Element{row(i + 1)})
		}
	})
	b.Run("add 100", func(b *testing.B) {
		var added []Element
		for i := range 100 {
			added = append(added, row(i))
		}
		for b.Loop() {
			updateState(b, state, nil, added)
		}
	})
}

func TestUpdate_forgetsWithoutHarm(t *testing.T) {
	first := stateOf(t, "a", "b")
	for i := range 3 * elements.size {
		elements.put(strconv.Itoa(i), nil)
		sums.put(State{byte(i), byte(i >> 8)}, nil)
	}
	if n := len(elements.young) + len(elements.old); n > 2*elements.size {
		t.Errorf("%d elements are remembered", n)
	}
	if elements.get(string(NewElement("a"))) != nil {
		t.Fatal("nothing was forgotten: this test proves nothing")
	}
	if again := stateOf(t, "a", "b"); again != first {
		t.Errorf("%s, was %s", again, first)
	}
	if empty := updateState(t, first, []Element{NewElement("a"), NewElement("b")}, nil); empty != (State{}) {
		t.Errorf("nothing is left, and the state is %s", empty)
	}
}
