// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

// A segment is a version octet and deflated lines of JSON: a Header, then an Entry for each step, oldest first.

const (
	segmentVersion = 1
	// maxSegment bounds a segment's text: maxPage and a further step.
	maxSegment  = 16 << 20
	fullSegment = 512 << 10
)

// Header names the zone of a history segment, as it was at the segment's steps.
type Header struct {
	Zone      string `json:"z"` // UID
	View      string `json:"v,omitempty"`
	FQDN      string `json:"f"`
	Namespace string `json:"ns"` // of the Zone object
	Name      string `json:"n"`  // of the Zone object
	// Retention is how long a removed zone's segments are kept, in seconds.
	Retention int64 `json:"k"`
	// Offset plus a step's N is the step's number in the archive, because a recreated zone counts N from 1 again.
	Offset uint64 `json:"o,omitempty"`
	// Bare is true if the steps lack values and former Records.
	Bare bool `json:"c,omitempty"`
}

type Entry struct {
	Step content.Step `json:"s"`
	Was  []Was        `json:"w,omitempty"`
	// Removed is set for a zone's removal. Step then has the last number and serial.
	Removed *Removed `json:"x,omitempty"`
}

// countOctets estimates the size of an entry's JSON, with 512 octets for numbers, serials, user and names.
func (x *Entry) countOctets() int {
	n := 512 + countStates(x.Was)
	if x.Removed != nil {
		n += len(x.Removed.State)
	}
	for _, rows := range [][]content.Row{x.Step.Removed, x.Step.Added} {
		for i := range rows {
			n += 64 + len(rows[i].Data)
		}
	}
	return n + 64*(len(x.Step.TTLs)+len(x.Step.Others))
}

type Was struct {
	Name  string          `json:"r"`
	UID   string          `json:"u"`
	State json.RawMessage `json:"s"`
}

// Removed is a Zone before its removal, with the Delegations that left with the Zone.
type Removed struct {
	UID         string          `json:"u"`
	State       json.RawMessage `json:"s"`
	Delegations []Was           `json:"d,omitempty"`
	// LeftOut means that not all Delegations fitted.
	LeftOut bool `json:"l,omitempty"`
}

type Segment struct {
	Header  Header
	Entries []Entry

	octets int // of text
}

// encodeSegment packs entries into a segment of at most maxSegment octets of text. If they do not fit, whole is false,
// and the segment lacks the former Records (states), or also the changed values (rows). If even such bare steps do not
// fit, the value is nil.
func encodeSegment(header *Header, entries []Entry) (value []byte, whole bool) {
	// 1. With values and former Records.
	text := textOf(header, entries)
	if whole = len(text) <= maxSegment; !whole {
		// 2. Without the former Records, which may have large annotations.
		text = textOf(header, withoutStates(entries))
	}
	if len(text) > maxSegment {
		// 3. Without values too. The changed names stay.
		bare := *header
		bare.Bare = true
		text = textOf(&bare, bareEntries(entries))
	}
	if len(text) > maxSegment {
		return nil, false
	}
	return deflate([]byte{segmentVersion}, text), whole
}

func withoutStates(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Was = nil
	}
	return out
}

// textOf returns the plain text of a segment: a line of JSON for the header, and a line for each entry.
func textOf(of *Header, entries []Entry) []byte {
	text := append(layout.Encode(of), '\n')
	for i := range entries {
		text = append(append(text, layout.Encode(&entries[i])...), '\n')
	}
	return text
}

// DecodeSegment returns the segment of a value of history/. Damage, another version, or a segment without a step is an
// error.
func DecodeSegment(data []byte) (*Segment, error) {
	if len(data) == 0 || data[0] != segmentVersion {
		return nil, errors.New("this is no segment of a known version")
	}
	text, err := inflate(data[1:], maxSegment)
	if err != nil {
		return nil, err
	}

	s, lines := &Segment{octets: len(text)}, json.NewDecoder(bytes.NewReader(text))
	if err := lines.Decode(&s.Header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}

	for lines.More() {
		var e Entry
		if err := lines.Decode(&e); err != nil {
			return nil, fmt.Errorf("step %d: %w", len(s.Entries)+1, err)
		}
		s.Entries = append(s.Entries, e)
	}

	if len(s.Entries) == 0 {
		return nil, errors.New("no step")
	}
	return s, nil
}
