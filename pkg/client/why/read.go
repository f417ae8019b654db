// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

const maxParents = 10

func (i *inquiry) zoneOf(namespace, object string, known *v1alpha1.Zone) *ZoneFacts {
	key := zoneKey{namespace, object}
	z := i.zones[key]
	if z == nil {
		z = &ZoneFacts{Namespace: namespace, Name: object, Classes: map[string]*v1alpha1.DNSClass{}}
		i.zones[key] = z
	}
	if known != nil && z.Object == nil {
		z.setObject(known)
	}
	return z
}

func (z *ZoneFacts) setObject(object *v1alpha1.Zone) {
	z.Object, z.View = object, object.Status.View
	z.FQDN, _ = name.Parse(object.Status.FQDN)
}

func (i *inquiry) readZones(ctx context.Context) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, z := range i.zones {
		group.Go(func() error { return i.readZone(within, z) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, within = errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, f := range i.facts {
		group.Go(func() error {
			if err := i.readExpectedData(within, f); err != nil {
				return err
			}
			return i.findAliasFault(within, f)
		})
	}
	return group.Wait()
}

func noteForbidden(err error, what, right string, lacks *string) error {
	switch {
	case apierrors.IsForbidden(err):
		*lacks = right
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (i *inquiry) readZone(ctx context.Context, z *ZoneFacts) error {
	api := i.API.KubizoneV1alpha1()
	at := z.Namespace + "/" + z.Name
	group, within := errgroup.WithContext(ctx)
	if z.Object == nil {
		group.Go(func() error {
			object, err := api.Zones(z.Namespace).Get(within, z.Name, metav1.GetOptions{})
			if err == nil {
				z.setObject(object)
			}
			return noteForbidden(err, "zone "+at, "get zones in namespace "+z.Namespace, &z.Lack)
		})
	}
	group.Go(func() error {
		list, err := api.Deliveries(z.Namespace).List(within, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryZoneName, z.Name).String()})
		if err == nil {
			z.Deliveries = list.Items
		}
		return noteForbidden(err, "deliveries of zone "+at, "list deliveries in namespace "+z.Namespace, &z.DeliveriesLack)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	uid := z.uidIn(i.facts)
	z.Deliveries = slices.DeleteFunc(z.Deliveries, func(d v1alpha1.Delivery) bool { return d.Spec.Zone.UID != uid })
	slices.SortFunc(z.Deliveries, func(a, b v1alpha1.Delivery) int { return strings.Compare(a.Spec.ClassRef.Name, b.Spec.ClassRef.Name) })
	group, within = errgroup.WithContext(ctx)
	group.Go(func() error { return i.readClasses(within, z) })
	group.Go(func() error { return i.readParents(within, z) })
	return group.Wait()
}

func (z *ZoneFacts) uidIn(all []*Facts) types.UID {
	if z.Object != nil {
		return z.Object.UID
	}
	for _, f := range all {
		if f.Zone == z && f.Record != nil && f.Record.Status.ZoneRef != nil {
			return f.Record.Status.ZoneRef.UID
		}
	}
	return ""
}

func (i *inquiry) readClasses(ctx context.Context, z *ZoneFacts) error {
	named := map[string]bool{}
	for n := range z.Deliveries {
		if ref := z.Deliveries[n].Spec.ClassRef; ref.Kind != v1alpha1.KindBind9Cluster {
			named[ref.Name] = true
		}
	}
	if z.Object != nil {
		for _, ref := range z.Object.Spec.DNSClassRefs {
			if ref.Kind != v1alpha1.KindBind9Cluster {
				named[ref.Name] = true
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(named)) {
		object, err := i.API.KubizoneV1alpha1().DNSClasses().Get(ctx, of, metav1.GetOptions{})
		switch {
		case err == nil:
			z.Classes[of] = object
		case apierrors.IsNotFound(err): // Ready of the Zone tells
		default:
			if err := noteForbidden(err, "class "+of, "get dnsclasses (ClusterRole kubizone-class-viewer)", &z.ClassesLack); err != nil {
				return err
			}
		}
	}
	for n := range z.Deliveries {
		if err := i.listServers(ctx, z, &z.Deliveries[n]); err != nil {
			return err
		}
	}
	return nil
}

func (i *inquiry) listServers(ctx context.Context, z *ZoneFacts, d *v1alpha1.Delivery) error {
	shown := class.NameOf(d.Namespace, d.Spec.ClassRef)
	rows := map[string]*v1alpha1.DeliveryServer{}
	for n := range d.Status.Servers {
		rows[d.Status.Servers[n].Name] = &d.Status.Servers[n]
	}
	// A Bind9Cluster and a DNSClass may have the same name.
	if d.Spec.ClassRef.Kind == v1alpha1.KindBind9Cluster {
		return i.listInstances(ctx, z, d, shown)
	}
	of := z.Classes[d.Spec.ClassRef.Name]
	switch {
	case of == nil: // hidden from the user, or not there
	case of.Spec.Bind9 != nil:
		return i.listInstances(ctx, z, d, shown)
	case of.Spec.Transfer != nil:
		for _, s := range of.Spec.Transfer.Secondaries {
			z.Servers = append(z.Servers, Server{Of: s.Address + " of " + shown, Address: transfer.AddPort(s.Address), Listed: true,
				OwnSerial: s.Signs || s.Signer != "", Row: rows[s.Address], ConfirmedSerial: d.Status.Serial})
		}
	case of.Spec.RFC2136 != nil:
		server := of.Spec.RFC2136.Server
		z.Servers = append(z.Servers, Server{Of: server + " of " + shown, Address: transfer.AddPort(server), Listed: true, OwnSerial: true,
			Row: rows[server]})
	}
	return nil
}

// findInstance returns the address of a Bind9Instance, NAMESPACE/NAME, or "" if unknown.
func (i *inquiry) findInstance(ctx context.Context, row string) (string, error) {
	namespace, name, isInstance := strings.Cut(row, "/")
	if !isInstance {
		return "", nil
	}
	object, err := i.API.Bind9V1alpha1().Bind9Instances(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case isAbsent(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("bind9instance %s: %w", row, err)
	}
	if found, runs := class.ServerOf(object); runs && found.Address != "" {
		return transfer.AddPort(found.Address), nil
	}
	return "", nil
}

func (i *inquiry) listInstances(ctx context.Context, z *ZoneFacts, d *v1alpha1.Delivery, shown string) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for n := range d.Status.Servers[:min(len(d.Status.Servers), maxLinks)] {
		row := &d.Status.Servers[n]
		group.Go(func() error {
			server := Server{Of: row.Name + " of " + shown, Row: row, ConfirmedSerial: d.Status.Serial, NoAddress: addressUnknown,
				OwnSerial: z.Object != nil && z.Object.Status.DNSSEC != nil}
			var err error
			if server.Address, err = i.findInstance(ctx, row.Name); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			z.Servers = append(z.Servers, server)
			return nil
		})
	}
	err := group.Wait()
	slices.SortStableFunc(z.Servers, func(a, b Server) int { return strings.Compare(a.Of, b.Of) })
	return err
}

func (i *inquiry) readParents(ctx context.Context, z *ZoneFacts) error {
	api := i.API.KubizoneV1alpha1()
	object, fqdn := z.Object, z.FQDN
	for n := 0; n < maxParents && fqdn != name.Root; n++ {
		p := ParentFacts{Zone: fqdn}
		if object == nil {
			z.Parents = append(z.Parents, p)
			return nil
		}
		entries, err := i.readEntries(ctx, object.Namespace, object.Name, fqdn, false, &p.Lack)
		if err != nil {
			return err
		}
		p.WantNS, p.Lack = dataOf(entries, fqdn, rdata.NS), ""
		if signing := object.Status.DNSSEC; signing != nil {
			p.Phase = signing.Phase
			for _, ds := range signing.DS {
				p.WantDS = append(p.WantDS, fmt.Sprint(ds.KeyTag))
			}
		}
		ref := object.Status.ParentRef
		if ref == nil {
			z.Parents = append(z.Parents, p)
			return nil
		}
		above, err := api.Zones(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err := noteForbidden(err, "zone "+ref.Namespace+"/"+ref.Name, "get zones in namespace "+ref.Namespace, &p.Lack); err != nil {
			return err
		}
		if err == nil {
			p.ParentName, _ = name.Parse(above.Status.FQDN)
			entries, err = i.readEntries(ctx, ref.Namespace, ref.Name, fqdn, false, &p.Lack)
			if err != nil {
				return err
			}
			p.Ours, p.Asked = p.Lack == "", p.Lack == ""
			p.NS, p.DS = dataOf(entries, fqdn, rdata.NS), keyTags(dataOf(entries, fqdn, rdata.DS))
		}
		if z.Parents = append(z.Parents, p); p.Lack != "" {
			return nil
		}
		object, fqdn = above, p.ParentName
	}
	return nil
}

func (i *inquiry) readEntries(ctx context.Context, namespace, zone string, at name.Name, sources bool, lacks *string) (
	[]v1alpha1.Entry, error) {
	var answer v1alpha1.ZoneEntries
	err := i.API.KubizoneV1alpha1().RESTClient().Get().Namespace(namespace).Resource("zones").Name(zone).SubResource("entries").
		Param("name", at.String()).Param("sources", strconv.FormatBool(sources)).Do(ctx).Into(&answer)
	return answer.Entries, noteForbidden(err, fmt.Sprintf("entries of zone %s/%s", namespace, zone),
		"get zones/entries in namespace "+namespace, lacks)
}

func dataOf(entries []v1alpha1.Entry, at name.Name, of rdata.Type) (data []string) {
	for _, e := range entries {
		if owner, err := name.Parse(e.FQDN); err == nil && owner == at && e.Type == of.String() {
			data = append(data, e.RData)
		}
	}
	slices.Sort(data)
	return slices.Compact(data)
}

func (i *inquiry) readExpectedData(ctx context.Context, f *Facts) error {
	if f.Record == nil || f.Zone == nil || f.AskedName.IsZero() {
		return nil
	}
	owner, err := name.Parse(f.Record.Status.FQDN)
	if z := f.Zone.Object; err == nil && z != nil && z.Status.SettledSerial == z.Status.Serial {
		var lacks string
		entries, err := i.readEntries(ctx, z.Namespace, z.Name, owner, false, &lacks)
		if err != nil {
			return err
		}
		if data := dataOf(entries, owner, f.Type); len(data) > 0 {
			f.ExpectedData, f.Exact = canonicalData(owner, f.Type, data), true
			return nil
		}
	}
	var all []string
	for _, text := range find.DataOf(f.Record) {
		value, err := rdata.ParseStored(f.Type, text)
		if err != nil {
			continue
		}
		if data, err := value.Resolve(f.Zone.FQDN); err == nil { // without the zone's name a relative name is unknown
			all = append(all, data)
		}
	}
	f.ExpectedData = canonicalData(owner, f.Type, all)
	return nil
}

func canonicalData(owner name.Name, of rdata.Type, data []string) (all []string) {
	var text strings.Builder
	for _, one := range data {
		text.WriteString(fmt.Sprintf("%s 0 IN %s %s\n", owner, of, one))
	}
	for row, err := range zonefile.Read(strings.NewReader(text.String()), zonefile.ReadOptions{Origin: name.Root}) {
		if err == nil {
			all = append(all, row.Data)
		}
	}
	return all
}
