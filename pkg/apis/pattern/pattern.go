// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Maximum lengths in octets (RFC 1035 §2.3.4).
const (
	maxLabel = 63
	maxWire  = 255
)

// Pattern selects names of a zone in a rule, for example "www", "*.dev" or "foo*". A Pattern is immutable. The zero
// value matches nothing.
type Pattern struct {
	text string
	// absolute is true for a pattern with a trailing dot. Its labels count from the root instead of the zone.
	absolute bool
	// leadingStar is true if the first label is "*". It matches a label or more.
	leadingStar bool
	// hasStar is true if there is any "*". Such a pattern never matches the apex.
	hasStar bool
	// labels are in the order of the text, without the leading "*".
	labels []label
}

// label is split at its stars: "a*b*" is ["a","b",""]. A label with a single part is literal.
type label []string

func (l label) literal() bool { return len(l) == 1 }

func (l label) minLen() int {
	length := 0
	for _, part := range l {
		length += len(part)
	}
	return max(length, 1)
}

// matchText reports whether the label matches a label of a name. Each "*" matches any number of characters, also none.
func (l label) matchText(text string) bool {
	if l.literal() {
		return text == l[0]
	}
	first, middle, last := l[0], l[1:len(l)-1], l[len(l)-1]
	// The parts must not overlap: "ab*ba" does not match aba.
	if text == "" || len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range middle { // the leftmost match leaves the most text for later parts
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// String returns the canonical form. For example, "x.@" becomes "x".
func (p Pattern) String() string { return p.text }

func (p Pattern) IsZero() bool { return p.text == "" }

func (p Pattern) Match(n, zone name.Name) bool {
	_, ok := p.matchName(n, zone)
	return ok
}

// NamesUnderscore reports whether p matches n and names all its underscore labels below the zone literally.
// "_acme-challenge.*" does for _acme-challenge.www, but "*._tcp.www" does not for _443._tcp.www.
func (p Pattern) NamesUnderscore(n, zone name.Name) bool {
	underscore, ok := p.matchName(n, zone)
	return ok && underscore == literalUnderscores
}

// SpeaksForMany reports whether p begins with a literal underscore label, before a "*".
func (p Pattern) SpeaksForMany() bool {
	return p.hasStar && !p.leadingStar && p.labels[0].literal() && strings.HasPrefix(p.labels[0][0], "_")
}

func (p Pattern) IsLiteralFor(n, zone name.Name) bool { return !p.hasStar && p.Match(n, zone) }

func (p Pattern) LiteralName(zone name.Name) (name.Name, bool) {
	if p.hasStar || p.IsZero() || zone.IsZero() {
		return name.Name{}, false
	}
	n, err := name.ParseIn(p.text, zone)
	return n, err == nil && p.Match(n, zone)
}

// LiteralOwner is LiteralName relative to the zone.
func (p Pattern) LiteralOwner(zone name.Name) (owner name.Rel, literal bool) {
	n, literal := p.LiteralName(zone)
	owner, _ = n.Rel(zone)
	return owner, literal
}

func (p Pattern) IsLiteral() bool { return !p.hasStar && !p.IsZero() }

// Tail returns the number of labels after the last label with "*", 1 for "*.apps", or the number of all labels without
// "*". Labels of the zone do not count.
func (p Pattern) Tail(zone name.Name) (labels int) {
	for i := len(p.labels) - 1; i >= 0 && p.labels[i].literal(); i-- {
		labels++
	}
	if p.absolute {
		labels = max(labels-zone.NumLabels(), 0)
	}
	return labels
}

// IsAbove reports whether a rule with the pattern p reserves n for its namespaces: p reserves n or a name above. The
// number of labels of p below the zone is also returned: 1 for "lab", which is above a.lab.
func (p Pattern) IsAbove(n name.Rel, zone name.Name) (labels int, ok bool) {
	text, reserves := p.reservedName(zone)
	rest, hasSuffix := strings.CutSuffix(n.String(), text)
	if !reserves || !hasSuffix {
		return 0, false
	}
	// "pay" is above x.pay, but not above xpay.
	return strings.Count(text, ".") + 1, rest == "" || strings.HasSuffix(rest, ".")
}

// reservedName returns the pattern relative to the zone, or false if the pattern has "*", or is the apex, an underscore
// name or a name of another zone. Such patterns reserve no name.
func (p Pattern) reservedName(zone name.Name) (text string, ok bool) {
	text, ok = p.textBelow(zone)
	isApex := text == "" || text == "@"
	hasUnderscore := strings.HasPrefix(text, "_") || strings.Contains(text, "._")
	return text, ok && p.IsLiteral() && !isApex && !hasUnderscore
}

// textBelow returns the pattern relative to the zone, or false for an absolute pattern of another zone.
func (p Pattern) textBelow(zone name.Name) (text string, ok bool) {
	if !p.absolute {
		return p.text, true
	}
	text, ok = strings.CutSuffix(p.text, zone.String())
	if !ok {
		return "", false
	}
	text, hasDot := strings.CutSuffix(text, ".")
	return text, hasDot || zone == name.Root
}

// MayMatchBelow reports whether p may match a name at or below n. A label with "*" inside counts as a match.
func (p Pattern) MayMatchBelow(n name.Rel, zone name.Name) bool {
	labels := p.labels
	if p.absolute {
		labels = labels[:max(len(labels)-zone.NumLabels(), 0)]
	}
	of := n.Labels()
	for i, text := range slices.Backward(of) {
		at := len(labels) - len(of) + i
		// n has more labels than p, so only a leading "*" reaches there.
		if at < 0 {
			return p.leadingStar
		}
		if l := labels[at]; !l.literal() {
			return true
		} else if l[0] != text {
			return false
		}
	}
	return true
}

func (p Pattern) MatchBelow(n, zone name.Name) bool {
	child, err := name.ParseIn("x", n)
	return p.leadingStar && err == nil && p.Match(child, zone)
}

// NamesAbove returns the names below the zone that are above every match: b and a.b for "*.a.b", but only b for "a.b".
func (p Pattern) NamesAbove(zone name.Name) (above []name.Name) {
	labels := p.labels
	if p.absolute {
		labels = labels[:max(len(labels)-zone.NumLabels(), 0)]
	}
	parent := zone
	// The leftmost label of "a.b" makes the name itself, so only b is above.
	for i := len(labels) - 1; i >= 0 && labels[i].literal() && (i > 0 || p.leadingStar); i-- {
		below, err := name.ParseIn(labels[i][0], parent)
		if err != nil {
			break
		}
		parent, above = below, append(above, below)
	}
	return above
}

type underscores int

const (
	noUnderscore       underscores = iota
	literalUnderscores             // all compared with literal labels
	starUnderscore                 // a "*" matches some
)

func (u underscores) and(label string, literal bool) underscores {
	switch {
	case !strings.HasPrefix(label, "_"):
		return u
	case !literal || u == starUnderscore:
		return starUnderscore
	default:
		return literalUnderscores
	}
}

// matchName reports whether p matches n in the zone, and whether the labels of n with "_" below the zone were compared
// with literal labels.
func (p Pattern) matchName(n, zone name.Name) (underscores, bool) {
	below, ok := n.Rel(zone)
	if !ok || p.IsZero() || p.hasStar && below.IsApex() {
		return noUnderscore, false
	}

	// Compare labels from the right, up from the zone or, if p is absolute, from the root. "_" in the zone's own labels
	// does not count.
	rest, toCompare := strings.TrimSuffix(n.String(), "."), n.NumLabels()
	free := toCompare - zone.NumLabels()
	if !p.absolute {
		rest, toCompare = below.String(), free
	}
	found := noUnderscore
	for i := len(p.labels) - 1; i >= 0; i-- {
		// p has more labels than n.
		if toCompare == 0 {
			return noUnderscore, false
		}
		var text string
		rest, text = cutLast(rest)
		if !p.labels[i].matchText(text) {
			return noUnderscore, false
		}
		if toCompare <= free {
			found = found.and(text, p.labels[i].literal())
		}
		toCompare--
	}

	// The leading "*" takes all labels left, but at least a single label.
	if !p.leadingStar {
		return found, toCompare == 0
	}
	if toCompare == 0 {
		return noUnderscore, false
	}

	for ; toCompare > 0; toCompare-- {
		var text string
		rest, text = cutLast(rest)
		if toCompare <= free {
			found = found.and(text, false)
		}
	}

	return found, true
}

func cutLast(text string) (rest, label string) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return "", text
	}
	return text[:at], text[at+1:]
}

// CanMatch reports whether p matches a name of the zone within the limit of 255 octets.
func (p Pattern) CanMatch(zone name.Name) bool {
	if p.IsZero() || zone.IsZero() {
		return false
	}
	least := 1 // octets on the wire
	for _, label := range p.labels {
		least += 1 + label.minLen()
	}
	if !p.absolute {
		// The shortest label for the "*" takes two octets.
		if p.leadingStar {
			least += 2
		}
		return least+zone.WireLen()-1 <= maxWire
	}

	// Compare an absolute pattern with the zone's own labels, from the right.
	labels, zoneLabels := p.labels, zone.Labels()
	for len(labels) > 0 && len(zoneLabels) > 0 {
		last := labels[len(labels)-1]
		if !last.matchText(zoneLabels[len(zoneLabels)-1]) {
			return false
		}
		// A "*" within the label has to be as long as the zone's label.
		least += len(zoneLabels[len(zoneLabels)-1]) - last.minLen()
		labels, zoneLabels = labels[:len(labels)-1], zoneLabels[:len(zoneLabels)-1]
	}

	switch {
	case p.leadingStar:
		// The "*" takes the rest of the zone's name, and a label below.
		for _, text := range zoneLabels {
			least += 1 + len(text)
		}
		least += 2
	case len(zoneLabels) > 0:
		return false
	// The pattern is the zone's name, and a "*" never matches the apex.
	case len(labels) == 0 && p.hasStar:
		return false
	}

	return least <= maxWire
}

// Warning returns a sentence if p matches no name of the zone, or repeats the zone's name. Otherwise, the result is "".
func (p Pattern) Warning(zone name.Name) string {
	if meant := p.withoutZone(zone); meant != "" {
		return fmt.Sprintf("pattern %.200q repeats the zone's name, and is relative to %s: write %q, or a dot at its end", p.text,
			zone, meant)
	}
	if p.CanMatch(zone) {
		return ""
	}
	return fmt.Sprintf("pattern %.200q can match no name of %s; patterns are relative to the zone unless they end in a "+
		"dot", p.text, zone)
}

// withoutZone returns the pattern probably meant by p: "www" for "www.example.org" in example.org. The result
// is "" if p does not end in the zone's name.
func (p Pattern) withoutZone(zone name.Name) string {
	origin := strings.TrimSuffix(zone.String(), ".")
	if p.absolute || origin == "" {
		return ""
	}
	if p.text == origin {
		return "@"
	}
	meant, ok := strings.CutSuffix(p.text, "."+origin)
	if !ok {
		return ""
	}
	return meant
}
