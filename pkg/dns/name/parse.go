// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxLabel = 63  // octets, RFC 1035 §2.3.4
	maxWire  = 255 // octets, RFC 1035 §2.3.4
	// maxText limits the input of IDNA, whose decoder takes quadratic time. A code point takes at least one octet of an
	// A-label, and at most four of UTF-8.
	maxText = 4 * maxWire
)

const dots = ".\u3002\uff0e\uff61" // before the mapping (UTS 46)

// profile maps names as for lookups, but without the rules for ASCII. They reject "_", "*", "/" and "r3---x", all valid
// in owner names.
var profile = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// IsAbsolute reports whether text, valid or not, ends in a dot after IDNA mapping.
func IsAbsolute(text string) bool {
	if text == "" || len(text) > maxText { // too long to map
		return strings.HasSuffix(text, ".")
	}
	if !scanASCII(text).needsIDNA {
		return text[len(text)-1] == '.'
	}
	if mapped, err := mapIDNA(text); err == nil {
		return strings.HasSuffix(mapped, ".")
	}
	// The last character of invalid text decides.
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(dots, last)
}

// Parse parses an absolute owner name in any case, with U-labels or A-labels.
func Parse(text string) (Name, error) {
	s, absolute, err := canonicalLabels(text)
	switch {
	case err != nil:
		return Name{}, err
	case !absolute:
		return Name{}, fmt.Errorf("name %s is relative; an absolute name ends in a dot: %s", Quote(text), Quote(s+"."))
	}
	return Name{s}, nil
}

// ParseIn parses an absolute name, a name relative to origin, or "@" for origin. An absolute name need not be in
// origin. If origin is zero, a relative name is ErrNoOrigin.
func ParseIn(text string, origin Name) (Name, error) {
	s, absolute, err := canonicalLabels(text)
	switch {
	case err != nil:
		return Name{}, err
	case absolute:
		return Name{s}, nil
	case origin.IsZero() && s == "@":
		return Name{}, fmt.Errorf("name \"@\" stands for a zone, and %w; write the zone's absolute name, which ends in a dot", ErrNoOrigin)
	case origin.IsZero():
		return Name{}, fmt.Errorf("name %s is relative and %w; write it absolute: %s", Quote(text), ErrNoOrigin, Quote(s+"."))
	}
	return Rel{s}.In(origin)
}

// ErrNoOrigin is wrapped by the error for a relative name without an origin.
var ErrNoOrigin = errors.New("there is no zone it could be relative to")

func ParseRel(text string) (Rel, error) {
	s, absolute, err := canonicalLabels(text)
	switch {
	case err != nil:
		return Rel{}, err
	case absolute:
		return Rel{}, fmt.Errorf("name %s is absolute; a name relative to a zone has no trailing dot, \"@\" is the zone itself",
			Quote(text))
	}
	return Rel{s}, nil
}

// canonicalLabels returns the canonical form of an owner name, with the final dot if the name is absolute.
func canonicalLabels(text string) (s string, absolute bool, err error) {
	if text == "" {
		return "", false, fmt.Errorf("name is empty; write \"@\" for the zone itself or \".\" for the root")
	}
	if len(text) > maxText {
		return "", false, fmt.Errorf("name %s is %d bytes of text; a name has at most %d octets on the wire (RFC 1035 §2.3.4)", Quote(text),
			len(text), maxWire)
	}
	scan := scanASCII(text)
	if scan.needsIDNA {
		mapped, idnaErr := mapIDNA(text)
		if idnaErr != nil {
			return "", false, fmt.Errorf("name %s is not valid under IDNA (UTS 46): %v; write letters of a script that IDNA allows, "+
				"or a valid A-label", Quote(text), idnaErr)
		}
		text, scan = mapped, scanASCII(mapped)
	}
	if scan.upper {
		// The text is ASCII, because the IDNA mapping returns lower case.
		text = strings.ToLower(text)
	}
	if scan.fault != nil {
		return "", false, scan.fault(text)
	}
	return text, scan.absolute, nil
}

// CheckSpelling returns an error if IDNA maps a Unicode character in text to "*", "_", "/", "@" or ".", because an
// admission policy would see other characters than the server.
func CheckSpelling(text string) error {
	switch {
	case !scanASCII(text).needsIDNA:
		return nil
	case len(text) > maxText:
		return fmt.Errorf("%s is %d bytes long, the limit is %d", Quote(text), len(text), maxText)
	}
	mapped, err := mapIDNA(text)
	if err != nil {
		return fmt.Errorf("%s is not valid under IDNA (UTS 46): %v", Quote(text), err)
	}
	for _, c := range "*_/@." {
		if strings.Count(mapped, string(c)) != strings.Count(text, string(c)) {
			return fmt.Errorf("%s has a character that stands for %q: write it in its mapped form, %s", Quote(text), c, Quote(mapped))
		}
	}
	return nil
}

// mapIDNA converts text to ASCII. It returns an error if a label becomes empty, because "www.xn--" would become the
// absolute name "www.".
func mapIDNA(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", errors.New("not valid UTF-8")
	}
	mapped, err := profile.ToASCII(text)
	if err != nil {
		return "", err
	}
	if losesLabel(text, mapped) {
		return "", errors.New("a label of which the mapping leaves nothing")
	}
	// A canonical name maps to itself.
	if mappedTwice, err := profile.ToASCII(mapped); err != nil || mappedTwice != mapped {
		return "", errors.New("a label whose A-label is not valid itself")
	}
	return mapped, nil
}

// losesLabel reports whether the mapping of text left a label empty, or changed the number of labels.
func losesLabel(text, mapped string) bool {
	for {
		dot := strings.IndexAny(text, dots)
		label, mappedRest, found := strings.Cut(mapped, ".")
		otherNumber := found != (dot >= 0)
		becameEmpty := label == "" && text != "" && dot != 0
		if otherNumber || becameEmpty {
			return true
		}
		if !found {
			return false
		}
		_, size := utf8.DecodeRuneInString(text[dot:])
		text, mapped = text[dot+size:], mappedRest
	}
}

type asciiScan struct {
	needsIDNA bool // beyond ASCII, or with xn--
	upper     bool
	absolute  bool
	fault     func(text string) error // error for the first broken rule, or nil
	beyond    bool                    // a byte beyond ASCII
}

func (a asciiScan) canonical() bool { return a.fault == nil && !a.upper && !a.beyond }

// scanASCII reports how text differs from a canonical name, and the first broken rule. A name with needsIDNA has to be
// mapped, and scanned again.
func scanASCII(text string) asciiScan {
	var a asciiScan
	switch text {
	case ".":
		a.absolute = true
		return a
	case "@":
		return a
	}
	start := 0 // of the current label
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == '.' {
			label := text[start:i]
			// The empty label at the end is the root's.
			if i == len(text) && label == "" && i > 0 {
				a.absolute = true
				break
			}
			a.judgeLabel(label, start)
			start = i + 1
			continue
		}
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '/':
		case 'A' <= c && c <= 'Z':
			a.upper = true
		case c >= utf8.RuneSelf:
			a.needsIDNA, a.beyond = true, true
		case c == '*':
			// judgeLabel checks it.
		default:
			// The first broken rule counts.
			if a.fault == nil {
				a.fault = func(text string) error {
					return fmt.Errorf("name %s: %s is not allowed in an owner name; labels are letters, digits, \"-\", \"_\", \"/\", "+
						"and \"*\" alone as the leftmost label", Quote(text), Quote(string(rune(c))))
				}
			}
		}
	}
	if a.fault == nil && wireLen(text, a.absolute) > maxWire {
		absolute := a.absolute
		a.fault = func(text string) error {
			return fmt.Errorf("name %s is %d octets on the wire, the limit is %d (RFC 1035 §2.3.4); shorten it", Quote(text),
				wireLen(text, absolute), maxWire)
		}
	}
	return a
}

func wireLen(text string, absolute bool) int {
	if absolute {
		return len(text) + 1
	}
	return len(text) + 2
}

// judgeLabel notes whether a label is an A-label, and its broken rule: empty, too long, or with a "*" that is not the
// whole leftmost label.
func (a *asciiScan) judgeLabel(label string, start int) {
	a.needsIDNA = a.needsIDNA || hasACEPrefix(label)
	if a.fault != nil {
		return
	}
	switch {
	case label == "":
		a.fault = func(text string) error {
			return fmt.Errorf("name %s has an empty label; write one dot between labels and none in front", Quote(text))
		}
	case len(label) > maxLabel:
		a.fault = func(text string) error {
			return fmt.Errorf("name %s: label %s is %d octets long, the limit is %d (RFC 1035 §2.3.4); shorten it", Quote(text),
				Quote(label), len(label), maxLabel)
		}
	case strings.IndexByte(label, '*') >= 0 && (label != "*" || start != 0):
		a.fault = func(text string) error {
			return fmt.Errorf("name %s: \"*\" may only be the whole leftmost label of an owner name (RFC 4592)", Quote(text))
		}
	}
}

// hasACEPrefix reports whether a label claims to be an A-label (RFC 5890 §2.3.2.1).
func hasACEPrefix(label string) bool { return len(label) >= 4 && strings.EqualFold(label[:4], "xn--") }

func Quote(text string) string {
	const most = 100
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}

// IsHost reports whether a name in presentation format is a host name: letters, digits and inner hyphens, or the root.
func IsHost(text string) bool {
	text = strings.TrimSuffix(text, ".")
	if text == "" {
		return true
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || label != strings.Trim(label, "-") || strings.Trim(label, hostCharacters) != "" {
			return false
		}
	}
	return true
}

// hostCharacters are those of RFC 1123 §2.1.
const hostCharacters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
