// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"strings"
	"unicode/utf8"
)

// ParseTyped parses a whole name as a person types it: in any script and case, with or without the last dot, and with
// spaces around. "Bücher.example" is xn--bcher-kva.example.
func ParseTyped(text string) (Name, error) {
	text = strings.TrimSpace(text)
	if text != "" && !IsAbsolute(text) {
		text += "."
	}
	return Parse(text)
}

// Part is a part of a name as a person types it, such as "www.ex" or "büch".
type Part struct {
	ascii   string
	unicode string // with U-labels; "" if the person typed ASCII
}

func ParsePart(text string) Part {
	p := Part{ascii: strings.ToLower(strings.TrimSpace(text))}
	if isASCII := strings.IndexFunc(p.ascii, func(c rune) bool { return c >= utf8.RuneSelf }) < 0; !isASCII && len(p.ascii) <= maxText {
		p.unicode, _ = profile.ToUnicode(p.ascii) // a part need not be valid, for example one that ends in a joiner
	}
	return p
}

// IsUnicode reports whether the part has a character beyond ASCII. In then takes a hundred times as long for names with
// A-labels, some microseconds each.
func (p Part) IsUnicode() bool { return p.unicode != "" }

// In reports whether a canonical name has the part. An A-label has no part of its U-label, so a part beyond ASCII is
// looked for in the U-labels.
func (p Part) In(canonical string) bool {
	return strings.Contains(canonical, p.ascii) || p.unicode != "" && strings.Contains(ToUnicode(canonical), p.unicode)
}

// ToUnicode returns a name with its A-labels as U-labels (RFC 5890 §2.3.2.1), or "" if the name has none or is not
// valid. Other names may look the same, so show the result only beside the name itself.
func ToUnicode(text string) string {
	if len(text) > maxText || !strings.Contains(text, "xn--") {
		return ""
	}
	mapped, err := profile.ToUnicode(text)
	if err != nil || mapped == text || losesLabel(text, mapped) {
		return ""
	}
	return mapped
}
