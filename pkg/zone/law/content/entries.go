// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// SOA returns the SOA record. The mname is the first that exists of: PrimaryNameServer, the first host of NameServers,
// the parameter firstApexNS (the host of an NS record at the apex), and "ns" in the zone. The rname is Contact, or
// "hostmaster" in the zone. A name that cannot be parsed counts as absent.
func (h Header) SOA(s serial.Serial, firstApexNS string) dns.Entry {
	mname, rname := h.findPrimary(firstApexNS), h.findContact()
	data := make([]byte, 0, len(mname)+len(rname)+56) // 56: five numbers of ten digits, and spaces
	data = append(data, mname...)
	data = append(append(data, ' '), rname...)
	for _, number := range []uint32{uint32(s), h.Refresh, h.Retry, h.Expire, h.NegativeResponseCache} {
		data = strconv.AppendUint(append(data, ' '), uint64(number), 10)
	}
	return dns.Entry{Name: h.FQDN, Type: rdata.SOA, TTL: h.TTL, Data: string(data)}
}

// findPrimary returns the mname of the SOA, absolute: the first that exists of the hosts listed at SOA.
func (h Header) findPrimary(firstApexNS string) (host string) {
	if h.PrimaryNameServer != "" {
		host, _ = HostName(h.PrimaryNameServer, h.FQDN)
	}
	if host != "" {
		return host
	}
	for _, server := range h.NameServers {
		host, _ = HostName(server.Name, h.FQDN)
		if host != "" {
			return host
		}
	}
	if firstApexNS != "" {
		return firstApexNS
	}
	return h.nameBelow("ns")
}

// findContact returns the rname of the SOA, absolute.
func (h Header) findContact() (mailbox string) {
	if h.Contact != "" {
		mailbox, _ = ContactName(h.Contact, h.FQDN)
	}
	if mailbox != "" {
		return mailbox
	}

	// A mail domain is a host name: for _tcp.example.org, take example.org.
	mailDomain := h
	for up, ok := h.FQDN.Parent(); ok && !name.IsHost(mailDomain.FQDN.String()); up, ok = up.Parent() {
		mailDomain.FQDN = up
	}
	return mailDomain.nameBelow("hostmaster")
}

func (h Header) nameBelow(label string) string {
	if absolute, err := name.ParseIn(label, h.FQDN); err == nil {
		return absolute.String()
	}
	return h.FQDN.String()
}

// Resolve returns the entries of an RRset in canonical order (RFC 4034 §6.3), with absolute names and no duplicates.
// The records of spec.nameServers are not included. The error lists the values without an entry.
func Resolve(h Header, set RRset) ([]dns.Entry, error) {
	owner, err := set.Owner.In(h.FQDN)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", set.Type, err)
	}
	ttl := set.TTL.Resolve(h.TTL)
	if len(set.Data) == 1 {
		// A single value needs no order. Packing would double the cost of most zones.
		text, err := rdata.Value{Type: set.Type, Text: set.Data[0]}.Resolve(h.FQDN)
		if err != nil {
			return nil, valueError(owner, set.Type, err)
		}
		return []dns.Entry{{Name: owner, Type: set.Type, TTL: ttl, Data: text}}, nil
	}

	type resolved struct {
		wire  []byte
		entry dns.Entry
	}

	var errs []error
	all := make([]resolved, 0, len(set.Data))
	for _, data := range set.Data {
		value := rdata.Value{Type: set.Type, Text: data}
		text, err := value.Resolve(h.FQDN)
		if err != nil {
			errs = append(errs, valueError(owner, set.Type, err))
			continue
		}
		wire, err := value.Pack(h.FQDN)
		if err != nil {
			errs = append(errs, valueError(owner, set.Type, err))
			continue
		}
		all = append(all, resolved{wire, dns.Entry{Name: owner, Type: set.Type, TTL: ttl, Data: text}})
	}

	// Two spellings of a value, mail and mail.example.org., have the same wire form and are one entry.
	slices.SortFunc(all, func(one, other resolved) int { return bytes.Compare(one.wire, other.wire) })
	entries := make([]dns.Entry, 0, len(all))
	for i, each := range all {
		if i == 0 || !bytes.Equal(each.wire, all[i-1].wire) {
			entries = append(entries, each.entry)
		}
	}

	return entries, errors.Join(errs...)
}

func valueError(owner name.Name, t rdata.Type, err error) error {
	return fmt.Errorf("%s %s: %w", owner, t, err)
}

// Entries returns the entries of a zone at serial s: the SOA, then canonical order, without the values that Resolve
// refuses. The sequence sets must yield all RRsets of the definition and the cuts, in the order of RRset.Compare.
func Entries(h Header, s serial.Serial, sets iter.Seq[RRset]) iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		walkSets(h, sets,
			func(firstNS string) bool { return yield(h.SOA(s, firstNS)) },
			func(set RRset) bool { return yieldResolved(h, set, yield) })
	}
}

// walkSets buffers the RRsets at the apex, because the SOA may need the first name server there.
func walkSets(h Header, sets iter.Seq[RRset], soa func(firstNS string) bool, next func(RRset) bool) {
	var apex []RRset
	begun := false
	begin := func() bool {
		begun = true
		if !soa(firstServer(h, apex)) {
			return false
		}
		for _, set := range apex {
			if !next(set) {
				return false
			}
		}
		return true
	}

	for set := range mergeSets(h.NameServerRRsets(), sets) {
		if !begun {
			if set.Owner.IsApex() {
				apex = append(apex, set)
				continue
			}
			if !begin() {
				return
			}
		}
		if !next(set) {
			return
		}
	}

	if !begun {
		begin()
	}
}

func firstServer(h Header, apex []RRset) string {
	for _, set := range apex {
		if set.Type == rdata.NS {
			if entries, _ := Resolve(h, set); len(entries) > 0 {
				return entries[0].Data
			}
		}
	}
	return ""
}

// EntriesFrom returns the entries from an owner on, without the SOA. The sets must have no earlier owner.
func EntriesFrom(h Header, from name.Rel, sets iter.Seq[RRset]) iter.Seq[dns.Entry] {
	return func(yield func(dns.Entry) bool) {
		made := slices.DeleteFunc(h.NameServerRRsets(), func(set RRset) bool { return set.Owner.Compare(from) < 0 })
		for set := range mergeSets(made, sets) {
			if !yieldResolved(h, set, yield) {
				return
			}
		}
	}
}

func yieldResolved(h Header, set RRset, yield func(dns.Entry) bool) bool {
	entries, _ := Resolve(h, set)
	for _, entry := range entries {
		if !yield(entry) {
			return false
		}
	}
	return true
}

// mergeSets returns both lists of RRsets, each in the order of RRset.Compare, as a single list in this order. RRsets of
// the same owner and type become one.
func mergeSets(made []RRset, sets iter.Seq[RRset]) iter.Seq[RRset] {
	return func(yield func(RRset) bool) {
		made := made // the sequence may be read again
		for set := range sets {
			for len(made) > 0 && made[0].Compare(set) < 0 {
				if !yield(made[0]) {
					return
				}
				made = made[1:]
			}
			if len(made) > 0 && made[0].Compare(set) == 0 {
				set = set.Merge(made[0])
				made = made[1:]
			}
			if !yield(set) {
				return
			}
		}

		for _, set := range made {
			if !yield(set) {
				return
			}
		}
	}
}

func EntryCount(made []RRset, rows int) int {
	count := 1 + rows
	for _, set := range made {
		count += len(set.Data)
	}
	return count
}
