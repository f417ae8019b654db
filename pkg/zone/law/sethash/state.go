// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sethash

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/cloudflare/circl/group"
)

// Algorithm is stored and hashed with the state. A change of the element encoding, group or hashToGroupTag needs a new
// number.
const Algorithm = 1

const Size = 32

// hashToGroupTag is the domain separation tag of RFC 9380 §3.1. It prevents collisions with another protocol's input.
const hashToGroupTag = "kubi.zone/contentState/1 with ristretto255_XMD:SHA-512_R255MAP_RO_"

// State is the sum of a multiset, as the canonical encoding of a ristretto255 point (RFC 9496 §4.3.2). The zero value
// is the empty set.
type State [Size]byte

type Element []byte

// NewElement encodes each part with its length, so that different lists give different elements.
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

// Update returns the state after the removal and addition of elements. An element listed twice counts twice, and an
// element in both lists cancels out. The removal of an absent element is not detected. Pass related elements together,
// because each call costs 12 µs.
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
		sums.put(state, sum)
	}
	return state, err
}

func (s State) LeadsTo(removed, added []Element, target State) (bool, error) {
	if known := sums.get(target); known != nil {
		sum, err := s.sumElements(removed, added)
		return err == nil && sum.IsEqual(known), err
	}
	state, err := s.Update(removed, added)
	return err == nil && state == target, err
}

// sumElements returns the point of s after the removal and addition of elements. The caller may change it.
func (s State) sumElements(removed, added []Element) (group.Element, error) {
	sum, err := s.decodePoint()
	if err != nil {
		return nil, err
	}
	toPoint := Element.mapToPoint
	// The points of a whole zone would evict all others.
	if len(added)+len(removed) > maxCachedElements {
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

// Sum returns the state of the union of multisets, in which an element of two sets counts twice. The sum of no states
// is the state of the empty set.
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

// decodePoint returns a point that the caller may change.
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

// mapToPoint returns a shared point: do not change it.
func (e Element) mapToPoint() group.Element {
	if len(e) > maxCachedLength {
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

// String returns status.contentState: 43 characters of unpadded standard base64.
func (s State) String() string { return base64.RawStdEncoding.EncodeToString(s[:]) }

// ParseState parses the output of String, and rejects other spellings and octets that are no group point.
func ParseState(text string) (State, error) {
	var state State
	decoded, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return State{}, fmt.Errorf("set hash %.60q: want 43 characters of standard base64 without padding: %w", text, err)
	}
	// The decoder skips line breaks.
	if len(decoded) != Size || len(text) != base64.RawStdEncoding.EncodedLen(Size) {
		return State{}, fmt.Errorf("set hash %.60q: %d octets in %d characters, want %d in 43", text, len(decoded), len(text), Size)
	}
	copy(state[:], decoded)
	if _, err := state.decodePoint(); err != nil {
		return State{}, err
	}
	return state, nil
}

func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *State) UnmarshalText(text []byte) error {
	state, err := ParseState(string(text))
	if err != nil {
		return err
	}
	*s = state
	return nil
}
