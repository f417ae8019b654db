// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/ledger/layout"
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
	// Bare is true for a condensed segment, whose steps lack values and former Records.
	Bare bool `json:"c,omitempty"`
}

type Entry struct {
	Step content.Step `json:"s"`
	Was  []Was        `json:"w,omitempty"`
	// Removed is set for a zone's removal. Step then has the last number and serial.
	Removed *Removed `json:"x,omitempty"`
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

// encodeSegment packs steps (changes) into a segment of at most maxSegment octets of text. If they do not fit, whole is
// false, and the segment lacks the former Records (states), or also the changed values (rows). If even such bare steps
// do not fit, the segment is nil.
func encodeSegment(header *Header, lines []line) (value []byte, whole bool, err error) {
	text, err := textOf(header, lines)
	if err != nil {
		return nil, false, err
	}
	version := []byte{segmentVersion}
	if len(text) <= maxSegment {
		return deflate(version, text), true, nil
	}

	// Try without states.
	lines = slices.Clone(lines)
	for i := range lines {
		lines[i].states = nil
	}
	text, err = textOf(header, lines)
	if err != nil {
		return nil, false, err
	}
	if len(text) <= maxSegment {
		return deflate(version, text), false, nil
	}

	// Try without rows.
	bare := *header
	bare.Bare = true
	for i := range lines {
		var step content.Step
		if err := layout.Decode(lines[i].text, &step); err != nil {
			return nil, false, err
		}
		lines[i].text = lineOf(bareStep(&step)).text
	}
	text, err = textOf(&bare, lines)
	if err != nil || len(text) > maxSegment {
		return nil, false, err
	}
	return deflate(version, text), false, nil
}

func textOf(of *Header, lines []line) ([]byte, error) {
	text := bytes.NewBuffer(make([]byte, 0, 64<<10))
	text.Write(layout.Encode(of))
	text.WriteByte('\n')
	for i := range lines {
		if err := lines[i].appendTo(text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

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
