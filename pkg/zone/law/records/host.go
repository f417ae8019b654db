// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"net/netip"
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

// hostField returns the index of the field that has to be a host name or, for mailbox, a name whose labels after the
// first are of a host. The index is -1 if no field has to.
func hostField(t rdata.Type, fqdn name.Name, fields []string) (at int, mailbox bool) {
	switch t {
	case rdata.NS:
		return 0, false
	case rdata.MX, rdata.AFSDB:
		return 1, false
	case rdata.SRV:
		return 3, false
	case rdata.RP:
		return 0, true
	case rdata.SVCB, rdata.HTTPS:
		// AliasMode (priority 0) may lead to any name, such as _8443._https.www.
		if len(fields) > 0 && fields[0] != "0" {
			return 1, false
		}
	case rdata.PTR:
		// PTR outside the reverse zones name services, as in _services._dns-sd._udp (RFC 6763).
		if isReverse(fqdn) {
			return 0, false
		}
	}
	return -1, false
}

func isReverse(fqdn name.Name) bool {
	labels := fqdn.Labels()
	n := len(labels)
	return n >= 2 && (labels[n-1] == "arpa" && (labels[n-2] == "in-addr" || labels[n-2] == "ip6") || labels[n-1] == "int" &&
		labels[n-2] == "ip6")
}

// checkHosts refuses a name or value that BIND's check-names rejects, since one such record stops the whole zone
// (S5.11).
func checkHosts(c *law.Contribution, zone, fqdn name.Name) *law.Refusal {
	if needsHost(c.Type) && !ownerIsHost(c.Type, fqdn) {
		return law.NewInvalid("spec.domainName", nil, law.ReasonValidationFailed, "%s is allowed at host names only, and %s is none: "+
			"labels are letters, digits and inner hyphens (S5.11, RFC 1123 §2.1; use another name)", c.Type, fqdn)
	}

	for _, v := range c.Values {
		text, err := v.Resolve(zone)
		if err != nil {
			continue // packValues refuses too long a name
		}
		fields := strings.Fields(text)
		at, mailbox := hostField(c.Type, fqdn, fields)
		if at < 0 || at >= len(fields) {
			continue
		}

		switch field := fields[at]; {
		case mailbox && !content.IsMailbox(field):
			return law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "%s names a mailbox, and %s is none: the "+
				"labels after the first are letters, digits and inner hyphens (S5.11, RFC 1035 §8)", c.Type, field)
		// By its labels alone, 192.0.2.1 would be a host name.
		case c.Type == rdata.NS && IsAddress(field):
			return law.NewInvalid("spec.values", v.Text, law.ReasonValidationFailed, "NS names a host, and %s is an address, for "+
				"which named-compilezone refuses the zone (S5.11; name the host, and give it an A record)", field)
		case !mailbox && !name.IsHost(field):
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
