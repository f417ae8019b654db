// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/layout"
)

// line is a step of a zone on its way from the journal into a segment of the history. Most journal values hold a single
// step, whose text cutLine cuts out without decoding the JSON. This is safe because quotes within JSON strings are
// escaped, so no string looks like a key.
type line struct {
	n         uint64 // the step's number in the journal
	unixTime  int64
	namespace string   // of the changed Record, "" if the zone changed without a Record
	causedBy  string   // the namespace that caused the step by a cascade
	creates   bool     // the step creates the zone
	hasState  bool     // before/ holds a former Record of the step, later put into states
	text      []byte   // the step in JSON, without the content state
	states    []Was    // former Records
	removal   *Removed // set for the zone's removal
}

func (l *line) account(ofZone string) string {
	return layout.Account(cmp.Or(l.namespace, ofZone), l.causedBy)
}

func linesOf(value []byte, read func() (*content.Transaction, error)) ([]line, error) {
	if l, ok := cutLine(value); ok {
		return []line{l}, nil
	}
	tx, err := read()
	if err != nil {
		return nil, err
	}
	lines := make([]line, 0, len(tx.Steps))
	for i := range tx.Steps {
		lines = append(lines, lineOf(tx.Steps[i]))
	}
	return lines, nil
}

func lineOf(step content.Step) line {
	l := line{n: step.N, unixTime: step.Time, creates: step.Creates(), causedBy: step.CausedBy}
	if r := step.Record; r != nil {
		l.namespace = r.Namespace
		l.hasState = r.Was || slices.ContainsFunc(step.Others, func(o content.RecordRef) bool { return o.Was })
	}
	step.State = sethash.State{} // follows from the content, and does not compress
	l.text = layout.Encode(&step)
	return l
}

var (
	beginsValue  = []byte(`{"s":[`)
	endsSettled  = []byte(`],"ok":true}`)
	endsValue    = []byte(`]}`)
	beginsStep   = []byte(`{"n":`)
	stateKey     = []byte(`,"h":"`)
	recordKey    = []byte(`"rec":{"ns":"`)
	wasKey       = []byte(`"w":true`)
	timeKey      = []byte(`,"at":`)
	othersKey    = []byte(`"recs":`)
	causeKey     = []byte(`,"wns":"`)
	headerBefore = []byte(`"hb":{`)
	headerAfter  = []byte(`"ha":{`)
)

// cutLine returns false unless the value holds a single step in the known form.
func cutLine(value []byte) (l line, ok bool) {
	text, ok := bytes.CutPrefix(value, beginsValue)
	if !ok || bytes.Count(text, beginsStep) != 1 || !bytes.HasPrefix(text, beginsStep) || bytes.Contains(text, othersKey) {
		return l, false
	}
	if text, ok = bytes.CutSuffix(text, endsSettled); !ok {
		if text, ok = bytes.CutSuffix(text, endsValue); !ok {
			return l, false
		}
	}

	n, ok := digitsAfter(text, beginsStep)
	if !ok {
		return l, false
	}
	l.n = n
	if bytes.Contains(text, timeKey) {
		at, ok := digitsAfter(text, timeKey)
		if !ok {
			return l, false
		}
		l.unixTime = int64(at)
	}

	if _, ref, ok := bytes.Cut(text, recordKey); ok {
		end := bytes.IndexByte(ref, '}')
		name := bytes.IndexByte(ref, '"')
		if end < 0 || name < 0 {
			return l, false
		}
		l.namespace, l.hasState = string(ref[:name]), bytes.Contains(ref[:end], wasKey)
	}

	if _, cause, ok := bytes.Cut(text, causeKey); ok {
		end := bytes.IndexByte(cause, '"')
		if end < 0 {
			return l, false
		}
		l.causedBy = string(cause[:end])
	}

	l.creates = bytes.Contains(text, headerAfter) && !bytes.Contains(text, headerBefore)
	l.text = text
	if i := bytes.Index(text, stateKey); i >= 0 {
		end := bytes.IndexByte(text[i+len(stateKey):], '"')
		if end < 0 {
			return l, false
		}
		l.text = append(text[:i:i], text[i+len(stateKey)+end+1:]...)
	}

	return l, true
}

func digitsAfter(text, key []byte) (uint64, bool) {
	i := bytes.Index(text, key)
	if i < 0 {
		return 0, false
	}
	text = text[i+len(key):]
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	out, err := strconv.ParseUint(string(text[:n]), 10, 63)
	return out, err == nil
}

func (l *line) appendTo(text *bytes.Buffer) error {
	text.WriteString(`{"s":`)
	text.Write(l.text)
	for _, x := range []struct {
		key   string
		value any
		has   bool
	}{{`,"w":`, l.states, len(l.states) > 0}, {`,"x":`, l.removal, l.removal != nil}} {
		if !x.has {
			continue
		}
		more, err := json.Marshal(x.value)
		if err != nil {
			return err
		}
		text.WriteString(x.key)
		text.Write(more)
	}
	text.WriteString("}\n")
	return nil
}

func EntryOfRemoval(zone string, n uint64, x *content.Removal) Entry {
	e := Entry{Step: content.Step{N: n, From: x.Serial, Serial: x.Serial, By: x.By, Origin: x.Origin, Time: x.Time},
		Removed: &Removed{UID: zone}}
	if text, err := Unpack(x.State); err == nil {
		e.Removed.State = text
	}
	return e
}

func removalLine(n uint64, x *content.Removal, zone string) line {
	e := EntryOfRemoval(zone, n, x)
	return line{n: n, unixTime: x.Time, text: layout.Encode(&e.Step), removal: e.Removed}
}
