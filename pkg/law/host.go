// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// BIND loads no zone file, unless told to, with an address or an MX at a name
// that is no host name, or with certain rdata that names one (check-names,
// RFC 952, RFC 1123 §2.1): one such record would stop the zone for all (S5.7).

// isHost reports whether a name in presentation form is a host name: letters,
// digits and hyphens, no hyphen at either end of a label. The root is one.
func isHost(text string) bool {
	text = strings.TrimSuffix(text, ".")
	if text == "" {
		return true
	}
	for _, label := range strings.Split(text, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
				return false
			}
		}
	}
	return true
}

// needsHost: the owner of a record of the type must be a host name.
func needsHost(t rdata.Type) bool { return t == rdata.A || t == rdata.AAAA || t == rdata.MX }

// ownerIsHost: a wildcard is one when what follows it is; gc._msdcs is where
// Active Directory puts the addresses of its global catalogs, and BIND lets it.
func ownerIsHost(fqdn name.Name) bool {
	text := strings.TrimPrefix(fqdn.String(), "*.")
	return isHost(strings.TrimPrefix(text, "gc._msdcs."))
}

// hostField is which field of the rdata must be a host name, or -1. mailbox: its
// first label may be anything.
func hostField(t rdata.Type, fqdn name.Name, fields []string) (i int, mailbox bool) {
	switch t.String() {
	case "NS":
		return 0, false
	case "MX", "AFSDB", "RT":
		return 1, false
	case "SRV":
		return 3, false
	case "RP":
		return 0, true
	case "SVCB", "HTTPS":
		if len(fields) > 0 && fields[0] != "0" {
			return 1, false
		}
	case "PTR":
		if reverse(fqdn) {
			return 0, false
		}
	}
	return -1, false
}

func reverse(fqdn name.Name) bool {
	labels := fqdn.Labels()
	n := len(labels)
	return n >= 2 && labels[n-1] == "arpa" && (labels[n-2] == "in-addr" || labels[n-2] == "ip6")
}

// hosts refuses what BIND would refuse the zone for.
func (d *recordDecision) hosts(z *Zone, p *place, come *Contribution) *Refusal {
	if needsHost(come.Type) && !ownerIsHost(p.fqdn) {
		return invalid("spec.domainName", d.ask.After.DomainName, ReasonInvalid, "%s stands at host names only, and %s is none: labels are letters, digits and inner hyphens (S5.7, RFC 1123 §2.1; use another name)", come.Type, p.fqdn)
	}
	for _, v := range come.Values {
		text, err := v.Resolve(z.FQDN())
		if err != nil {
			continue // packed says why
		}
		fields := strings.Fields(text)
		i, mailbox := hostField(come.Type, p.fqdn, fields)
		if i < 0 || i >= len(fields) {
			continue
		}
		host := fields[i]
		if mailbox {
			if _, host, _ = strings.Cut(host, "."); strings.Contains(fields[i], `\`) {
				host = fields[i][strings.LastIndexByte(fields[i], '\\')+1:]
				_, host, _ = strings.Cut(host, ".")
			}
		}
		if !isHost(host) {
			return invalid("spec.values", v.Text, ReasonInvalid, "%s names a host, and %s is no host name: labels are letters, digits and inner hyphens (S5.7, RFC 1123 §2.1)", come.Type, fields[i])
		}
	}
	return nil
}

// hostsNamed refuses name servers that are no host names.
func hostsNamed(z *Zone) *Refusal {
	for i, ns := range z.Header.NameServers {
		n, err := name.ParseIn(ns.Name, z.FQDN())
		if err != nil {
			continue // validation says why
		}
		if !isHost(n.String()) {
			return invalid("spec.nameServers", ns.Name, ReasonInvalid, "nameServers[%d] is %s, which is no host name: labels are letters, digits and inner hyphens (S5.7, RFC 1123 §2.1)", i, n)
		}
	}
	return nil
}
