// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// maxLookups is the maximum number of a receiver's queries for an SPF policy (RFC 7208 §4.6.4).
const maxLookups = 10

var spfEnds = []string{"-all", "~all", "?all", "+all"}

// spfLookups contains the terms of SPF that make a receiver query.
var spfLookups = []string{"include", "a", "mx", "ptr", "exists", "redirect"}

// mechanisms has the mechanisms of SPF (RFC 7208 §5), and the text after the name, for example ":192.0.2.0/24" of ip4.
// Macros such as %{i} may be in a domain.
var mechanisms = map[string]func(rest string) bool{
	"all":     func(rest string) bool { return rest == "" },
	"include": isDomain,
	"exists":  isDomain,
	"a":       func(rest string) bool { return rest == "" || rest[0] == '/' || isDomain(rest) },
	"mx":      func(rest string) bool { return rest == "" || rest[0] == '/' || isDomain(rest) },
	"ptr":     func(rest string) bool { return rest == "" || isDomain(rest) },
	"ip4":     func(rest string) bool { return isNetwork(rest, netip.Addr.Is4) },
	"ip6":     func(rest string) bool { return isNetwork(rest, netip.Addr.Is6) },
}

func isDomain(rest string) bool { return len(rest) > 1 && rest[0] == ':' && rest[1] != '/' }

func isNetwork(rest string, ofFamily func(netip.Addr) bool) bool {
	text, colon := strings.CutPrefix(rest, ":")
	address, err := netip.ParseAddr(text)
	if network, noNetwork := netip.ParsePrefix(text); noNetwork == nil {
		address, err = network.Addr(), nil
	}
	return colon && err == nil && ofFamily(address)
}

// term is a word of an SPF policy behind the version: a mechanism with its qualifier, as "~all", or a modifier, as
// "redirect=_spf.example.org".
type term struct {
	text       string
	name, rest string
	isModifier bool
}

func parseTerm(text string) term {
	t := term{text: text, name: strings.ToLower(text)}
	if end := strings.IndexAny(text, ":=/"); end >= 0 {
		t.name, t.rest, t.isModifier = strings.ToLower(text[:end]), text[end:], text[end] == '='
	}
	if !t.isModifier && t.name != "" && strings.ContainsRune("+-~?", rune(t.name[0])) {
		t.name = t.name[1:]
	}
	return t
}

// findFault returns the syntax error of a term: receivers then reject the whole policy (permerror, RFC 7208 §4.6),
// or the mechanism that is written as a modifier, which they ignore.
func (t *term) findFault() string {
	takes, known := mechanisms[t.name]
	switch {
	case t.isModifier:
		return t.findModifierFault(known)
	case !known:
		return fmt.Sprintf("has %.60q, which is no mechanism, and receivers reject the policy: the mechanisms are all, include, a, mx, "+
			"ip4, ip6, exists and ptr (RFC 7208 §4.6.1)", t.text)
	case takes(t.rest):
		return ""
	case t.name == "ip4", t.name == "ip6":
		return fmt.Sprintf("has %.60q, and receivers reject the policy: %s has an IPv%c address or network (RFC 7208 §5.6)", t.text,
			t.name, t.name[2])
	}
	return fmt.Sprintf("has %.60q, and receivers reject the policy: write it as in RFC 7208 §5, for example include:_spf.example.org",
		t.text)
}

func (t *term) findModifierFault(isMechanism bool) string {
	switch {
	// ip4=192.0.2.1 is a modifier, and ip4:192.0.2.1 was meant.
	case isMechanism:
		return fmt.Sprintf("has %.60q, which receivers ignore: write %s: (RFC 7208 §4.6.1)", t.text, t.name)
	case t.name == "redirect" && len(t.rest) == 1:
		return `has "redirect=" without a domain, and receivers reject the policy: name the domain (RFC 7208 §6.1)`
	}
	return "" // receivers ignore others than redirect and exp
}

// sender sums up the terms of an SPF policy.
type sender struct {
	lookups, redirects int
	all                string // the mechanism all as written, or ""
}

// senderFault returns the first mistake of an SPF policy, given without "v=spf1".
func senderFault(owner string, words []string) string {
	var s sender
	for _, word := range words {
		if fault := s.addTerm(word); fault != "" {
			return fault
		}
	}
	return s.findFault(owner)
}

// addTerm returns the mistake of the next term, by itself or behind the terms before.
func (s *sender) addTerm(word string) string {
	t := parseTerm(word)
	if fault := t.findFault(); fault != "" {
		return fault
	}
	switch lower := strings.ToLower(word); {
	// all without a qualifier means +all (RFC 7208 §4.6.2).
	case lower == "all", lower == "+all":
		return fmt.Sprintf("lets every host send mail of the domain (%s): end it with -all or ~all", lower)
	// Modifiers may be behind all.
	case s.all != "" && !t.isModifier:
		return fmt.Sprintf("has %.60q behind %s, where receivers do not read it: write it before (RFC 7208 §5.1)", word, s.all)
	}
	switch t.name {
	case "all":
		s.all = word
	case "redirect":
		s.redirects++
	}
	if slices.Contains(spfLookups, t.name) {
		s.lookups++
	}
	return ""
}

// findFault returns the mistake of the policy as a whole.
func (s *sender) findFault(owner string) string {
	switch {
	case s.lookups > maxLookups:
		return fmt.Sprintf("needs %d queries or more, and receivers reject it after %d (RFC 7208 §4.6.4): name fewer domains", s.lookups,
			maxLookups)
	case s.redirects > 1:
		return "has redirect twice, and receivers reject the policy: keep one (RFC 7208 §6)"
	case s.redirects == 1 && s.all != "":
		return fmt.Sprintf("has redirect and %s, and receivers ignore the redirect: keep one of them (RFC 7208 §6.1)", s.all)
	case s.redirects == 1, s.all != "", isIncluded(owner):
		return ""
	}
	return "ends without all, so it says nothing of hosts that it does not name: end it with -all or ~all (RFC 7208 §4.7)"
}

// isIncluded reports whether the owner's name is one for the include of other policies, as _spf.example.org or
// spf-a.example.org, in which receivers ignore all.
func isIncluded(owner string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToLower(owner), "."), func(label string) bool {
		return strings.HasPrefix(label, "_") || strings.Contains(label, "spf")
	})
}
