// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"iter"
	"net/netip"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// By default, BIND loads no zone file with A, AAAA or MX at a name that is not a host name, or with such a name in
// rdata (check-names, RFC 952, RFC 1123 §2.1). A single record would stop the zone.

func needsHost(t rdata.Type) bool { return t == rdata.A || t == rdata.AAAA || t == rdata.MX }

// ownerIsHost ignores a leading "*". Like BIND, it accepts gc._msdcs, Active Directory's global catalogs.
func ownerIsHost(t rdata.Type, fqdn name.Name) bool {
	if rest, ok := strings.CutPrefix(fqdn.String(), "gc._msdcs."); ok && t != rdata.MX {
		return name.IsHost(rest)
	}
	return name.IsHost(strings.TrimPrefix(fqdn.String(), "*."))
}

// hostField is the field of a type that has to be a host name or, for mailbox, a name whose labels after the first are
// of a host.
type hostField struct {
	at      int
	mailbox bool
	// exempt reports whether this record may have any name in the field. Nil exempts none.
	exempt func(fqdn name.Name, fields []string) bool
}

var hostFields = map[rdata.Type]hostField{
	rdata.NS:    {at: 0},
	rdata.MX:    {at: 1},
	rdata.AFSDB: {at: 1},
	rdata.SRV:   {at: 3},
	rdata.RP:    {at: 0, mailbox: true},
	rdata.SVCB:  {at: 1, exempt: isAliasMode},
	rdata.HTTPS: {at: 1, exempt: isAliasMode},
	rdata.PTR:   {at: 0, exempt: namesService},
}

// isAliasMode reports whether SVCB or HTTPS has priority 0, and may lead to any name, such as _8443._https.www.
func isAliasMode(_ name.Name, fields []string) bool { return fields[0] == "0" }

// namesService reports whether a PTR is outside the reverse zones, as in _services._dns-sd._udp (RFC 6763).
func namesService(fqdn name.Name, _ []string) bool { return !isReverse(fqdn) }

func isReverse(fqdn name.Name) bool {
	labels := fqdn.Labels()
	n := len(labels)
	return n >= 2 && (labels[n-1] == "arpa" && (labels[n-2] == "in-addr" || labels[n-2] == "ip6") || labels[n-1] == "int" &&
		labels[n-2] == "ip6")
}

// checkHosts refuses a name or value that BIND's check-names rejects, since one such record stops the whole zone
// (S5.11).
func (d *delta) checkHosts() *law.Refusal {
	c, fqdn := d.added, d.place.fqdn
	if needsHost(c.Type) && !ownerIsHost(c.Type, fqdn) {
		return law.NewInvalid("spec.domainName", d.ask.After.DomainName, law.ReasonValidationFailed, "%s is allowed at host names only, "+
			"and %s is none: labels are letters, digits and inner hyphens (S5.11, RFC 1123 §2.1; use another name)", c.Type, fqdn)
	}
	named, known := hostFields[c.Type]
	if !known {
		return nil
	}

	for _, v := range c.Values {
		text, err := v.Resolve(d.zone.FQDN())
		if err != nil {
			continue // packValues refuses too long a name
		}
		fields := strings.Fields(text)
		if named.exempt != nil && named.exempt(fqdn, fields) {
			continue
		}

		switch field := fields[named.at]; {
		case named.mailbox && !content.IsMailbox(field):
			return law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "%s names a mailbox, and %s is none: the "+
				"labels after the first are letters, digits and inner hyphens (S5.11, RFC 1035 §8)", c.Type, field)
		// By its labels alone, 192.0.2.1 would be a host name.
		case c.Type == rdata.NS && IsAddress(field):
			return law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "NS names a host, and %s is an address, for "+
				"which named-compilezone refuses the zone (S5.11; name the host, and give it an A record)", field)
		case !named.mailbox && !name.IsHost(field):
			return law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "%s names a host, and %s is no host name: "+
				"labels are letters, digits and inner hyphens (S5.11, RFC 1123 §2.1)", c.Type, field)
		}
	}

	return nil
}

func IsAddress(host string) bool {
	_, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	return err == nil
}

// hostsIn yields the values that name a host in the zone, and these hosts.
func hostsIn(z *law.Zone, values []rdata.Value) iter.Seq2[rdata.Value, name.Rel] {
	return func(yield func(rdata.Value, name.Rel) bool) {
		for _, v := range values {
			fqdn, _ := v.Target(z.FQDN())
			if host, ok := fqdn.Rel(z.FQDN()); ok && !yield(v, host) {
				return
			}
		}
	}
}

func isAddress(t rdata.Type) bool { return t == rdata.A || t == rdata.AAAA }

func hasAddress(o *law.Owner) bool { return slices.ContainsFunc(o.Types(), isAddress) }

// isDelegated reports whether o has NS of a child zone. The glue of a child, such as ns1.dev, is below its NS.
func isDelegated(o *law.Owner) bool {
	return slices.ContainsFunc(ownerCut(o), func(v law.OwnerValue) bool { return v.Type == rdata.NS })
}

// takesBelow reports whether a type leads the names below its owner elsewhere: to a child's servers, or to other names.
func takesBelow(t rdata.Type) bool { return t == rdata.NS || t == rdata.DNAME }
