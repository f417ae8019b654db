// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

// PointerTypes lead clients to another host. Claims count the hosts, and warnings check them for a missing dot.
var PointerTypes = []rdata.Type{rdata.CNAME, rdata.MX, rdata.NS, rdata.SRV, rdata.SVCB, rdata.HTTPS}

// ListPointerHosts returns the hosts in a zone that a record such as MX refers to, without the apex, and at most
// MaxPointerHosts. Each host is given by its base, the labels after the last "*" or "_" label, because claims are
// stored there. For example, the base of _sip.voice is voice.
func (c *Contribution) ListPointerHosts(zone name.Name) (bases []name.Rel) {
	if c == nil || !slices.Contains(PointerTypes, c.Type) {
		return nil
	}
	for _, v := range c.Values {
		if len(bases) == MaxPointerHosts {
			break
		}
		fqdn, hasTarget := v.Target(zone)
		if !hasTarget {
			continue
		}
		host, inZone := fqdn.Rel(zone)
		base := rules.Base(host)
		// The apex is own's in any case.
		if inZone && !base.IsApex() && !slices.Contains(bases, base) {
			bases = append(bases, base)
		}
	}
	return bases
}
