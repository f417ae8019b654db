// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// RR is a resource record of class IN from a zone file.
type RR struct {
	// Line is the number of the record's first line, from 1.
	Line int
	Name name.Name
	Type rdata.Type
	TTL  uint32 // seconds
	// Data is in canonical presentation format with absolute names: "10 mail.example.org." for an MX.
	Data string
}

type ReadOptions struct {
	// Origin completes relative names before the first $ORIGIN. The default is the SOA's owner, and earlier names must
	// be absolute.
	Origin name.Name
	// Guess, called at most once, returns the origin of a relative name before any Origin, $ORIGIN, or SOA with an
	// absolute owner. If Guess is nil or returns zero, the name is rejected.
	Guess func() name.Name
	// TTL, in seconds, is for records before any TTL in the file. If nil, they are rejected.
	TTL *uint32
}

// LineError describes a line of a zone file that is not a valid record.
type LineError struct {
	Line int // from 1
	// Text is the line, truncated for display.
	Text string
	// Reason is the rule that the line breaks. Fix is a correction, or "" if Reason contains it.
	Reason, Fix string
}

func (e *LineError) Error() string {
	text := "line " + strconv.Itoa(e.Line) + ": " + e.Reason
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text + ": " + strconv.QuoteToASCII(e.Text)
}

// Read iterates over the records of a master file. After the *LineError of a bad line, it continues with the next line.
// Any other error comes from the reader, and is the last.
func Read(r io.Reader, opts ReadOptions) iter.Seq2[RR, error] {
	return func(yield func(RR, error) bool) {
		f := file{origin: opts.Origin, guess: opts.Guess, fallback: opts.TTL}
		input := newLines(r)
		for {
			text, line, err := input.readNext()
			if err == io.EOF {
				break
			}

			var rr RR
			isDirective := err == nil && text[0] == '$'
			switch {
			case err != nil:
				f.owner = name.Name{} // the line may have an owner
			case isDirective:
				err = f.readDirective(text, line)
			default:
				rr, err = f.readRecord(text)
				err = f.explainLostOrigin(err)
			}

			if isDirective && err == nil {
				continue
			}
			if err != nil {
				rr, err = RR{}, lineError(line, text, err)
			}
			rr.Line = line
			if !yield(rr, err) {
				return
			}
		}

		if input.err != nil && input.err != io.EOF {
			yield(RR{Line: input.number}, fmt.Errorf("zone file after line %d: %w", input.number, input.err))
		}
	}
}

func (f *file) explainLostOrigin(err error) error {
	if errors.Is(err, name.ErrNoOrigin) && f.lostOrigin > 0 {
		return fmt.Errorf("a name is relative to the $ORIGIN of line %d, which is refused; correct that line", f.lostOrigin)
	}
	return err
}

func lineError(line int, text string, err error) *LineError {
	const most = 200
	if text = strings.TrimRight(text, " \t"); len(text) > most {
		text = text[:most] + "…"
	}
	e := &LineError{Line: line, Text: text, Reason: err.Error()}
	if i := strings.LastIndex(e.Reason, "; "); i >= 0 && strings.Count(e.Reason[i:], `"`)%2 == 0 {
		e.Reason, e.Fix = e.Reason[:i], e.Reason[i+2:]
	}
	return e
}

type file struct {
	origin name.Name
	guess  func() name.Name // nil after the call
	// lostOrigin is the line of a rejected $ORIGIN, until the next $ORIGIN.
	lostOrigin int

	ttl       uint32
	ttlKnown  bool
	directive bool // ttl is from $TTL, which explicit TTLs do not change
	fallback  *uint32

	// owner is the last record's owner, for lines that begin with a blank, or zero if rejected. ownerText is the
	// owner's text, relative to ownerOrigin.
	owner       name.Name
	ownerText   string
	ownerOrigin name.Name
}

func (f *file) readDirective(text string, line int) error {
	keyword, rest := cutField(text)
	switch strings.ToUpper(keyword) {
	case "$ORIGIN":
		// After an unreadable $ORIGIN, relative names would get a wrong origin.
		err := f.setOrigin(rest)
		if f.lostOrigin = 0; err != nil {
			f.origin, f.guess, f.lostOrigin = name.Name{}, nil, line
		}
		return err
	case "$TTL":
		return f.setTTL(rest)
	case "$GENERATE":
		return errors.New("$GENERATE is not expanded; let BIND write the records out: named-compilezone -o EXPANDED ZONE FILE")
	case "$INCLUDE":
		return errors.New("$INCLUDE is not followed; put the records of the other file here, or load it by itself")
	}
	return fmt.Errorf("%s is not a directive; the directives are $ORIGIN and $TTL", name.Quote(keyword))
}

func (f *file) setOrigin(rest string) error {
	text, rest := cutField(rest)
	if text == "" || rest != "" {
		return errors.New("$ORIGIN takes one name; write it absolute, as in \"$ORIGIN example.org.\"")
	}
	origin, err := f.parseName(text)
	if err != nil {
		return fmt.Errorf("$ORIGIN: %w", err)
	}
	f.origin = origin
	return nil
}

func (f *file) setTTL(rest string) error {
	text, rest := cutField(rest)
	ttl, ok, err := parseTTL(text)
	switch {
	case err != nil:
		return fmt.Errorf("$TTL: %w", err)
	case !ok || rest != "":
		return errors.New("$TTL takes one time; write seconds or units, as in \"$TTL 3600\" or \"$TTL 1h\"")
	}
	f.ttl, f.ttlKnown, f.directive = ttl, true, true
	return nil
}

func (f *file) readRecord(text string) (RR, error) {
	rest := text
	if text[0] != ' ' && text[0] != '\t' {
		var owner string
		owner, rest = cutField(text)
		if err := f.setOwner(owner); err != nil {
			return RR{}, err
		}
	} else if f.owner.IsZero() {
		return RR{}, errors.New("the line has no owner name and there is none above that it could take over; begin the line with the name")
	}
	rr := RR{Name: f.owner}
	hasTTL, hasClass := false, false
	for {
		var field string
		if field, rest = cutField(rest); field == "" {
			return RR{}, errors.New("the record has no type; write \"name TTL IN type data\"")
		}
		if !hasClass {
			class, err := isClass(field)
			if err != nil {
				return RR{}, err
			}
			if class {
				hasClass = true
				continue
			}
		}
		if !hasTTL {
			ttl, ok, err := parseTTL(field)
			if err != nil {
				return RR{}, err
			}
			if ok {
				rr.TTL, hasTTL = ttl, true
				continue
			}
		}
		t, err := rdata.ParseType(field)
		if err != nil {
			return RR{}, err
		}
		rr.Type = t
		break
	}
	if rr.Type == rdata.SOA && f.origin.IsZero() && f.lostOrigin == 0 {
		f.origin = rr.Name
	}
	var err error
	if rr.Data, err = rdata.FromRR(rr.Type, rest, f.origin); err != nil {
		return RR{}, err
	}
	switch {
	case hasTTL && !f.directive:
		f.ttl, f.ttlKnown = rr.TTL, true
	case !hasTTL && !f.ttlKnown && rr.Type == rdata.SOA:
		// RFC 1035 §5.1 leaves this open; BIND uses the SOA's last field.
		minimum, _, err := parseTTL(rr.Data[strings.LastIndexByte(rr.Data, ' ')+1:])
		if err != nil {
			return RR{}, err
		}
		f.ttl, f.ttlKnown, rr.TTL = minimum, true, minimum
	case !hasTTL && !f.ttlKnown && f.fallback != nil:
		rr.TTL = *f.fallback
	case !hasTTL && !f.ttlKnown:
		return RR{}, errors.New("the record has no TTL and there is none above; put \"$TTL 3600\" at the top of the file")
	case !hasTTL:
		rr.TTL = f.ttl // the last explicit TTL (RFC 1035 §5.1)
	}
	return rr, nil
}

func (f *file) setOwner(text string) error {
	if text == f.ownerText && f.origin == f.ownerOrigin && !f.owner.IsZero() {
		return nil
	}
	owner, err := f.parseName(text)
	if label, _, _ := strings.Cut(text, "."); label == `\052` {
		owner, err = name.Name{}, errors.New(`the label \052 is "*" in octal, as Route 53 writes a wildcard, but "4" in a zone file; `+
			`write "*"`)
	}
	f.owner, f.ownerText, f.ownerOrigin = owner, text, f.origin
	return err
}

func (f *file) parseName(text string) (name.Name, error) {
	if strings.IndexByte(text, '\\') >= 0 {
		plain, ok := unescapeOwner(text)
		if !ok {
			return name.Name{}, fmt.Errorf("name %s has an escape that stands for no character of an owner name; labels are letters, "+
				"digits, \"-\", \"_\" and \"/\"", name.Quote(text))
		}
		text = plain
	}
	if f.origin.IsZero() && f.guess != nil && !name.IsAbsolute(text) {
		f.origin, f.guess = f.guess(), nil
	}
	return name.ParseIn(text, f.origin)
}

func unescapeOwner(text string) (string, bool) {
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			if i+1 == len(text) {
				return "", false
			}
			c = text[i+1]
			if i++; '0' <= c && c <= '9' {
				n, err := strconv.ParseUint(text[i:min(i+3, len(text))], 10, 8)
				if err != nil || i+3 > len(text) {
					return "", false
				}
				c, i = byte(n), i+2
			}
			// An escaped dot is part of a label, and an escaped @ is not the origin.
			if c == '.' || c == '@' || c >= 0x80 {
				return "", false
			}
		}
		plain.WriteByte(c)
	}
	return plain.String(), true
}

func isClass(field string) (bool, error) {
	switch upper := strings.ToUpper(field[:min(len(field), 100)]); upper {
	case "IN", "CLASS1":
		return true, nil
	case "CH", "CHAOS", "HS", "HESIOD", "CS", "NONE", "ANY":
		// ANY is a type too, but no record has it.
		return false, fmt.Errorf("class %s; only records of class IN are read", upper)
	default:
		if digits, ok := strings.CutPrefix(upper, "CLASS"); ok {
			if _, err := strconv.ParseUint(digits, 10, 16); err == nil {
				return false, fmt.Errorf("class %s; only records of class IN are read", upper)
			}
		}
	}
	return false, nil
}

func parseTTL(text string) (uint32, bool, error) {
	if text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false, nil
	}
	ttl, err := rdata.ParseSeconds(text)
	if err != nil || ttl > rdata.MaxTTL {
		err = fmt.Errorf("TTL %s is not a time of 0 to %d seconds (RFC 2181 §8); write seconds, or units as in \"1h30m\"",
			name.Quote(text), rdata.MaxTTL)
	}
	return ttl, true, err
}
