// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/cloudflare/circl/group"
)

// Algorithm is the number under which this way of hashing is stored and hashed
// along (S6.7). Any change of the element encoding, of the group or of
// hashToGroupTag below is another algorithm and needs another number.
const Algorithm = 1

// Size is the length of an encoded State in octets.
const Size = 32

// hashToGroupTag is the domain separation tag of RFC 9380 §3.1: without it an
// element could be chosen to collide with what another protocol hashes to the
// same group.
const hashToGroupTag = "kubi.zone/contentState/1 with ristretto255_XMD:SHA-512_R255MAP_RO_"

// State is the hash of a multiset of elements: the canonical encoding of a
// ristretto255 point (RFC 9496 §4.3.2), the sum of the points of its elements.
// The zero value is the state of the empty set. States are comparable.
type State [Size]byte

// Element is what one member of the set is hashed from. Make it with
// NewElement; an Element is never modified.
type Element []byte

// NewElement encodes the parts in order, each behind its length (four octets,
// big endian), so that no two different lists of parts give one element.
func NewElement(parts ...string) Element {
	size := 0
	for _, part := range parts {
		size += 4 + len(part)
	}
	element := make(Element, 0, size)
	for _, part := range parts {
		element = binary.BigEndian.AppendUint32(element, uint32(len(part)))
		element = append(element, part...)
	}
	return element
}

// Update returns the state after taking removed out of and putting added into
// the multiset that s stands for. An element that is in both lists cancels
// out, one listed twice counts twice. The cost is about 7 µs an element plus
// 12 µs a call, so callers pass what belongs together in one call; what was met a short while
// ago is remembered and costs a tenth of that.
//
// The error says that s is not a valid encoding; s itself is never changed.
func (s State) Update(removed, added []Element) (State, error) {
	if len(removed) == 0 && len(added) == 0 {
		_, err := s.decodePoint()
		return s, err
	}
	sum, err := s.sumElements(removed, added)
	if err != nil {
		return State{}, err
	}
	state, err := encodePoint(sum)
	if err == nil {
		sums.put(state, sum) // it is not changed from here on
	}
	return state, err
}

// Leads reports whether Update returns to. Where that was met a short while ago, it costs a tenth of Update.
func (s State) Leads(removed, added []Element, to State) (bool, error) {
	if known := sums.get(to); known != nil {
		sum, err := s.sumElements(removed, added)
		return err == nil && sum.IsEqual(known), err
	}
	state, err := s.Update(removed, added)
	return err == nil && state == to, err
}

// sumElements adds and subtracts the elements. The caller may change the sum.
func (s State) sumElements(removed, added []Element) (group.Element, error) {
	sum, err := s.decodePoint()
	if err != nil {
		return nil, err
	}
	toPoint := Element.mapToPoint
	if len(added)+len(removed) > mostRemembered {
		toPoint = Element.hashToPoint
	}
	for _, element := range added {
		sum.Add(sum, toPoint(element))
	}
	for _, element := range removed {
		sum.Add(sum, group.Ristretto255.NewElement().Neg(toPoint(element)))
	}
	return sum, nil
}

// Sum returns the state of the union of the multisets that the states stand for. The error names a state that is no
// valid encoding.
func Sum(states ...State) (State, error) {
	sum := group.Ristretto255.Identity()
	for _, s := range states {
		point, err := s.decodePoint()
		if err != nil {
			return State{}, err
		}
		sum.Add(sum, point)
	}
	return encodePoint(sum)
}

// decodePoint returns the group element of the state. The caller may change it.
func (s State) decodePoint() (group.Element, error) {
	if known := sums.get(s); known != nil {
		return known.Copy(), nil
	}
	point := group.Ristretto255.Identity()
	if err := point.UnmarshalBinary(s[:]); err != nil {
		return nil, fmt.Errorf("set hash %s: not the canonical encoding of a ristretto255 element (RFC 9496 §4.3.1)", s)
	}
	return point, nil
}

// mapToPoint hashes the element to the group. The result is shared and must not be changed.
func (e Element) mapToPoint() group.Element {
	if len(e) > longestRemembered {
		return e.hashToPoint()
	}
	if known := elements.get(string(e)); known != nil {
		return known
	}
	point := e.hashToPoint()
	elements.put(string(e), point)
	return point
}

func (e Element) hashToPoint() group.Element {
	return group.Ristretto255.HashToElement(e, []byte(hashToGroupTag))
}

func encodePoint(point group.Element) (State, error) {
	encoded, err := point.MarshalBinary()
	if err != nil {
		return State{}, fmt.Errorf("encode set hash: %w", err)
	}
	var state State
	if copy(state[:], encoded) != Size || len(encoded) != Size {
		return State{}, fmt.Errorf("encode set hash: %d octets, want %d", len(encoded), Size)
	}
	return state, nil
}

// String is the form in status.contentState: 43 characters of standard base64
// without padding.
func (s State) String() string { return base64.RawStdEncoding.EncodeToString(s[:]) }

// ParseState reads what String wrote. It refuses every other spelling and
// bytes that encode no group element.
func ParseState(text string) (State, error) {
	var state State
	decoded, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return State{}, fmt.Errorf("set hash %.60q: want 43 characters of standard base64 without padding: %w", text, err)
	}
	// The decoder skips line breaks, which would give one state two spellings.
	if len(decoded) != Size || len(text) != base64.RawStdEncoding.EncodedLen(Size) {
		return State{}, fmt.Errorf("set hash %.60q: %d octets in %d characters, want %d in 43", text, len(decoded), len(text), Size)
	}
	copy(state[:], decoded)
	if _, err := state.decodePoint(); err != nil {
		return State{}, err
	}
	return state, nil
}

// MarshalText writes String.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseState.
func (s *State) UnmarshalText(text []byte) error {
	state, err := ParseState(string(text))
	if err != nil {
		return err
	}
	*s = state
	return nil
}
