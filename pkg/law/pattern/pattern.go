// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pattern

import (
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Octets, RFC 1035 §2.3.4.
const (
	maxLabel = 63
	maxWire  = 255
)

// Pattern is one parsed pattern. The zero value matches nothing. A Pattern is
// never modified and may be used from several goroutines.
type Pattern struct {
	text string
	// absolute says that labels are counted from the root, else from the zone's fqdn.
	absolute bool
	// many says that a leading "*" stands before labels and takes one or more.
	many bool
	// star says that there is a "*" somewhere, so the apex is out of reach (S4.6).
	star bool
	// labels from left to right, without the leading "*" that many stands for.
	labels []label
}

// label is one label of a pattern, cut at its stars: "a*b*" is ["a","b",""].
// One part means that it is literal.
type label []string

func (l label) literal() bool { return len(l) == 1 }

// minLen is the length of the shortest label that l matches: a label has at
// least one octet.
func (l label) minLen() int {
	length := 0
	for _, part := range l {
		length += len(part)
	}
	return max(length, 1)
}

// matchText compares one label of a name. Taking each part at the leftmost place
// after the last leaves the most for those that follow, so the first try
// decides and literal parts never overlap ("ab*ba" does not match "aba").
func (l label) matchText(text string) bool {
	if l.literal() {
		return text == l[0]
	}
	first, middle, last := l[0], l[1:len(l)-1], l[len(l)-1]
	if text == "" || len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range middle {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// String is the pattern in canonical form: lower case, A-labels, "x.@" as "x".
func (p Pattern) String() string { return p.text }

// IsZero reports whether p is the zero value.
func (p Pattern) IsZero() bool { return p.text == "" }

// Match reports whether a rule with this pattern in zone speaks of n (S4.6). A
// name outside the zone never matches.
func (p Pattern) Match(n, zone name.Name) bool {
	_, ok := p.matchName(n, zone)
	return ok
}

// NamesUnderscore reports whether p matches n and names literally what S4.8
// asks for: n has labels below the zone that begin with "_", and each of them
// is compared with a label of the pattern that has no "*". "_acme-challenge.*"
// so names _acme-challenge.www; "*._tcp.www" does not name _443._tcp.www,
// because _443 is left to a star.
func (p Pattern) NamesUnderscore(n, zone name.Name) bool {
	underscore, ok := p.matchName(n, zone)
	return ok && underscore == named
}

// SpeaksForMany reports whether p names underscore labels literally, and has a "*" behind: its names speak for names of
// any namespace, and claim nothing (S4.14).
func (p Pattern) SpeaksForMany() bool {
	return p.star && !p.many && p.labels[0].literal() && strings.HasPrefix(p.labels[0][0], "_")
}

// Names reports whether p matches n alone among the names of the zone: it has no "*".
func (p Pattern) Names(n, zone name.Name) bool { return !p.star && p.Match(n, zone) }

// Only is the one name of the zone that p matches where it has no "*".
func (p Pattern) Only(zone name.Name) (name.Name, bool) {
	if p.star || p.IsZero() || zone.IsZero() {
		return name.Name{}, false
	}
	n, err := name.ParseIn(p.text, zone)
	return n, err == nil && p.Match(n, zone)
}

// IsLiteral reports whether p has no "*".
func (p Pattern) IsLiteral() bool { return !p.star && !p.IsZero() }

// Tail is how many labels below the zone's name p has behind its last label with "*" (S4.20): all of them where it has
// no "*", 0 where none is behind, or only labels of the zone's own name.
func (p Pattern) Tail(zone name.Name) (labels int) {
	for i := len(p.labels) - 1; i >= 0 && p.labels[i].literal(); i-- {
		labels++
	}
	if p.absolute {
		labels = max(labels-zone.NumLabels(), 0)
	}
	return labels
}

// IsAbove reports whether the one name that p matches is n or above it, below the zone's own, and has no label that
// begins with "_". labels is how many of that name are below the zone's. It is false where p has a "*".
func (p Pattern) IsAbove(n name.Rel, zone name.Name) (labels int, ok bool) {
	if !p.IsLiteral() {
		return 0, false
	}
	text := p.text
	if p.absolute {
		if text, ok = strings.CutSuffix(text, zone.String()); !ok {
			return 0, false
		}
		if text, ok = strings.CutSuffix(text, "."); !ok && zone != name.Root {
			return 0, false
		}
	}
	if text == "" || text == "@" || strings.HasPrefix(text, "_") || strings.Contains(text, "._") {
		return 0, false
	}
	above, ok := strings.CutSuffix(n.String(), text)
	return strings.Count(text, ".") + 1, ok && (above == "" || strings.HasSuffix(above, "."))
}

// MayMatchBelow reports whether p may match n or a name below it in the zone: the literal labels at the end of p and n
// do not differ.
func (p Pattern) MayMatchBelow(n name.Rel, zone name.Name) bool {
	labels := p.labels
	if p.absolute {
		labels = labels[:max(len(labels)-zone.NumLabels(), 0)]
	}
	of := n.Labels()
	for i, text := range slices.Backward(of) {
		at := len(labels) - len(of) + i
		if at < 0 {
			return p.many
		}
		if l := labels[at]; !l.literal() {
			return true
		} else if l[0] != text {
			return false
		}
	}
	return true
}

// MatchBelow reports whether p matches every name below n: its leading "*" takes all labels that are added.
func (p Pattern) MatchBelow(n, zone name.Name) bool {
	child, err := name.ParseIn("x", n)
	return p.many && err == nil && p.Match(child, zone)
}

// NamesAbove returns the names of the zone, but its own, below which every name lies that p matches.
func (p Pattern) NamesAbove(zone name.Name) (above []name.Name) {
	labels := p.labels
	if p.absolute {
		labels = labels[:max(len(labels)-zone.NumLabels(), 0)]
	}
	at := zone
	for i := len(labels) - 1; i >= 0 && labels[i].literal() && (i > 0 || p.many); i-- {
		below, err := name.ParseIn(labels[i][0], at)
		if err != nil {
			break
		}
		at, above = below, append(above, below)
	}
	return above
}

// The result of a comparison about the labels that begin with "_".
type underscores int

const (
	none    underscores = iota // there are none
	named                      // all are named by literal labels
	unnamed                    // at least one is left to a "*"
)

func (u underscores) and(label string, literal bool) underscores {
	switch {
	case !strings.HasPrefix(label, "_"):
		return u
	case !literal || u == unnamed:
		return unnamed
	default:
		return named
	}
}

func (p Pattern) matchName(n, zone name.Name) (underscores, bool) {
	below, ok := n.Rel(zone)
	if !ok || p.IsZero() || p.star && below.IsApex() {
		return none, false
	}
	// A relative pattern's last label meets the label right below the zone, an
	// absolute one's that right below the root; "_" of the zone's own labels
	// is no business of S4.8.
	rest, toCompare := strings.TrimSuffix(n.String(), "."), n.NumLabels()
	free := toCompare - zone.NumLabels()
	if !p.absolute {
		rest, toCompare = below.String(), free
	}
	found := none
	for i := len(p.labels) - 1; i >= 0; i-- {
		if toCompare == 0 {
			return none, false
		}
		var text string
		rest, text = cutLast(rest)
		if !p.labels[i].matchText(text) {
			return none, false
		}
		if toCompare <= free {
			found = found.and(text, p.labels[i].literal())
		}
		toCompare--
	}
	if !p.many {
		return found, toCompare == 0
	}
	if toCompare == 0 {
		return none, false
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

// cutLast takes the last label off a name without trailing dot.
func cutLast(text string) (rest, label string) {
	at := strings.LastIndexByte(text, '.')
	if at < 0 {
		return "", text
	}
	return text[:at], text[at+1:]
}

// CanMatch reports whether any legal name matches p in zone; if not, the author of
// the pattern gets a Warning (S4.6).
func (p Pattern) CanMatch(zone name.Name) bool {
	if p.IsZero() || zone.IsZero() {
		return false
	}
	least := 1 // the root's octet
	for _, label := range p.labels {
		least += 1 + label.minLen()
	}
	if !p.absolute {
		if p.many {
			least += 2
		}
		return least+zone.WireLen()-1 <= maxWire
	}

	// Laid over the zone from the right, every label that meets one of the
	// zone's must match it; those beyond, to the left, are free.
	labels, zoneLabels := p.labels, zone.Labels()
	for len(labels) > 0 && len(zoneLabels) > 0 {
		last := labels[len(labels)-1]
		if !last.matchText(zoneLabels[len(zoneLabels)-1]) {
			return false
		}
		least += len(zoneLabels[len(zoneLabels)-1]) - last.minLen()
		labels, zoneLabels = labels[:len(labels)-1], zoneLabels[:len(zoneLabels)-1]
	}
	switch {
	case p.many:
		// The leading "*" takes what is left of the zone's labels and, as the
		// apex itself is out of reach, at least one more.
		for _, text := range zoneLabels {
			least += 1 + len(text)
		}
		least += 2
	case len(zoneLabels) > 0:
		return false // only names above the zone
	case len(labels) == 0 && p.star:
		return false // only the apex, which "*" never matches
	}
	return least <= maxWire
}

// Warning returns the probable mistake of a pattern in a rule of the zone, "" for none (S4.6): it repeats the zone's
// name, or can match no name.
func (p Pattern) Warning(zone name.Name) string {
	if meant := p.withoutZone(zone); meant != "" {
		return fmt.Sprintf("pattern %.200q repeats the zone's name, and is relative to %s: write %q, or a dot at its end (S4.6)", p.text,
			zone, meant)
	}
	if p.CanMatch(zone) {
		return ""
	}
	return fmt.Sprintf("pattern %.200q can match no name of %s; patterns are relative to the zone unless they end in a "+
		"dot (S4.6)", p.text, zone)
}

// withoutZone returns a relative pattern without the name of the zone that it ends in; "" for any other.
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
