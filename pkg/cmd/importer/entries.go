// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/ledger/objects"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/pkg/zoneview/feed/fromapi"
)

// rrset names entries of one name and type.
type rrset struct{ fqdn, rrtype string }

// soaFields name those of an SOA, in which a plan has no serial.
var soaFields = [...]string{"mname", "rname", "", "refresh", "retry", "expire", "minimum"}

// groupEntries makes of the entries of each name and type one Record, as which a plan shows them.
func groupEntries(namespace string, entries iter.Seq[dns.Entry]) map[rrset]*v1alpha1.Record {
	groups := make(map[rrset]*v1alpha1.Record)
	for e := range entries {
		key, ttl := rrset{e.Name.String(), e.Type.String()}, int32(e.TTL)
		r := groups[key]
		if r == nil {
			r = &v1alpha1.Record{Spec: v1alpha1.RecordSpec{Type: key.rrtype, TTL: &ttl}, Status: v1alpha1.RecordStatus{FQDN: key.fqdn}}
			r.Namespace, groups[key] = namespace, r
		}
		r.Spec.Values = append(r.Spec.Values, e.Data)
		if e.Type == rdata.SOA {
			r.Spec.TTL, r.Spec.Values = nil, []string{fmt.Sprint("ttl ", ttl)}
			for i, value := range strings.Fields(e.Data) {
				if field := soaFields[i]; field != "" {
					r.Spec.Values = append(r.Spec.Values, field+" "+value)
				}
			}
		}
	}
	return groups
}

// describeSOAChange lists the fields of an SOA that change.
func describeSOAChange(before, after *v1alpha1.Record) string {
	var said []string
	for i, has := range after.Spec.Values {
		if had := before.Spec.Values[i]; had != has {
			_, value, _ := strings.Cut(had, " ")
			said = append(said, has+" instead of "+value)
		}
	}
	return after.Status.FQDN + " SOA: " + strings.Join(said, ", ")
}

// addEntries adds what the write of a Zone changes of the entries that it makes: SOA, NS, and addresses of name servers,
// of which the zone above has NS and glue.
func (r *report) addEntries(ctx context.Context, client rest.Interface, write *load.Change) error {
	had, has, err := r.readSnapshots(ctx, client, write)
	if err != nil {
		return err
	}
	var all, cuts [2]map[rrset]*v1alpha1.Record
	own, zone, parent := make(map[rrset]bool), types.NamespacedName{}, types.NamespacedName{}
	zone.Namespace, zone.Name, _ = strings.Cut(write.Zone, "/")
	for i, s := range []*zoneview.Snapshot{had, has} {
		if s == nil {
			continue
		}
		all[i] = groupEntries("", s.Entries())
		own[rrset{s.FQDN().String(), rdata.SOA.String()}] = true
		for _, set := range s.Header().NameServerRRsets() {
			if n, err := set.Owner.In(s.FQDN()); err == nil {
				own[rrset{n.String(), set.Type.String()}] = true
			}
		}
		if above := cmp.Or(write.ZoneAfter, write.ZoneBefore).Status.ParentRef; above != nil { // no write changes it
			parent = types.NamespacedName{Namespace: above.Namespace, Name: above.Name}
			cuts[i] = groupEntries(zone.Namespace, cutEntries(s))
		}
	}
	show := func(of [2]map[rrset]*v1alpha1.Record, zone types.NamespacedName, are func(rrset) bool) (others int) {
		for key := range joinKeys(of[0], of[1]) {
			before, after := of[0][key], of[1][key]
			if !are(key) {
				if before != nil && after != nil && *before.Spec.TTL != *after.Spec.TTL {
					others++
				}
				continue
			}
			for _, c := range load.ChangesOfRecord(before, after, zone) {
				if c.Object, c.After = "zone "+write.Zone, write.After; c.Op == "~" && c.Type == "SOA" {
					c.Text = describeSOAChange(before, after)
				}
				r.addChange(c)
			}
		}
		return others
	}
	if others := show(all, zone, func(key rrset) bool { return own[key] }); others > 0 {
		r.addChange(load.Change{Op: "~", Zone: write.Zone, Object: "zone " + write.Zone, After: write.After, Text: fmt.Sprintf(
			"%s: ttl %d instead of %d for what Records without a ttl have there (RRsets: %d)", has.FQDN(), has.Header().TTL,
			had.Header().TTL, others)})
	}
	show(cuts, parent, func(rrset) bool { return true })
	return nil
}

// readSnapshots reads the content of a Zone, and makes the one that a write leaves, both without what the plan changes of
// Records; nil: it has no name, or the write does not change it.
func (r *report) readSnapshots(ctx context.Context, client rest.Interface, write *load.Change) (had, has *zoneview.Snapshot, err error) {
	var headers [2]content.Header
	for i, zone := range []*v1alpha1.Zone{write.ZoneBefore, write.ZoneAfter} {
		if zone == nil || zone.Status.FQDN == "" {
			continue
		}
		z, err := objects.LawZone(zone)
		if err != nil {
			return nil, nil, err
		}
		headers[i] = z.Header
	}
	if headers[0].Equal(headers[1]) {
		return nil, nil, nil
	}
	makeSnapshot := func(header content.Header, sets iter.Seq[content.RRset]) *zoneview.Snapshot {
		return zoneview.NewSnapshot(zoneview.Zone{}, header, 0, 0, sethash.State{}, sets)
	}
	sets := iter.Seq[content.RRset](func(func(content.RRset) bool) {})
	if !headers[0].FQDN.IsZero() {
		had, err = fromapi.ReadDefinition(ctx, client, write.ZoneBefore)
		if apierrors.IsForbidden(err) {
			r.addNote("warning", fmt.Sprintf("zone %s: what Records have at its name and at those of its name servers is not seen; the right "+
				"to get zones/entries in namespace %s shows it", write.Zone, write.ZoneBefore.Namespace))
			had, err = makeSnapshot(headers[0], sets), nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("entries of zone %s: %w", write.Zone, err)
		}
		sets = had.RRsets()
	}
	if !headers[1].FQDN.IsZero() {
		has = makeSnapshot(headers[1], sets)
	}
	return had, has, nil
}

// cutEntries are what the zone above lists of a zone (S6.3).
func cutEntries(s *zoneview.Snapshot) iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		for _, set := range content.Cut(name.Root, s.Header(), s.RRset) {
			entries, _ := content.Resolve(content.Header{FQDN: name.Root}, set) // names in it are absolute already
			for _, e := range entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// joinKeys are the keys of both.
func joinKeys(x, y map[rrset]*v1alpha1.Record) map[rrset]bool {
	keys := make(map[rrset]bool)
	for _, groups := range []map[rrset]*v1alpha1.Record{x, y} {
		for key := range groups {
			keys[key] = true
		}
	}
	return keys
}
