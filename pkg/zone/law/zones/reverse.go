// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"reflect"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
)

// checkReverse refuses spec.reverse of a zone that has no name for an address.
func checkReverse(z *law.Zone) *law.Refusal {
	if z.Reverse == nil || name.IsReverse(z.FQDN()) {
		return nil
	}
	return law.NewInvalid("spec.reverse", nil, law.ReasonInvalid, "zone %s has no names of addresses (S16.1): leave reverse out, or "+
		"write it into a zone such as 2.0.192.in-addr.arpa., 0/28.2.0.192.in-addr.arpa. or 8.b.d.0.1.0.0.2.ip6.arpa.", z.FQDN())
}

// linkReverse plans that the zones in spec.reverse of before are linked to the reverse zone no more, and those of after
// are. Either may be nil. The scans select the Records whose addresses after derives.
func (d *zoneDecision) linkReverse(plan *law.Plan, before, after *law.Zone) (scans []law.Scan, refusal *law.Refusal) {
	var had, has []string
	z := before
	if before != nil && before.Reverse != nil {
		had = before.Reverse.Zones
	}
	if after != nil {
		if z = after; after.Reverse != nil {
			has = after.Reverse.Zones
		}
	}
	if before != nil && after != nil && reflect.DeepEqual(before.Reverse, after.Reverse) {
		return nil, nil
	}
	if after != nil {
		if refusal := checkReverse(after); refusal != nil {
			return nil, refusal
		}
	}

	objects := slices.Compact(slices.Sorted(slices.Values(slices.Concat(had, has))))
	link := law.ReverseLink{Ref: z.Ref, View: z.View, FQDN: z.FQDN()}
	for _, object := range objects {
		isLinked := slices.Contains(has, object)
		key := law.ReverseLinksKey(z.Namespace, object)
		links := law.Get[law.ReverseLinks](d.Reading, key).WithLink(link, isLinked)
		if links != nil && isLinked && len(links.List) > law.MaxReverseLinks {
			return nil, law.NewInvalid("spec.reverse.zones", object, law.ReasonLimitExceeded, "zone %s/%s is in reverse.zones of %d zones "+
				"already (S16.1): have one reverse zone for several networks, such as 0.192.in-addr.arpa.", z.Namespace, object,
				law.MaxReverseLinks)
		}
		var value any
		if links != nil {
			value = links
		}
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: value})

		forward := law.Get[law.Zone](d.Reading, law.ZoneKey(z.Namespace, object))
		if forward == nil || forward.Pending || forward.View != z.View {
			continue // linked when the zone is made
		}
		d.setLinks(plan, forward, links.InView(z.View))
		if isLinked {
			scans = append(scans, law.Scan{Kind: law.ScanAddresses, Zone: forward.UID, Owner: name.Apex})
		} else if after != nil {
			plan.DerivePTR(z.Ref, forward, name.Rel{}, law.Derivation{Own: true, By: z.Namespace})
		}
	}
	return scans, nil
}

// setLinks plans the links in the holding of a zone, which the plan may write already, as of the zone above.
func (d *zoneDecision) setLinks(plan *law.Plan, forward *law.Zone, links []law.ReverseLink) {
	key := law.HoldingKey(forward.View, forward.FQDN())
	i := slices.IndexFunc(plan.Writes, func(w law.Write) bool { return w.Key == key })
	if i < 0 {
		i = len(plan.Writes)
		plan.Writes = append(plan.Writes, law.Write{Key: key, Value: d.HoldingOf(forward)})
	}
	if h, _ := plan.Writes[i].Value.(*law.Holding); h != nil {
		linked := *h
		linked.Reverse = links
		plan.Writes[i].Value = &linked
	}
}

// dropReverse plans that the reverse zones of a zone that loses its name drop all of the zone's names.
func dropReverse(plan *law.Plan, z *law.Zone, holding *law.Holding, by string) {
	for _, link := range holding.Reverse {
		plan.DerivePTR(link.Ref, z, name.Rel{}, law.Derivation{Own: by == z.Namespace, By: by})
	}
}
