// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

const (
	ReasonServable                 = "Servable"
	ReasonNoNameServers            = "NoNameServers"
	ReasonNameServerWithoutAddress = "NameServerWithoutAddress"
	ReasonNameServerIsAlias        = "NameServerIsAlias"
	ReasonTooManyNameServers       = "TooManyNameServers"
)

// MaxNameServerNames limits the names from the apex to name servers in the zone, because each is a fact in a bounded
// transaction.
const MaxNameServerNames = 24

// apexNames returns the Holding with the hosts of records at the apex after the write, or the Holding itself if they
// stay the same.
func (d *delta) apexNames() *law.Holding {
	h, out := d.holding, *d.holding
	for i, c := range []*law.Contribution{d.removed, d.added} {
		if c == nil || !c.Owner.IsApex() {
			continue
		}
		if d.ask.Namespace == d.zone.Namespace {
			out.CountHosts(c, 2*i-1) // -1 for removed, 1 for added
		}
		if c.Type == rdata.NS {
			out.ApexNS = mergeNS(out.ApexNS, c.Values, d.ownerAt(name.Apex))
		}
	}

	if slices.Equal(out.ApexNS, h.ApexNS) && maps.Equal(out.ApexHosts, h.ApexHosts) {
		return h
	}
	return &out
}

// mergeNS returns the NS that the apex has after the write, sorted, out of the known and the changed. Two Records may
// have the same NS, which goes with the last.
func mergeNS(known []string, changed []rdata.Value, after *law.Owner) []string {
	all := slices.Clone(known) // the Holding is shared
	for _, v := range changed {
		all = append(all, v.Text)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(text string) bool { return !after.HasValue(rdata.NS, law.DigestOf(text)) })
}

// apexHosts returns the hosts in the zone of its name servers, from spec.nameServers and from NS Records at the apex.
func apexHosts(z *law.Zone, h *law.Holding) []name.Rel {
	var named []rdata.Value
	for _, text := range h.ApexNS {
		named = append(named, rdata.Value{Type: rdata.NS, Text: text})
	}
	hosts := slices.Clone(z.NSHosts)
	for _, host := range hostsIn(z, named) {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

func namesOf(hosts []name.Rel) int {
	names := map[name.Rel]bool{}
	for _, host := range hosts {
		for at := range upToApex(host) {
			names[at] = true
		}
	}
	return len(names)
}

// JudgeServable returns the condition Servable (S6.15): there are name servers, and each host in the zone has an
// address and no CNAME. owners holds the names that this decision changes, or is nil.
func JudgeServable(r *law.Reading, z *law.Zone, h *law.Holding, owners ownerChanges) *law.Condition {
	if len(h.ApexNS) == 0 && len(z.Header.NameServers) == 0 {
		return &law.Condition{Status: "False", Reason: ReasonNoNameServers, Message: "the zone has no name servers: set " +
			"spec.nameServers or add NS records at @"}
	}

	hosts := apexHosts(z, h)
	if n := namesOf(hosts); n > MaxNameServerNames {
		return &law.Condition{Status: "False", Reason: ReasonTooManyNameServers, Message: fmt.Sprintf("there are %d names at the name "+
			"servers in the zone and between them and its apex, and at most %d are checked: name fewer name servers, or hosts in "+
			"another zone", n, MaxNameServerNames)}
	}

	// Read the hosts, and the names above with the cuts of child zones, in a single round.
	var ks []law.Key
	for _, host := range hosts {
		for at, ok := host, true; ok && (at == host || !at.IsApex()); at, ok = at.Parent() {
			if owners.findAfter(at) == nil {
				ks = append(ks, law.OwnerKey(z.UID, at))
			}
		}
	}

	r.RequireAll(ks)
	ownerAt := func(at name.Rel) *law.Owner {
		o := owners.findAfter(at)
		if o == nil {
			o = law.Get[law.Owner](r, law.OwnerKey(z.UID, at))
		}
		return o
	}

	var missing []string
	for _, host := range hosts {
		// Below a delegated child's cut, the child has the address. An undelegated zone has no cut, and its servers are
		// unreachable.
		inChild := false
		for at := range upToApex(host) {
			inChild = inChild || isDelegated(ownerAt(at))
		}
		if inChild {
			continue
		}

		o := ownerAt(host)
		if o.HasType(rdata.CNAME) {
			return &law.Condition{Status: "False", Reason: ReasonNameServerIsAlias, Message: fmt.Sprintf("name server %s is a "+
				"CNAME (RFC 2181 §10.3): give it addresses instead", host)}
		}

		// spec.nameServers may have the addresses itself.
		made := slices.ContainsFunc(z.NSSetsAt(host), func(s content.RRset) bool { return isAddress(s.Type) })
		if !made && !hasAddress(o) {
			missing = append(missing, host.String())
		}
	}

	if len(missing) > 0 {
		return &law.Condition{Status: "False", Reason: ReasonNameServerWithoutAddress, Message: "name servers without A or AAAA " +
			"in the zone, or in a delegated child zone: " + listSome(missing)}
	}

	return &law.Condition{Status: "True", Reason: ReasonServable, Message: "every name server has the addresses that it needs"}
}

const maxListed = 200

func listSome(names []string) string {
	n, octets := 1, len(names[0])
	for n < len(names) && octets+len(names[n]) <= maxListed {
		octets += len(names[n])
		n++
	}
	text := strings.Join(names[:n], ", ")
	if n < len(names) {
		text += fmt.Sprintf(" and %d more", len(names)-n)
	}
	return text
}
