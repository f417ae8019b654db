// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/rules"
)

// PointerTypes lead clients to a host, which claims count (S4.26) and warnings of a missing dot check (S5.14).
var PointerTypes = []rdata.Type{rdata.CNAME, rdata.MX, rdata.NS, rdata.SRV, rdata.SVCB, rdata.HTTPS}

// ListPointerHosts returns the first MaxPointerHosts hosts in a zone that c, such as an MX record, names, without the
// apex: of each its base (without labels up to the last "*" or "_" label), where claims are stored. c may be nil.
func (c *Contribution) ListPointerHosts(zone name.Name) (bases []name.Rel) {
	if c == nil || !slices.Contains(PointerTypes, c.Type) {
		return nil
	}
	for _, v := range c.Values {
		fqdn, ok := v.Target(zone)
		if !ok {
			continue
		}
		host, ok := fqdn.Rel(zone)
		if base := rules.Base(host); ok && !base.IsApex() && !slices.Contains(bases, base) {
			if bases = append(bases, base); len(bases) == MaxPointerHosts {
				break
			}
		}
	}
	return bases
}
