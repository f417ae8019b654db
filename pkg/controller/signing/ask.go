// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// askTimeout bounds the questions to one server.
const askTimeout = 3 * time.Second

// askKeys asks a server of the class for the keys and the serial of the zone.
func (w *work) askKeys(ctx context.Context, server transfer.Secondary) (transfer.Served, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return transfer.AskKeys(ctx, dial.New(w.of.Spec.AllowLocalAddresses).DialContext, server, w.fqdn)
}

// askParent says what the servers of the parent have: by the Deliveries of a parent that is a Zone, else by DNS.
func (w *work) askParent(ctx context.Context) parent {
	ref := w.zone.Status.ParentRef
	if ref == nil {
		return w.askElsewhere(ctx)
	}
	above, err := w.Zones.Lister().Zones(ref.Namespace).Get(ref.Name)
	if err != nil {
		return parent{unknown: err.Error()}
	}
	content, ok := w.Views.Settled(string(above.UID))
	if !ok {
		return parent{unknown: fmt.Sprintf("Zone %s/%s is not read yet", ref.Namespace, ref.Name)}
	}
	var p parent
	for _, entry := range content.Lookup(w.fqdn, rdata.DS) {
		if ds, ok := parseDS(entry.Data); ok {
			p.anywhere = append(p.anywhere, ds)
		}
	}
	for _, entry := range content.Lookup(w.fqdn, rdata.NS) {
		p.ttl = time.Duration(entry.TTL) * time.Second
	}
	p.everywhere = p.anywhere
	deliveries, err := w.Deliveries.Lister().Deliveries(ref.Namespace).List(labels.Everything())
	if err != nil {
		return parent{unknown: err.Error()}
	}
	delivered := false
	for _, one := range deliveries {
		if one.Spec.Zone.UID != above.UID || one.Status.FQDN == "" {
			continue
		}
		delivered = true
		if has := serial.Serial(one.Status.Serial); has == 0 || content.Serial().Ahead(has) {
			p.unknown = fmt.Sprintf("DNSClass %s has not delivered serial %d of the zone above, %s", one.Spec.ClassRef.Name, content.Serial(), above.Status.FQDN)
		}
	}
	if !delivered {
		p.unknown = fmt.Sprintf("no class delivers the zone above, %s", above.Status.FQDN)
	}
	return p
}

// parseDS reads the data of a DS record.
func parseDS(text string) (v1alpha1.DelegationSigner, bool) {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return v1alpha1.DelegationSigner{}, false
	}
	var numbers [3]int32
	for i := range numbers {
		n, err := strconv.ParseUint(fields[i], 10, 16)
		if err != nil {
			return v1alpha1.DelegationSigner{}, false
		}
		numbers[i] = int32(n)
	}
	return v1alpha1.DelegationSigner{KeyTag: numbers[0], Algorithm: numbers[1], DigestType: numbers[2], Digest: strings.ToUpper(strings.Join(fields[3:], ""))}, true
}

// askElsewhere asks each server of a parent that is no Zone.
func (w *work) askElsewhere(ctx context.Context) parent {
	ctx, cancel := context.WithTimeout(ctx, 5*askTimeout)
	defer cancel()
	servers, err := w.ParentServers(ctx, w.fqdn)
	if err != nil {
		return parent{unknown: err.Error(), elsewhere: true}
	}
	p := parent{elsewhere: true}
	dialer := dial.New(w.of.Spec.AllowLocalAddresses)
	for i, server := range servers {
		texts, ttl, err := transfer.AskDS(ctx, dialer.DialContext, server, w.fqdn)
		if err != nil {
			return parent{unknown: fmt.Sprintf("%s: %v", server, err), elsewhere: true}
		}
		var has []v1alpha1.DelegationSigner
		for _, text := range texts {
			if ds, ok := parseDS(text); ok {
				has = append(has, ds)
			}
		}
		p.ttl = max(p.ttl, ttl)
		if i == 0 {
			p.everywhere = has
		}
		p.everywhere = slices.DeleteFunc(slices.Clone(p.everywhere), func(ds v1alpha1.DelegationSigner) bool { return !slices.Contains(has, ds) })
		p.anywhere = append(p.anywhere, has...)
	}
	return p
}

// LookupParentServers finds the servers of the zone above by a resolver.
func LookupParentServers(resolver *net.Resolver) ParentServers {
	return func(ctx context.Context, zone name.Name) ([]netip.AddrPort, error) {
		return lookupParentServers(ctx, resolver, zone)
	}
}

func lookupParentServers(ctx context.Context, resolver *net.Resolver, zone name.Name) ([]netip.AddrPort, error) {
	for above, ok := zone.Parent(); ok; above, ok = above.Parent() {
		hosts, err := resolver.LookupNS(ctx, above.String())
		var missing *net.DNSError
		if errors.As(err, &missing) && missing.IsNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		var servers []netip.AddrPort
		for _, host := range hosts {
			addresses, err := resolver.LookupNetIP(ctx, "ip", host.Host)
			if err != nil {
				return nil, err
			}
			for _, at := range addresses {
				servers = append(servers, netip.AddrPortFrom(at.Unmap(), 53))
			}
		}
		if len(servers) > 0 {
			return servers, nil
		}
	}
	return nil, fmt.Errorf("the resolver of the controller finds no zone above %s; give the controller one that resolves the names of the DNS", zone)
}
