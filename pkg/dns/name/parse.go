// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"errors"
	"fmt"
	"slices"
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

var asciiDots = strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".")

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
	if !needsIDNA(text) {
		return strings.HasSuffix(text, ".")
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
	ascii, err := ToASCII(text)
	if err != nil {
		return "", false, fmt.Errorf("name %s is not valid under IDNA (UTS 46): %w; write letters of a script that IDNA allows, "+
			"or a valid A-label", Quote(text), err)
	}
	if err := checkCanonical(ascii); err != nil {
		return "", false, err
	}
	return ascii, strings.HasSuffix(ascii, "."), nil
}

// ToASCII returns a text in lower case, with U-labels as A-labels. It returns an error for a text that IDNA does not
// allow, and checks nothing else. The caller bounds the text, because IDNA takes quadratic time.
func ToASCII(text string) (string, error) {
	if needsIDNA(text) {
		return mapIDNA(text)
	}
	return strings.ToLower(text), nil
}

// CheckSpelling returns an error if IDNA maps a Unicode character in text to "*", "_", "/", "@" or ".", because an
// admission policy would see other characters than the server.
func CheckSpelling(text string) error {
	switch {
	case !needsIDNA(text):
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
	before, after := strings.Split(asciiDots.Replace(text), "."), strings.Split(mapped, ".")
	if len(before) != len(after) {
		return true
	}
	for i := range after {
		if after[i] == "" && before[i] != "" {
			return true
		}
	}
	return false
}

// needsIDNA reports whether a name has a character beyond ASCII, or a label that claims to be an A-label (RFC 5890
// §2.3.2.1).
func needsIDNA(text string) bool {
	return !isASCII(text) || strings.Contains(text, "--") && strings.Contains("."+strings.ToLower(text), ".xn--")
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// checkCanonical returns an error for the first rule that keeps a text from being a canonical name, absolute or
// relative. A-labels are not decoded.
func checkCanonical(text string) error {
	if text == "." || text == "@" {
		return nil
	}
	labels := strings.TrimSuffix(text, ".")
	leftmost := true
	for label := range strings.SplitSeq(labels, ".") {
		if err := checkLabel(text, label, leftmost); err != nil {
			return err
		}
		leftmost = false
	}
	if n := len(labels) + 2; n > maxWire {
		return fmt.Errorf("name %s is %d octets on the wire, the limit is %d (RFC 1035 §2.3.4); shorten it", Quote(text), n, maxWire)
	}
	return nil
}

// checkLabel returns an error if a label of the name text has another character, is empty or too long, or has a "*"
// that is not the whole leftmost label.
func checkLabel(text, label string, leftmost bool) error {
	for i := range len(label) {
		if !inLabels[label[i]] {
			return fmt.Errorf("name %s: %s is not allowed in an owner name; labels are letters, digits, \"-\", \"_\", \"/\", "+
				"and \"*\" alone as the leftmost label", Quote(text), Quote(string(rune(label[i]))))
		}
	}
	switch {
	case label == "":
		return fmt.Errorf("name %s has an empty label; write one dot between labels and none in front", Quote(text))
	case len(label) > maxLabel:
		return fmt.Errorf("name %s: label %s is %d octets long, the limit is %d (RFC 1035 §2.3.4); shorten it", Quote(text),
			Quote(label), len(label), maxLabel)
	case strings.Contains(label, "*") && (label != "*" || !leftmost):
		return fmt.Errorf("name %s: \"*\" may only be the whole leftmost label of an owner name (RFC 4592)", Quote(text))
	}
	return nil
}

// inLabels has the characters of canonical labels.
var inLabels = func() (in [256]bool) {
	for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyz-_/*") {
		in[c] = true
	}
	return in
}()

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
	return text == "" || !slices.ContainsFunc(strings.Split(text, "."), isNoHostLabel)
}

func isNoHostLabel(label string) bool {
	return label == "" || label != strings.Trim(label, "-") || strings.Trim(label, hostCharacters) != ""
}

// hostCharacters are those of RFC 1123 §2.1.
const hostCharacters = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
