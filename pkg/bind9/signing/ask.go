// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const askTimeout = 3 * time.Second

type serverAnswer struct {
	transfer.Secondary
	transfer.ServedKeys
	err error
}

func (w *work) askKeys(ctx context.Context, server transfer.Secondary) (transfer.ServedKeys, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return transfer.AskKeys(ctx, dial.New(w.class.Spec.AllowLocalAddresses).DialContext, server, w.fqdn)
}

// askParent returns the DS of the zone at its parent. If the parent is a Zone here, the DS come from the parent's
// content, and count after every class has delivered the content. Otherwise the parent's servers are asked.
func (w *work) askParent(ctx context.Context) parent {
	ref := w.zone.Status.ParentRef
	if ref == nil {
		return w.askElsewhere(ctx)
	}
	above, err := w.Zones.Lister().Zones(ref.Namespace).Get(ref.Name)
	if err != nil {
		return parent{readFailure: err.Error()}
	}
	content, ok := w.Views.Settled(string(above.UID))
	if !ok {
		return parent{readFailure: fmt.Sprintf("Zone %s/%s is not read yet", ref.Namespace, ref.Name)}
	}

	// Read the derived DS, with the TTL of the zone's NS there.
	var p parent
	for _, entry := range content.Lookup(w.fqdn, rdata.DS) {
		if ds, ok := parseDS(entry.Data); ok {
			p.dsAtAny = append(p.dsAtAny, ds)
		}
	}
	for _, entry := range content.Lookup(w.fqdn, rdata.NS) {
		p.ttl = time.Duration(entry.TTL) * time.Second
	}
	p.dsAtAll = p.dsAtAny

	// Until every class has the parent's serial, some server may have the former DS.
	deliveries, err := w.Deliveries.Lister().Deliveries(ref.Namespace).List(labels.Everything())
	if err != nil {
		return parent{readFailure: err.Error()}
	}

	delivered := false
	for _, one := range deliveries {
		if one.Spec.Zone.UID != above.UID || one.Status.FQDN == "" {
			continue
		}
		delivered = true
		if has := serial.Serial(one.Status.Serial); has == 0 || content.Serial().Ahead(has) {
			p.readFailure = fmt.Sprintf("DNSClass %s has not delivered serial %d of the zone above, %s", one.Spec.ClassRef.Name,
				content.Serial(), above.Status.FQDN)
		}
	}

	if !delivered {
		p.readFailure = fmt.Sprintf("no class delivers the zone above, %s", above.Status.FQDN)
	}
	return p
}

// parseDS parses the text of a DS record. ok is false if fields are missing or too large. The digest may have blanks.
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
	return v1alpha1.DelegationSigner{KeyTag: numbers[0], Algorithm: numbers[1], DigestType: numbers[2],
		Digest: strings.ToUpper(strings.Join(fields[3:], ""))}, true
}

// askElsewhere asks the servers of a parent that is no Zone here. An address of each is enough, because many machines
// have no IPv6.
func (w *work) askElsewhere(ctx context.Context) parent {
	ctx, cancel := context.WithTimeout(ctx, 5*askTimeout)
	defer cancel()
	servers, err := w.ParentServers(ctx, w.fqdn)
	if err != nil {
		return parent{readFailure: err.Error(), external: true}
	}

	all := w.askEachDS(ctx, servers)
	var silent []netip.AddrPort
	for _, one := range slices.Concat(all...) {
		if one.err != nil {
			silent = append(silent, one.addr)
		}
	}

	// The message says for how long an address has been silent, so that an operator can tell a failure from a hiccup.
	since := w.memory.forZone(w.zone.UID).noteSilent(silent, w.Now())

	p := parent{external: true}
	first := true

	// Each server has to answer on one of its addresses. The DS of all answers are merged.
	for i, answers := range all {
		answered, lacking := false, "it has no address"
		for _, one := range answers {
			switch {
			case isUnrouted(one.err):
				lacking = fmt.Sprintf("this process has no route to %s", one.addr)
			case one.err != nil:
				lacking = fmt.Sprintf("no answer of %s since %s: %v", one.addr, since[one.addr].UTC().Format(time.RFC3339), one.err)
			case one.noName && servers[i].Missing != name.Name{}:
				// The resolver finds no zone in between, so the server belongs to a zone further up.
				answered = true
				p.readFailure = cmp.Or(p.readFailure, fmt.Sprintf("name server %s of the parent answers that %s is not there, "+
					"and the resolver of the controller finds no name servers of %s: give the controller a resolver that finds them",
					servers[i].Name, w.fqdn, servers[i].Missing))
			default:
				// dsAtAll begins with the DS of the first answer, and loses each DS missing in a further answer.
				if first {
					p.dsAtAll = one.ds
				}
				answered, first = true, false
				p.ttl = max(p.ttl, one.ttl)
				p.dsAtAll = slices.DeleteFunc(slices.Clone(p.dsAtAll),
					func(ds v1alpha1.DelegationSigner) bool { return !slices.Contains(one.ds, ds) })
				p.dsAtAny = append(p.dsAtAny, one.ds...)
			}
		}

		if !answered && p.readFailure == "" {
			p.readFailure = fmt.Sprintf("name server %s of the parent: %s", servers[i].Name, lacking)
		}
	}
	return p
}

type dsAnswer struct {
	addr   netip.AddrPort
	ds     []v1alpha1.DelegationSigner
	ttl    time.Duration
	noName bool
	err    error
}

const maxAsked = 16

// askEachDS asks every address of every server, at most maxAsked at a time. The answers are in the order of the servers
// and their addresses.
func (w *work) askEachDS(ctx context.Context, servers []ParentServer) [][]dsAnswer {
	dialer := dial.New(w.class.Spec.AllowLocalAddresses)
	answers := make([][]dsAnswer, len(servers))
	var all []*dsAnswer
	for i, server := range servers {
		answers[i] = make([]dsAnswer, len(server.Addresses))
		for j, at := range server.Addresses {
			answers[i][j].addr = at
			all = append(all, &answers[i][j])
		}
	}
	askEach(all, func(one *dsAnswer) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		served, err := transfer.AskDS(ctx, dialer.DialContext, one.addr, w.fqdn)
		one.ttl, one.noName, one.err = served.TTL, served.NoName, err
		for _, text := range served.Data {
			if ds, ok := parseDS(text); ok {
				one.ds = append(one.ds, ds)
			}
		}
	})
	return answers
}

func askEach[T any](all []*T, ask func(one *T)) {
	slots := make(chan struct{}, maxAsked)
	var asked sync.WaitGroup
	for _, one := range all {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			ask(one)
		})
	}
	asked.Wait()
}

func isUnrouted(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL, syscall.EAFNOSUPPORT},
		func(cause error) bool { return errors.Is(err, cause) })
}

// LookupParentServers returns a ParentServers that finds the closest zone above by NS queries: for a.b.example.org.
// b.example.org., then example.org. Missing is the first name without NS on this way.
func LookupParentServers(resolver *net.Resolver) ParentServers {
	return func(ctx context.Context, zone name.Name) (servers []ParentServer, err error) {
		var missing name.Name
		for above, ok := zone.Parent(); ok; above, ok = above.Parent() {
			hosts, err := resolver.LookupNS(ctx, above.String())
			var failure *net.DNSError
			if errors.As(err, &failure) && failure.IsNotFound {
				missing = cmp.Or(missing, above)
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, host := range hosts {
				addresses, err := resolver.LookupNetIP(ctx, "ip", host.Host)
				if err != nil {
					return nil, err
				}
				server := ParentServer{Name: host.Host, Missing: missing}
				for _, at := range addresses {
					server.Addresses = append(server.Addresses, netip.AddrPortFrom(at.Unmap(), 53))
				}
				servers = append(servers, server)
			}
			// An answer without hosts continues further up.
			if len(servers) > 0 {
				return servers, nil
			}
		}
		return nil, fmt.Errorf("the resolver of the controller finds no zone above %s; give the controller one that resolves the names "+
			"of the DNS", zone)
	}
}
