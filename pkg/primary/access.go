// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"kubi.zone/kubizone/pkg/dns/tsig"
)

// Rule admits name servers, the peers, to queries and transfers by source address, TSIG key, or both. A Rule with
// neither is an error, but in a class with TLS, where the certificate admits.
type Rule struct {
	// Prefixes are the admitted sources. If empty, every source with the Key is admitted.
	Prefixes []netip.Prefix
	// Key is the name of the key that must sign, with or without a trailing dot, in any case. If empty, unsigned
	// requests are admitted too.
	Key string
	// Signs is true for a secondary that signs zones (DNSSEC). Only such peers get the zones in Membership.Signed.
	Signs bool
}

// Rules returns a Rule for each key, with the same prefixes, or a single Rule without a key if there are none.
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

// Target is a server that gets NOTIFYs.
type Target struct {
	Addr      netip.AddrPort
	Key       string // name of the key that signs NOTIFYs; "" means unsigned
	NoCatalog bool
	// NoZones suppresses NOTIFYs for zones, because the target transfers them from another server.
	NoZones bool
	// Signs is true for a target that signs zones (DNSSEC). It gets NOTIFYs for the zones in Membership.Signed and
	// Signing; other targets get NOTIFYs for all zones not in Signed.
	Signs bool
}

// newAccess checks the rules of a class, and returns them with canonical key names. The error joins all faults, so that
// an operator corrects them together. A rule may be empty if certificates are needed, too.
func newAccess(rules []Rule, keys tsig.Keyring, byCertificate bool) ([]Rule, error) {
	var out []Rule
	var faults []error
	for i, r := range rules {
		if r.Key != "" {
			r.Key = tsig.CanonicalName(r.Key)
			if _, ok := keys[r.Key]; !ok {
				faults = append(faults, fmt.Errorf("config: Allow[%d].Key: no key %q in Keys; add it there or name one that is", i, r.Key))
			}
		}
		// An empty rule is a forgotten field more often than a wish to serve the whole Internet.
		if r.Key == "" && len(r.Prefixes) == 0 && !byCertificate {
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

type rules []Rule

func (r Rule) covers(from netip.Addr) bool {
	if len(r.Prefixes) == 0 {
		return true
	}
	from = from.WithZone("") // an address with an IPv6 zone is in no prefix
	return slices.ContainsFunc(r.Prefixes, func(p netip.Prefix) bool { return p.Contains(from) })
}

type trust int

const (
	outsider trust = iota // no rule can admit the source
	unproven              // a signed message makes the source a peer
	peer
)

func (rules rules) allow(from netip.Addr, key *tsig.SigningKey) (allowed, signs bool) {
	for _, r := range rules {
		if r.covers(from) && (r.Key == "" || key != nil && r.Key == key.Name) {
			allowed, signs = true, signs || r.Signs
		}
	}
	return allowed, signs
}

func (rules rules) trustOf(from netip.Addr) trust {
	level := outsider
	for _, r := range rules {
		switch {
		case !r.covers(from):
		case r.Key == "":
			return peer
		default:
			level = unproven
		}
	}
	return level
}

// newTargets checks the targets of a class, and returns a copy with canonical key names. The error joins all faults.
func newTargets(list []Target, keys tsig.Keyring) ([]Target, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	targets := append([]Target(nil), list...)
	for i := range targets {
		target := &targets[i]
		if !target.Addr.IsValid() || target.Addr.Port() == 0 {
			fault("Notify[%d].Addr: not an address with a port; write 192.0.2.53:53", i)
		}
		if target.Key == "" {
			continue
		}
		target.Key = tsig.CanonicalName(target.Key)
		if _, ok := keys[target.Key]; !ok {
			fault("Notify[%d].Key: no key %q in Keys; add it there or name one that is", i, target.Key)
		}
	}
	return targets, errors.Join(faults...)
}
