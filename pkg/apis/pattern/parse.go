// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

var mapping = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
)

// maxText limits the input of the IDNA decoder, as it takes quadratic time.
const maxText = 1024

// Parse parses a pattern: absolute with a trailing dot, otherwise relative to the zone. "@", alone or as the last
// label, is the zone's name. U-labels become A-labels. A "*" inside a U-label is an error, because the A-label has
// other letters.
func Parse(text string) (Pattern, error) {
	fail := func(format string, args ...any) (Pattern, error) {
		return Pattern{}, fmt.Errorf("pattern %.100q: %s", text, fmt.Sprintf(format, args...))
	}
	switch {
	case text == "":
		return fail(`empty: write "@" for the zone itself or "*" for everything below it`)
	case len(text) > maxText:
		return fail("%d bytes long, the limit is %d", len(text), maxText)
	}

	// Map the text before the split: U+3002 is a dot.
	mapped := strings.ToLower(text)
	if needsMapping(text) {
		var err error
		if mapped, err = mapping.ToASCII(text); err != nil {
			if strings.Contains(text, "*") {
				return fail(`not valid under IDNA, which does not allow "*" inside an internationalised label: %v`, err)
			}
			return fail("not valid under IDNA (UTS 46): %v", err)
		}
		// IDNA maps some invalid UTF-8 to a form that it refuses to read. A canonical form maps to itself.
		if again, err := mapping.ToASCII(mapped); err != nil || again != mapped {
			return fail("not valid under IDNA (UTS 46): it becomes %q, which is not a valid A-label", mapped)
		}
	}

	var p Pattern
	rest, absolute := strings.CutSuffix(mapped, ".")
	p.absolute = absolute
	var texts []string
	if rest != "" || !absolute {
		texts = strings.Split(rest, ".")
	}

	if last := len(texts) - 1; last >= 0 && texts[last] == "@" {
		if absolute {
			return fail(`"@" already is the zone's absolute name: leave out the trailing dot`)
		}
		texts = texts[:last]
		p.text = strings.Join(texts, ".")
		if last == 0 {
			p.text = "@"
		}
	} else {
		p.text = mapped
	}

	// Check each label, and split it at its stars.
	for i, text := range texts {
		switch {
		case text == "":
			return fail("empty label: write one dot between labels and none in front")
		case text == "@":
			return fail(`"@" stands for the zone's name and can only be the last label`)
		case strings.Contains(text, "**"):
			return fail(`label %.70q: write one "*", it matches any number of characters; as the leading label also any number of labels`, text)
		case strings.HasPrefix(text, "xn--") && strings.Contains(text, "*"):
			return fail(`label %.70q: "*" cannot stand inside an internationalised label, whose A-label is what is compared: write the whole label or "*"`, text)
		}

		if at := strings.IndexFunc(text, notInLabel); at >= 0 {
			return fail(`label %.70q: %q is in no owner name; labels are letters, digits, "-", "_", "/" and, here, "*"`, text, text[at])
		}
		if strings.Contains(text, "*") {
			p.hasStar = true
		}

		if i == 0 && text == "*" {
			p.leadingStar = true
			continue
		}

		label := label(strings.Split(text, "*"))
		if label.minLen() > maxLabel {
			return fail("label %.70q: %d octets without its stars, the limit is %d (RFC 1035 §2.3.4)", text, label.minLen(), maxLabel)
		}
		p.labels = append(p.labels, label)
	}

	p.labels = slices.Clip(p.labels)
	return p, nil
}

func needsMapping(text string) bool {
	lower := strings.ToLower(text)
	return strings.HasPrefix(lower, "xn--") || strings.Contains(lower, ".xn--") ||
		strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
}

func notInLabel(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_', r == '/', r == '*':
		return false
	}
	return true
}

func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

func (p *Pattern) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*p = Pattern{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
