// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/lawform"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/definition"
)

type rrset struct {
	fqdn   name.Name
	rrtype rdata.Type
}

type entrySets map[rrset]*[2]*v1alpha1.Record

var soaFields = [...]string{"mname", "rname", "", "refresh", "retry", "expire", "minimum"}

// addSide adds entries to the pairs of Records before (side 0) and after (side 1), a Record for each RRset. An SOA
// becomes a list of its fields, without the serial, for a line about the changed field.
func (s entrySets) addSide(side int, namespace string, entries []dns.Entry) {
	for _, e := range entries {
		key, ttl := rrset{e.Name, e.Type}, int32(e.TTL)
		if s[key] == nil {
			s[key] = &[2]*v1alpha1.Record{}
		}
		r := s[key][side]
		if r == nil {
			r = &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: e.Type.String(), TTL: &ttl}}
			r.Namespace, r.Status.FQDN, s[key][side] = namespace, e.Name.String(), r
		}
		if e.Type != rdata.SOA {
			r.Spec.Values = append(r.Spec.Values, e.Data)
			continue
		}
		// The TTL is a field among the others, and describeSOAChange compares the values by position.
		r.Spec.TTL, r.Spec.Values = nil, []string{fmt.Sprint("ttl ", ttl)}
		for i, value := range strings.Fields(e.Data) {
			if soaFields[i] != "" {
				r.Spec.Values = append(r.Spec.Values, soaFields[i]+" "+value)
			}
		}
	}
}

func describeSOAChange(before, after *v1alpha1.Record) string {
	var changes []string
	for i, has := range after.Spec.Values {
		if had := before.Spec.Values[i]; had != has {
			_, value, _ := strings.Cut(had, " ")
			changes = append(changes, has+" instead of "+value)
		}
	}
	return after.Status.FQDN + " SOA: " + strings.Join(changes, ", ")
}

// The parent zone shows NS and glue too (S6.1 to S6.5).
func (r *Plan) addEntries(ctx context.Context, client rest.Interface, write *load.Change) error {
	snapshots, err := r.readSnapshots(ctx, client, write)
	if err != nil {
		return err
	}
	all, cut, own := make(entrySets), make(entrySets), make(map[rrset]bool)
	above := cmp.Or(write.ZoneAfter, write.ZoneBefore).Status.ParentRef // which no write changes
	namespace, object, _ := strings.Cut(write.Zone, "/")
	// 1. Collect the entries before and after the change of the Zone.
	for side, s := range snapshots {
		if s == nil {
			continue
		}
		all.addSide(side, "", slices.Collect(s.Entries()))
		// Entries that the Zone itself makes: SOA, NS and the addresses of spec.nameServers. The others come from
		// Records and change with those.
		made := append(s.Header().NameServerRRsets(), content.RRset{Owner: name.Apex, Type: rdata.SOA})
		for _, set := range made {
			if n, err := set.Owner.In(s.FQDN()); err == nil {
				own[rrset{n, set.Type}] = true
			}
		}
		if above == nil {
			continue
		}
		for _, set := range content.Cut(name.Root, s.Header(), s.RRset) { // absolute names, for any parent zone
			entries, _ := content.Resolve(content.Header{FQDN: name.Root}, set)
			cut.addSide(side, namespace, entries)
		}
	}

	// 2. Show the changed entries, at this zone and at its parent.
	show := func(pair *[2]*v1alpha1.Record, zone types.NamespacedName) {
		for _, c := range load.ChangesOfRecord(pair[0], pair[1], zone) {
			if c.Object, c.After = "zone "+write.Zone, write.After; c.Op == "~" && c.Type == "SOA" {
				c.Text = describeSOAChange(pair[0], pair[1])
			}
			r.addChange(c)
		}
	}
	following := 0
	for key, pair := range all {
		if own[key] {
			show(pair, types.NamespacedName{Namespace: namespace, Name: object})
		} else if pair[0] != nil && pair[1] != nil && *pair[0].Spec.TTL != *pair[1].Spec.TTL {
			// Records without a ttl follow the Zone's. A line for each of a thousand Records would hide the rest.
			following++
		}
	}
	if following > 0 {
		had, has := snapshots[0].Header(), snapshots[1].Header()
		r.addChange(load.Change{Op: "~", Zone: write.Zone, Object: "zone " + write.Zone, After: write.After, Text: fmt.Sprintf(
			"%s: ttl %d instead of %d for Records without a ttl (RRsets: %d)", has.FQDN, has.TTL, had.TTL, following)})
	}
	for _, pair := range cut {
		show(pair, types.NamespacedName{Namespace: above.Namespace, Name: above.Name})
	}
	return nil
}

// readSnapshots returns the content of the zone before and after a write of the Zone: nil if there is no Zone on that
// side, both nil if the write does not change the content. Without the right to read entries, the snapshots have those
// of the Zone alone, and a note.
func (r *Plan) readSnapshots(ctx context.Context, client rest.Interface, write *load.Change) (out [2]*zoneview.Snapshot, err error) {
	var headers [2]content.Header
	for side, zone := range []*v1alpha1.Zone{write.ZoneBefore, write.ZoneAfter} {
		if zone != nil && zone.Status.FQDN != "" {
			z, err := lawform.Zone(zone)
			if err != nil {
				return out, err
			}
			headers[side] = z.Header
		}
	}
	if headers[0].Equal(headers[1]) {
		return out, nil
	}
	sets := iter.Seq[content.RRset](func(func(content.RRset) bool) {})
	// A new Zone has no entries yet.
	if !headers[0].FQDN.IsZero() {
		current, err := definition.Read(ctx, client, write.ZoneBefore)
		switch {
		case err == nil:
			sets = current.RRsets()
		case apierrors.IsForbidden(err):
			r.AddNote("warning", fmt.Sprintf("zone %s: Records at its name and at its name servers are not considered: this needs the "+
				"right to get zones/entries in namespace %s", write.Zone, write.ZoneBefore.Namespace))
		default:
			return out, fmt.Errorf("entries of zone %s: %w", write.Zone, err)
		}
	}
	for side, header := range headers {
		if !header.FQDN.IsZero() {
			out[side] = zoneview.NewSnapshot(zoneview.Zone{}, header, 0, 0, sethash.State{}, sets)
		}
	}
	return out, nil
}
