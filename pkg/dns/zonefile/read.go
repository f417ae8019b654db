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

// setTTL reads a $TTL. It holds for records without a TTL, until the next $TTL (RFC 2308 §4).
func (f *file) setTTL(rest string) error {
	text, rest := cutField(rest)
	ttl, ok, err := parseTTL(text)
	switch {
	case err != nil:
		return fmt.Errorf("$TTL, without which %s: %w", f.whichTTL(), err)
	case !ok || rest != "":
		return fmt.Errorf("$TTL takes one time, and without it %s; write seconds or units, as in \"$TTL 3600\" or \"$TTL 1h\"",
			f.whichTTL())
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

	// 2. Read TTL and class, which come in any order, up to the type.
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
		if isTimeStamp(field) {
			rr.addNote("the time stamp of Windows ([AGE:…]) is dropped: the record stays until it is deleted")
			continue
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
		if field == "AWS" { // "AWS ALIAS A lb.example.net. Z2FDTNDATAQYW2 false"
			return RR{}, errors.New("an alias of Route 53 is no record of DNS; write the addresses or, below the apex, a CNAME")
		}
		t, err := rdata.ParseType(field)
		if err != nil {
			return RR{}, err
		}
		rr.Type = t
		break
	}

	// 3. Read the data. Without any origin, the SOA's owner is the name of the zone.
	if rr.Type == rdata.SOA && f.origin.IsZero() && f.lostOrigin == 0 {
		f.origin = rr.Name
	}
	if rr.Type == rdata.SOA {
		rest = f.repairSOA(&rr, rest)
	}
	var err error
	if rr.Data, err = rdata.FromRR(rr.Type, rest, f.origin); err != nil {
		return RR{}, err
	}
	if tag := tagOf(rr.Type, rest); tag != strings.ToLower(tag) {
		rr.addNote("the tag %s is served in lower case, which means the same (RFC 8659 §4.1)", name.Quote(tag))
	}

	// 4. Find the TTL of a record without TTL, and keep a TTL for the records below.
	switch {
	case hasTTL && !f.directive:
		f.ttl, f.ttlKnown = rr.TTL, true
	case !hasTTL && !f.ttlKnown && rr.Type == rdata.SOA:
		// RFC 1035 §5.1 leaves this open. BIND and Windows use the SOA's last field, as if it were in a $TTL.
		minimum, _, err := parseTTL(rr.Data[strings.LastIndexByte(rr.Data, ' ')+1:])
		if err != nil {
			return RR{}, err
		}
		f.ttl, f.ttlKnown, f.directive, rr.TTL = minimum, true, true, minimum
	case !hasTTL && !f.ttlKnown && f.fallback != nil:
		rr.TTL = *f.fallback
	case !hasTTL && !f.ttlKnown:
		return RR{}, errors.New("the record has no TTL and there is none above; put \"$TTL 3600\" at the top of the file")
	case !hasTTL:
		rr.TTL = f.ttl // the last explicit TTL (RFC 1035 §5.1)
	}
	return rr, nil
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
	if label, _, _ := strings.Cut(text, "."); label == `\052` {
		owner, err = name.Name{}, errors.New(`the label \052 is "*" in octal, as Route 53 writes a wildcard, but "4" in a zone file; `+
			`write "*"`)
	}
	if strings.Contains(text, `\057`) {
		owner, err = name.Name{}, errors.New(`\057 is "/" in octal, as Route 53 writes it, but "9" in a zone file; write "/" or "9"`)
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
	if strings.IndexByte(text, '\\') >= 0 {
		plain, ok := unescapeOwner(text)
		if !ok {
			return name.Name{}, fmt.Errorf("name %s has an escape that stands for no character of an owner name; labels are letters, "+
				"digits, \"-\", \"_\" and \"/\"", name.Quote(text))
		}
		text = plain
	}
	// Only a relative name needs the guess.
	if f.origin.IsZero() && f.guess != nil && !name.IsAbsolute(text) {
		f.origin, f.guess = f.guess(), nil
	}
	return name.ParseIn(text, f.origin)
}

// unescapeOwner returns an owner name without the escapes \X and \DDD, or false if an escaped character is in no owner
// name.
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

// isClass reports whether a field is the class IN. Another class is an error, because the record would change its
// class.
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
