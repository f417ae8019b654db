// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// findSubjects reads the question. Of several readings the first wins:
//
//  1. KIND/NAME without a final dot is an object, NAMESPACE/NAME a Record or else a Zone.
//  2. An address is an address, even if an object has that name.
//  3. A name without a dot is a Record object, or else a Zone.
//  4. A name with a dot is a DNS name if a Record or Zone has the name, else an object, else a free DNS name.
func (i *inquiry) findSubjects(ctx context.Context) error {
	before, after, hasSlash := strings.Cut(i.Text, "/")
	hasSlash = hasSlash && !strings.HasSuffix(i.Text, ".") // names of RFC 2317 have a slash: 0/25.2.0.192.in-addr.arpa.
	if kind, object := find.CutKind(i.Text); kind != "" {
		return i.findObject(ctx, i.Namespace, object, Reading(kind))
	}
	if address, err := netip.ParseAddr(i.Text); err == nil {
		return i.findAddress(ctx, address)
	}
	if _, isPrefix := find.ParsePrefix(i.Text); isPrefix {
		return fmt.Errorf("%s is a prefix: write an address; kubectl kubizone who lists the Records of a prefix", i.Text)
	}
	switch {
	case hasSlash:
		return i.findObject(ctx, before, after, "")
	case !strings.Contains(i.Text, "."):
		return i.findObject(ctx, i.Namespace, i.Text, "")
	}
	return i.findName(ctx)
}

// findObject finds the Record or Zone with a name. Without a kind, a Record wins over a Zone.
func (i *inquiry) findObject(ctx context.Context, namespace, object string, kind Reading) error {
	if i.Type != "" {
		return fmt.Errorf("%s is an object, of which a TYPE says no more: leave %s out", i.Text, i.Type)
	}
	if kind == ReadingZone {
		return i.findZone(ctx, namespace, object)
	}
	record, err := i.API.KubizoneV1alpha1().Records(namespace).Get(ctx, object, metav1.GetOptions{})
	switch {
	case err == nil:
		return i.takeRecord(ctx, record, kind)
	case kind == "" && isAbsent(err):
		// www may be a Zone, though the user may not read the Records of the namespace.
		if zoneErr := i.findZone(ctx, namespace, object); !isAbsent(zoneErr) {
			if zoneErr == nil && apierrors.IsForbidden(err) {
				i.note("A Record may have this name, too; you may not get records in namespace %s.", namespace)
			}
			return zoneErr
		}
	}
	if !apierrors.IsNotFound(err) { // as while the API does not answer
		return fmt.Errorf("record %s/%s: %w", namespace, object, err)
	}
	return fmt.Errorf("record %s/%s: %w; give its namespace by -n, or %s. as a DNS name", namespace, object, err, object)
}

// takeRecord adds a Record read as an object. If the user gave no kind, a Zone of the same name gets a note.
func (i *inquiry) takeRecord(ctx context.Context, r *v1alpha1.Record, kind Reading) error {
	if kind == "" {
		if _, err := i.API.KubizoneV1alpha1().Zones(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{}); err == nil {
			i.note("A Zone has this name, too: zone/%s follows it.", r.Name)
		}
	}
	i.chain.Reading = ReadingRecord
	i.addRecord(r, "")
	return nil
}

func (i *inquiry) findZone(ctx context.Context, namespace, object string) error {
	zone, err := i.API.KubizoneV1alpha1().Zones(namespace).Get(ctx, object, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("zone %s/%s: %w", namespace, object, err)
	}
	i.chain.Reading = ReadingZone
	i.addZone(zone)
	return nil
}

func (i *inquiry) findAddress(ctx context.Context, address netip.Addr) error {
	i.chain.Reading = ReadingAddress
	if i.Type != "" {
		return fmt.Errorf("%s is an address, whose type is known: leave %s out", i.Text, i.Type)
	}
	found, err := i.search.Within(ctx, netip.PrefixFrom(address, address.BitLen()))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		i.addPath(&Facts{Absent: &AbsentFacts{}}, Subject{Kind: "Name", Name: "", FQDN: i.Text})
		i.note("No Record has the address %s.", i.search.Where())
		return i.addReverse(ctx, address) // of Records that the user may not read
	}
	if !i.search.Everywhere {
		i.note("Searched %s.", i.search.Where())
	}
	i.addRecords(found, "")
	return i.addReverse(ctx, address)
}

func (i *inquiry) findName(ctx context.Context) error {
	fqdn, parsing := find.ParseName(i.Text)
	var object *v1alpha1.Record
	if !strings.HasSuffix(i.Text, ".") && i.Type == "" {
		found, err := i.API.KubizoneV1alpha1().Records(i.Namespace).Get(ctx, i.Text, metav1.GetOptions{})
		switch {
		case err == nil:
			object = found
		case !isAbsent(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
			return fmt.Errorf("record %s/%s: %w", i.Namespace, i.Text, err)
		}
	}
	// 1. Text that is no DNS name names a Record object.
	if parsing != nil {
		if object != nil {
			i.chain.Reading = ReadingRecord
			i.addRecord(object, "")
			return nil
		}
		return parsing
	}
	// 2. A DNS name with Records.
	found, err := i.search.RecordsAt(ctx, fqdn.String())
	if err != nil {
		return err
	}
	i.chain.Reading = ReadingName
	answering := slices.DeleteFunc(slices.Clone(found), func(r v1alpha1.Record) bool { return !answersType(&r, i.Type) })
	if len(answering) > 0 {
		if object != nil && object.Status.FQDN != fqdn.String() {
			i.note("Read as a DNS name, since a Record has that name; record/%s follows the object.", i.Text)
		}
		if !i.search.Everywhere {
			i.note("Searched %s.", i.search.Where())
		}
		i.addRecords(answering, "")
		return nil
	}
	// 3. A Record object, a zone, or a free name.
	above, err := i.lookAbove(ctx, fqdn)
	if err != nil {
		return err
	}
	isZone := above.zone != nil && above.zone.Status.FQDN == fqdn.String()
	switch {
	case object != nil && !isZone:
		i.chain.Reading = ReadingRecord
		i.note("No Record has this DNS name %s, so it is read as the object's; a final dot asks of the DNS name.", i.search.Where())
		i.addRecord(object, "")
		return nil
	case i.Type == "" && len(found) == 0 && isZone:
		i.addZone(above.zone)
		return nil
	}
	return i.addAbsent(ctx, fqdn, found, above)
}

func answersType(r *v1alpha1.Record, rrtype string) bool {
	return rrtype == "" || strings.EqualFold(r.Spec.Type, rrtype) || strings.EqualFold(r.Spec.Type, "CNAME")
}

type surroundings struct {
	// zone is the nearest zone at or above the name. Nil if none, or without the right to list zones.
	zone      *v1alpha1.Zone
	wildcards []v1alpha1.Record
	cut       string
}

// lookAbove finds the zone, wildcards and cuts above a name. Only wildcards of the closest encloser answer (RFC 4592
// §3.3.1).
func (i *inquiry) lookAbove(ctx context.Context, fqdn name.Name) (above surroundings, err error) {
	zones, err := i.search.Enclosing(ctx, fqdn)
	if err != nil {
		return above, err
	}
	if len(zones) > 0 {
		above.zone = &zones[0]
	}

	foundEncloser, isApex := false, false
	for ancestor := fqdn; ancestor != name.Root && !isApex; ancestor, _ = ancestor.Parent() {
		isApex = above.zone != nil && above.zone.Status.FQDN == ancestor.String()
		records, err := i.search.RecordsAt(ctx, ancestor.String())
		if err != nil {
			return above, err
		}
		if !isApex && above.cut == "" {
			above.cut = describeCut(records, ancestor, fqdn)
		}
		if ancestor == fqdn || foundEncloser {
			continue
		}
		if above.wildcards, err = i.search.RecordsAt(ctx, "*."+ancestor.String()); err != nil {
			return above, err
		}
		foundEncloser = len(records)+len(above.wildcards) > 0
	}
	return above, nil
}

// describeCut returns "" without a cut.
func describeCut(records []v1alpha1.Record, ancestor, fqdn name.Name) string {
	for i := range records {
		r := &records[i]
		rrtype := strings.ToUpper(r.Spec.Type)
		redirects := rrtype == "DNAME" && ancestor != fqdn // a DNAME only concerns names below
		if rrtype == "NS" || redirects {
			return fmt.Sprintf("the %s Record %s/%s at %s", rrtype, r.Namespace, r.Name, ancestor)
		}
	}
	return ""
}

func (i *inquiry) addAbsent(ctx context.Context, fqdn name.Name, others []v1alpha1.Record, above surroundings) error {
	if done, err := i.addDerived(ctx, fqdn, i.Type, above.zone); done || err != nil {
		return err
	}
	wildcards := slices.DeleteFunc(slices.Clone(above.wildcards), func(r v1alpha1.Record) bool { return !answersType(&r, i.Type) })
	wildcardAnswers := len(others) == 0 && above.cut == "" && len(wildcards) > 0
	if wildcardAnswers {
		i.note("No Record has this name %s; a wildcard answers.", i.search.Where())
		i.addRecords(wildcards, fqdn.String())
		return nil
	}

	absent := &AbsentFacts{Namespace: i.Namespace, Cut: above.cut}
	for n := range others {
		absent.OtherTypes = append(absent.OtherTypes, strings.ToUpper(others[n].Spec.Type))
	}
	slices.Sort(absent.OtherTypes)
	absent.OtherTypes = slices.Compact(absent.OtherTypes)
	rrtype := cmp.Or(i.Type, "A")
	review := &v1alpha1.NameReview{Spec: v1alpha1.NameReviewSpec{Name: fqdn.String(), Type: rrtype}}
	review, err := i.API.KubizoneV1alpha1().NameReviews(i.Namespace).Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err == nil:
		absent.Review = &review.Status
	case isAbsent(err):
		absent.Lack = "create records in namespace " + i.Namespace
	default:
		return fmt.Errorf("namespace %s, name %s: %w", i.Namespace, fqdn, err)
	}
	i.note("No Record of %s %s.", strings.TrimSpace(i.Text+" "+i.Type), i.search.Where())
	f := &Facts{Absent: absent, AskedName: fqdn}
	f.Type, _ = rdata.ParseType(rrtype)
	subject := Subject{Kind: "Name", FQDN: fqdn.String(), Type: i.Type}
	if above.zone != nil {
		if err := i.findWriters(ctx, absent, above.zone, fqdn, rrtype); err != nil {
			return err
		}
		f.Zone, subject.View = i.zoneOf(above.zone.Namespace, above.zone.Name, above.zone), above.zone.Status.View
	}
	i.addPath(f, subject)
	return nil
}

func (i *inquiry) findWriters(ctx context.Context, absent *AbsentFacts, zone *v1alpha1.Zone, fqdn name.Name, rrtype string) error {
	if absent.Review != nil && absent.Review.Allowed {
		return nil
	}
	all, hidden, err := i.search.Writers(ctx, zone, fqdn, rrtype)
	absent.Writers = slices.DeleteFunc(all, func(one string) bool { return one == i.Namespace || one == find.EveryNamespace })
	if hidden && len(absent.Writers) == 0 {
		absent.WritersLack = "list delegations in namespace " + zone.Namespace
	}
	return err
}

func (i *inquiry) addRecords(all []v1alpha1.Record, asked string) {
	if len(all) > maxPaths {
		i.note("%d more Records are left out: name a type or an object.", len(all)-maxPaths)
		all = all[:maxPaths]
	}
	for n := range all {
		i.addRecord(&all[n], asked)
	}
}

func (i *inquiry) addRecord(r *v1alpha1.Record, asked string) {
	f := &Facts{Record: r}
	fqdn, err := name.Parse(cmp.Or(asked, r.Status.FQDN))
	rrtype, typeErr := rdata.ParseType(r.Spec.Type)
	if errors.Join(err, typeErr) == nil {
		f.AskedName, f.Type = fqdn, rrtype
	}
	if ref := r.Status.ZoneRef; ref != nil {
		f.Zone = i.zoneOf(ref.Namespace, ref.Name, nil)
	}
	i.addPath(f, Subject{Kind: "Record", Namespace: r.Namespace, Name: r.Name, FQDN: r.Status.FQDN, View: r.Status.View,
		Type: strings.ToUpper(r.Spec.Type)})
}

func (i *inquiry) addZone(z *v1alpha1.Zone) {
	f := &Facts{Zone: i.zoneOf(z.Namespace, z.Name, z), Type: rdata.SOA}
	f.AskedName = f.Zone.FQDN
	i.addPath(f, Subject{Kind: "Zone", Namespace: z.Namespace, Name: z.Name, FQDN: z.Status.FQDN, View: z.Status.View})
}

func (i *inquiry) addPath(f *Facts, subject Subject) {
	i.facts, i.subjects = append(i.facts, f), append(i.subjects, subject)
}
