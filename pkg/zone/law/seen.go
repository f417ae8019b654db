// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"iter"
)

// Facts holds the stored values that a decision may read, by key. A nil value means that the store has no value for the
// key.
type Facts struct {
	// LoadCached adds the value of a key to Facts if the value is cached in memory, and reports whether it did. It may
	// be nil.
	LoadCached func(Key) bool

	facts []fact
	index map[Key]int // positions in facts, or nil for at most FewKeys
}

const FewKeys = 32

type fact struct {
	key   Key
	value any
	used  bool
}

func NewFacts() *Facts { return &Facts{facts: make([]fact, 0, 12)} }

func (s *Facts) Reset() {
	clear(s.facts)
	s.facts, s.index = s.facts[:0], nil
}

func (s *Facts) findFact(k Key) *fact {
	if s.index != nil {
		if i, ok := s.index[k]; ok {
			return &s.facts[i]
		}
		return nil
	}
	for i := range s.facts {
		if s.facts[i].key == k {
			return &s.facts[i]
		}
	}
	return nil
}

func (s *Facts) lookUp(k Key) *fact {
	f := s.findFact(k)
	if f == nil && s.LoadCached != nil && s.LoadCached(k) {
		f = s.findFact(k)
	}
	return f
}

func (s *Facts) Get(k Key) (any, bool) {
	if f := s.findFact(k); f != nil {
		return f.value, true
	}
	return nil, false
}

// Put stores the value of a key, or nil if the store has none. A second Put replaces the value, and keeps its mark as
// used.
func (s *Facts) Put(k Key, v any) {
	if f := s.findFact(k); f != nil {
		f.value = v
		return
	}
	s.facts = append(s.facts, fact{key: k, value: v})
	switch n := len(s.facts); {
	case s.index != nil:
		s.index[k] = n - 1
	// From here on, a map finds keys faster than comparisons do.
	case n > FewKeys:
		s.index = make(map[Key]int, 4*n)
		for i := range s.facts {
			s.index[s.facts[i].key] = i
		}
	}
}

func (s *Facts) IsUsed(k Key) bool {
	f := s.findFact(k)
	return f != nil && f.used
}

func (s *Facts) All() iter.Seq2[Key, any] {
	return func(yield func(Key, any) bool) {
		for i := range s.facts {
			if !yield(s.facts[i].key, s.facts[i].value) {
				return
			}
		}
	}
}
