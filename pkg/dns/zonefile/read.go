// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zonefile

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
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
	// Note says how the record differs from the line's text, for example in the case of a CAA tag, or is "".
	Note string
}

func (rr *RR) addNote(format string, arguments ...any) {
	if rr.Note != "" {
		rr.Note += "; "
	}
	rr.Note += fmt.Sprintf(format, arguments...)
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

// lineError returns the LineError of a line. The last clause of err's text, behind "; ", is the fix.
func lineError(line int, text string, err error) *LineError {
	const most = 200
	if text = strings.TrimRight(text, " \t"); len(text) > most {
		text = text[:most] + "…"
	}
	e := &LineError{Line: line, Text: text, Reason: err.Error()}
	// A "; " within quotes is from the line itself.
	if i := strings.LastIndex(e.Reason, "; "); i >= 0 && strings.Count(e.Reason[i:], `"`)%2 == 0 {
		e.Reason, e.Fix = e.Reason[:i], e.Reason[i+2:]
	}
	return e
}

type file struct {
	origin name.Name
	guess  func() name.Name // nil after the call
	// lostOrigin is the line of a rejected $ORIGIN, until the next $ORIGIN that is absolute.
	lostOrigin int
	// originGiven is true after an $ORIGIN of the file. Before, origin is the name of the zone. repaired is true after
	// lacksDot.
	originGiven, repaired bool

	ttl       uint32
	ttlKnown  bool
	directive bool // ttl is from $TTL or the SOA's minimum, which explicit TTLs do not change
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
		return f.readOrigin(rest, line)
	case "$TTL":
		return f.setTTL(rest)
	case "$GENERATE":
		return errors.New("$GENERATE is not expanded; let BIND write the records out: named-compilezone -o EXPANDED ZONE FILE")
	case "$INCLUDE":
		return errors.New("$INCLUDE is not followed; put the records of the other file here, or load it by itself")
	}
	return fmt.Errorf("%s is not a directive; the directives are $ORIGIN and $TTL", name.Quote(keyword))
}

// readOrigin sets the origin. After an unreadable $ORIGIN there is none, because relative names would get a wrong
// origin.
func (f *file) readOrigin(rest string, line int) error {
	err := f.setOrigin(rest)
	switch {
	case err == nil:
		f.lostOrigin, f.originGiven = 0, true
	case errors.Is(err, name.ErrNoOrigin) && f.lostOrigin > 0:
		// "$ORIGIN sub" below a rejected "$ORIGIN a..b." has the fault of that line, and so have the names below it.
		err = f.explainLostOrigin(err)
	default:
		f.origin, f.guess, f.lostOrigin = name.Name{}, nil, line
	}
	return err
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

// setTTL reads a $TTL, the TTL of records without one until the next $TTL (RFC 2308 §4).
func (f *file) setTTL(rest string) error {
	text, rest := cutField(rest)
	ttl, err := parseTTL(text)
	if err != nil || rest != "" {
		return fmt.Errorf("$TTL takes one time of 0 to %d seconds, and without it %s; write seconds or units, as in \"$TTL 3600\" or "+
			"\"$TTL 1h\"", rdata.MaxTTL, f.whichTTL())
	}
	f.ttl, f.ttlKnown, f.directive = ttl, true, true
	return nil
}

// whichTTL describes the TTL that a record without TTL gets from here on, until the next $TTL or, without any $TTL, the
// next TTL of a record (RFC 1035 §5.1).
func (f *file) whichTTL() string {
	switch {
	case f.ttlKnown:
		return fmt.Sprintf("the TTL above holds, %d s", f.ttl)
	case f.fallback != nil:
		return fmt.Sprintf("the TTL of the zone holds, %d s", *f.fallback)
	}
	return "a record needs a TTL of its own"
}

// readRecord reads a record: owner, TTL and class, type, and data (RFC 1035 §5.1). It keeps owner and TTL for records
// below without their own.
func (f *file) readRecord(text string) (RR, error) {
	rest := text
	// 1. Read the owner. A line that begins with a blank has the owner above.
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

	// 2. Read TTL, class and type.
	data, hasTTL, err := rr.readHead(rest)
	if err != nil {
		return RR{}, err
	}

	// 3. Read the data. Without any origin, the SOA's owner is the name of the zone.
	if rr.Type == rdata.SOA && f.origin.IsZero() && f.lostOrigin == 0 {
		f.origin = rr.Name
	}
	if rr.Type == rdata.SOA {
		data = f.repairSOA(&rr, data)
	}
	if rr.Data, err = rdata.FromRR(rr.Type, data, f.origin); err != nil {
		return RR{}, err
	}
	if tag := tagOf(rr.Type, data); tag != strings.ToLower(tag) {
		rr.addNote("the tag %s is served in lower case, which means the same (RFC 8659 §4.1)", name.Quote(tag))
	}
	return rr, f.chooseTTL(&rr, hasTTL)
}

// readHead reads TTL and class, which come in any order, and the type. It returns the text behind them.
func (rr *RR) readHead(rest string) (data string, hasTTL bool, err error) {
	for err == nil {
		var field string
		field, rest = cutField(rest)
		upper := strings.ToUpper(field)
		isIN, isClass := classes[upper]
		switch {
		case field == "":
			err = errors.New("the record has no type; write \"name TTL IN type data\"")
		case isIN:
			// the class of all records
		case isClass:
			err = fmt.Errorf("class %s; only records of class IN are read", upper)
		case isTimeStamp(field):
			rr.addNote("the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted")
		case !hasTTL && '0' <= field[0] && field[0] <= '9':
			hasTTL = true
			rr.TTL, err = parseTTL(field)
		case field == "AWS": // "AWS ALIAS A lb.example.net. Z2FDTNDATAQYW2 false"
			err = errors.New("an alias of Route 53 is no record of DNS; write the addresses or, below the apex, a CNAME")
		default:
			rr.Type, err = rdata.ParseType(field)
			return rest, hasTTL, err
		}
	}
	return "", false, err
}

// classes has true for the class IN. In another class, the record would be changed by import. ANY is also a type, but
// of no record.
var classes = map[string]bool{"IN": true, "CLASS1": true, "CH": false, "CHAOS": false, "HS": false, "HESIOD": false,
	"CS": false, "NONE": false, "ANY": false}

// chooseTTL sets the TTL of a record without TTL, and keeps the TTL of another for the records below.
func (f *file) chooseTTL(rr *RR, hasTTL bool) error {
	switch {
	case hasTTL && f.directive:
		return nil
	case hasTTL:
		f.ttl, f.ttlKnown = rr.TTL, true
	case f.ttlKnown:
		rr.TTL = f.ttl // the last explicit TTL (RFC 1035 §5.1)
	case rr.Type == rdata.SOA:
		// RFC 1035 §5.1 leaves this open. BIND and Windows use the SOA's last field, as if it were in a $TTL.
		minimum, err := parseTTL(rr.Data[strings.LastIndexByte(rr.Data, ' ')+1:])
		f.ttl, f.ttlKnown, f.directive, rr.TTL = minimum, err == nil, err == nil, minimum
		return err
	case f.fallback != nil:
		rr.TTL = *f.fallback
	default:
		return errors.New("the record has no TTL and there is none above; put \"$TTL 3600\" at the top of the file")
	}
	return nil
}

// azureContact is the contact in each SOA that Azure exports, without its last dot.
const azureContact = "azuredns-hostmaster.microsoft.com"

// repairSOA adds the last dots that exporters leave out of an SOA, with a note in rr, and returns the data.
func (f *file) repairSOA(rr *RR, data string) string {
	if f.lacksDot() {
		rr.Name = f.origin
		rr.addNote("the owner %s lacks its last dot, as Cloudflare writes it, and is taken as the zone's name %s", name.Quote(f.ownerText),
			f.origin)
		f.owner, f.ownerText, f.repaired = f.origin, "", true
	}
	server, rest := cutField(data)
	if contact, numbers := cutField(rest); contact == azureContact {
		rr.addNote("the contact %s lacks its last dot, as Azure writes it, and is taken as absolute", contact)
		return server + " " + contact + ". " + numbers
	}
	return data
}

// lacksDot reports whether the owner's text is the name of the zone but for its last dot: "example.org" in the zone
// example.org., where it means example.org.example.org. (RFC 1035 §5.1). Cloudflare exports the SOA so. Below an
// $ORIGIN of the file, the text is relative by intent: "com" below "$ORIGIN com." is com.com.
func (f *file) lacksDot() bool {
	if f.originGiven || f.origin.IsZero() || f.ownerText == "" || name.IsAbsolute(f.ownerText) {
		return false
	}
	zone, err := name.Parse(f.ownerText + ".")
	return err == nil && zone == f.origin
}

// isTimeStamp reports whether a field is the hour in which a client registered its name with Windows: "[AGE:3731000]".
func isTimeStamp(field string) bool {
	return strings.HasPrefix(field, "[AGE:") && strings.HasSuffix(field, "]")
}

// tagOf returns the tag of a CAA record as written, or "".
func tagOf(t rdata.Type, text string) string {
	if fields := strings.Fields(text); t == rdata.CAA && len(fields) > 1 && fields[0] != `\#` {
		return fields[1]
	}
	return ""
}

// setOwner sets the owner of this record, and of lines below that begin with a blank. After an error, these have none.
func (f *file) setOwner(text string) error {
	// Most records have the owner of the record above.
	if text == f.ownerText && f.origin == f.ownerOrigin && !f.owner.IsZero() {
		return nil
	}
	owner, err := f.parseName(text)
	if octalEscape.MatchString(text) {
		owner, err = name.Name{}, errors.New(`\052 and \057 are "*" and "/" in octal, as Route 53 writes them, but "4" and "9" in a `+
			`zone file; write the character itself`)
	}
	if f.repaired && f.namesZone(text) {
		owner, err = name.Name{}, fmt.Errorf("the owner %s means %s here, because its last dot lacks, as in the SOA; write %s",
			name.Quote(text), owner, name.Quote(text+"."))
	}
	f.owner, f.ownerText, f.ownerOrigin = owner, text, f.origin
	return err
}

// namesZone reports whether a relative name, with a last dot, is in the zone: "www.example.org" in example.org.
func (f *file) namesZone(text string) bool {
	if f.originGiven || name.IsAbsolute(text) {
		return false
	}
	absolute, err := name.Parse(text + ".")
	return err == nil && f.origin.Encloses(absolute)
}

func (f *file) parseName(text string) (name.Name, error) {
	text = unescapeOwner(text)
	// Only a relative name needs the guess.
	if f.origin.IsZero() && f.guess != nil && !name.IsAbsolute(text) {
		f.origin, f.guess = f.guess(), nil
	}
	return name.ParseIn(text, f.origin)
}

var octalEscape = regexp.MustCompile(`\\05[27]`)

// ownerEscape matches \X and \DDD of ASCII.
var ownerEscape = regexp.MustCompile(`\\(?:0[0-9]{2}|1[01][0-9]|12[0-7]|[^0-9])`)

// unescapeOwner returns an owner name without escapes, except for \. in a label and for \@, which is not the origin. No
// owner name has either, so name.ParseIn refuses the backslash.
func unescapeOwner(text string) string {
	return ownerEscape.ReplaceAllStringFunc(text, func(escape string) string {
		c := escape[1:]
		if n, err := strconv.ParseUint(c, 10, 8); err == nil {
			c = string(rune(n))
		}
		if c == "." || c == "@" {
			return escape
		}
		return c
	})
}

func parseTTL(text string) (uint32, error) {
	ttl, err := rdata.ParseSeconds(text)
	if err != nil || ttl > rdata.MaxTTL {
		err = fmt.Errorf("TTL %s is not a time of 0 to %d seconds (RFC 2181 §8); write seconds, or units as in \"1h30m\"",
			name.Quote(text), rdata.MaxTTL)
	}
	return ttl, err
}
