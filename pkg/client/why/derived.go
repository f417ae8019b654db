// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// addReverse adds paths for the PTR that reverse zones derive from an address. A written PTR is data of its own.
func (i *inquiry) addReverse(ctx context.Context, address netip.Addr) error {
	fqdn := name.ReverseAddr(address)
	zones, err := i.search.Enclosing(ctx, fqdn)
	for n := range zones {
		if zones[n].Spec.Reverse != nil && err == nil {
			_, err = i.addDerived(ctx, fqdn, rdata.PTR.String(), &zones[n])
		}
	}
	return err
}

// addDerived adds a path for data without a Record: SOA, name servers with their addresses, NS, glue and DS of child
// zones, and PTR of addresses. It returns false if there is none of the type, which is "" for any.
func (i *inquiry) addDerived(ctx context.Context, fqdn name.Name, rrtype string, zone *v1alpha1.Zone) (bool, error) {
	if zone == nil || zone.Status.Serial == 0 {
		return false, nil
	}
	of := i.zoneOf(zone.Namespace, zone.Name, zone)
	if above := zone.Status.ParentRef; rrtype == rdata.DS.String() && above != nil && of.FQDN == fqdn {
		of = i.zoneOf(above.Namespace, above.Name, nil)
		of.View = zone.Status.View
	}

	var lacks string
	entries, err := i.readEntries(ctx, of.Namespace, of.Name, fqdn, true, &lacks)
	isHidden := err == nil && lacks != ""
	if isHidden {
		lacks = ""
		entries, err = i.readEntries(ctx, of.Namespace, of.Name, fqdn, false, &lacks)
	}
	if err != nil || lacks != "" {
		return false, err
	}

	entries = slices.DeleteFunc(entries, func(e v1alpha1.Entry) bool {
		return len(e.Sources) > 0 || e.FQDN != fqdn.String() || rrtype != "" && e.Type != rrtype
	})
	if len(entries) == 0 {
		return false, nil
	}

	f := &Facts{AskedName: fqdn, Zone: of, Exact: true}
	if f.Type, err = rdata.ParseType(entries[0].Type); err != nil {
		return false, err
	}
	f.ExpectedData = canonicalData(fqdn, f.Type, dataOf(entries, fqdn, f.Type))

	switch {
	case isHidden:
		f.Origin = "is of the zone itself, or of Records that only the right to list records in all namespaces shows"
	case f.Type == rdata.DS:
		f.Origin = fmt.Sprintf("is made from status.dnssec of the child zone %s, which its signer writes", fqdn)
	case f.Type == rdata.PTR:
		f.Origin = fmt.Sprintf("is derived from %s; a PTR Record there hides it", find.OriginOfPTR(f.ExpectedData, fqdn, zone))
	case f.Type == rdata.SOA:
		f.Origin = fmt.Sprintf("is made from the spec of Zone %s/%s", zone.Namespace, zone.Name)
	default:
		f.Origin = fmt.Sprintf("is made from spec.nameServers of Zone %s/%s, or from a child zone; no rule gives it to a namespace: edit "+
			"spec.nameServers of that Zone, or the child zone's NS and address Records", zone.Namespace, zone.Name)
	}
	i.addPath(f, Subject{Kind: "Name", FQDN: fqdn.String(), Type: f.Type.String(), View: zone.Status.View})
	return true, err
}
