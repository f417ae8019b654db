// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
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
	mapped, err := name.ToASCII(text)
	if err != nil {
		return fail(`not valid under IDNA (UTS 46), which does not allow "*" inside an internationalised label: %v`, err)
	}
	// "x.@" is "x", and "@" alone is the apex.
	p := Pattern{text: mapped}
	if below, ok := strings.CutSuffix(mapped, ".@"); ok {
		p.text = below
	}
	rest, absolute := strings.CutSuffix(p.text, ".")
	p.absolute, p.hasStar = absolute, strings.Contains(rest, "*")
	if rest == "@" && !absolute || rest == "" && mapped == "." {
		return p, nil
	}
	for i, text := range strings.Split(rest, ".") {
		label := label(strings.Split(text, "*"))
		if fault := label.findFault(text); fault != "" {
			return fail("%s", fault)
		}
		if p.leadingStar = p.leadingStar || i == 0 && text == "*"; i > 0 || text != "*" {
			p.labels = append(p.labels, label)
		}
	}
	p.labels = slices.Clip(p.labels)
	return p, nil
}

// findFault returns the broken rule of a label, split at its stars, or "".
func (l label) findFault(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune(labelCharacters, r) })
	switch {
	case text == "":
		return "empty label: write one dot between labels and none in front"
	case text == "@":
		return `"@" stands for the zone's name and can only be the last label, without a trailing dot`
	case strings.Contains(text, "**"):
		return fmt.Sprintf(`label %.70q: write one "*", it matches any number of characters; as the leading label also any number of `+
			`labels`, text)
	case strings.HasPrefix(text, "xn--") && !l.literal():
		return fmt.Sprintf(`label %.70q: "*" cannot stand inside an internationalised label, whose A-label is what is compared: write the `+
			`whole label or "*"`, text)
	case at >= 0:
		return fmt.Sprintf(`label %.70q: %q is in no owner name; labels are letters, digits, "-", "_", "/" and, here, "*"`, text, text[at])
	case l.minLen() > maxLabel:
		return fmt.Sprintf("label %.70q: %d octets without its stars, the limit is %d (RFC 1035 §2.3.4)", text, l.minLen(), maxLabel)
	}
	return ""
}

const labelCharacters = "0123456789abcdefghijklmnopqrstuvwxyz-_/*"

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
