// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"kubi.zone/kubizone/pkg/primary/tsig"
)

// Rule allows a peer to ask for SOA, AXFR and IXFR. A request matches when its source is
// in Prefixes (none: any source) and it is signed by Key (empty: signed by any key of the
// server, or not at all). A rule with neither would allow the world and is refused.
type Rule struct {
	Prefixes []netip.Prefix
	Key      string // as in Key.Name or without the trailing dot, any case
	// Signs says that the peer signs what it transfers: of Membership.Signed it alone sees anything.
	Signs bool
}

// Rules are the rules for a list of prefixes and a list of keys: where there are keys, a
// peer needs both, its address and any one of them; where there are none, its address.
func Rules(prefixes []netip.Prefix, keys []tsig.Key) []Rule {
	if len(keys) == 0 {
		return []Rule{{Prefixes: prefixes}}
	}
	rules := make([]Rule, len(keys))
	for i, k := range keys {
		rules[i] = Rule{Prefixes: prefixes, Key: k.Name}
	}
	return rules
}

// Target is a secondary that is told of new serials.
type Target struct {
	Addr netip.AddrPort
	Key  string // signs the NOTIFY; a name in Keys, empty: unsigned
	// NoCatalog says that it does not follow the catalog, and is not told of it.
	NoCatalog bool
	// NoZones says that it transfers the zones from another server, and is told of the catalog alone.
	NoZones bool
	// Signs says that it signs the zones in Membership.Signed, and is told of these alone. No other target is.
	Signs bool
}

// newAccess checks rules and brings them into the form in which they are compared. Without a rule no peer is allowed.
func newAccess(rules []Rule, keys tsig.Keyring) ([]Rule, error) {
	var out []Rule
	var faults []error
	for i, r := range rules {
		if r.Key != "" {
			r.Key = tsig.CanonicalName(r.Key)
			if _, ok := keys[r.Key]; !ok {
				faults = append(faults, fmt.Errorf("config: Allow[%d].Key: no key %q in Keys; add it there or name one that is", i, r.Key))
			}
		}
		if r.Key == "" && len(r.Prefixes) == 0 {
			faults = append(faults, fmt.Errorf("config: Allow[%d]: neither Prefixes nor Key; "+
				"a rule without both would allow every source: name prefixes, a key or both", i))
		}
		for j, p := range r.Prefixes {
			if !p.IsValid() {
				faults = append(faults, fmt.Errorf("Allow[%d].Prefixes[%d]: not a prefix; write 192.0.2.0/24 or 2001:db8::/32", i, j))
			}
		}
		out = append(out, r)
	}
	return out, errors.Join(faults...)
}

// rules are those of one class.
type rules []Rule

func (r Rule) covers(from netip.Addr) bool {
	if len(r.Prefixes) == 0 {
		return true
	}
	from = from.WithZone("") // a prefix contains no address that names its interface
	return slices.ContainsFunc(r.Prefixes, func(p netip.Prefix) bool { return p.Contains(from) })
}

// standing is what a source is before it has said anything.
type standing int

const (
	// An outsider is a source that no key could get allowed. It is answered, from a small budget of its own.
	outsider standing = iota
	// An unproven source is a peer once it has signed with a key.
	unproven
	// A peer is allowed by its address alone.
	peer
)

// allow reports whether the rules let a request in; its signature, if any, has been verified, and key is nil for an
// unsigned one. signs reports whether it is from a peer that signs.
func (rules rules) allow(from netip.Addr, key *tsig.SigningKey) (allowed, signs bool) {
	for _, r := range rules {
		if r.covers(from) && (r.Key == "" || key != nil && r.Key == key.Name) {
			allowed, signs = true, signs || r.Signs
		}
	}
	return allowed, signs
}

func (rules rules) standingOf(from netip.Addr) standing {
	is := outsider
	for _, r := range rules {
		switch {
		case !r.covers(from):
		case r.Key == "":
			return peer
		default:
			is = unproven
		}
	}
	return is
}

// newTargets checks targets; the keys that they name are of this class.
func newTargets(list []Target, keys tsig.Keyring) ([]Target, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	targets := append([]Target(nil), list...)
	for i := range targets {
		t := &targets[i]
		if !t.Addr.IsValid() || t.Addr.Port() == 0 {
			fault("Notify[%d].Addr: not an address with a port; write 192.0.2.53:53", i)
		}
		if t.Key == "" {
			continue
		}
		t.Key = tsig.CanonicalName(t.Key)
		if _, ok := keys[t.Key]; !ok {
			fault("Notify[%d].Key: no key %q in Keys; add it there or name one that is", i, t.Key)
		}
	}
	return targets, errors.Join(faults...)
}
