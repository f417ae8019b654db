// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

type State string

const (
	Current State = "Current" // same serial and data
	Differs State = "Differs" // same serial, other data
	Behind  State = "Behind"  // earlier serial
	Ahead   State = "Ahead"   // serial unknown to the zone
	Failed  State = "Failed"  // no comparable answer
	Unknown State = "Unknown" // not asked, or cannot tell
)

const (
	ByTransfer  = "transfer"
	ByQuestions = "questions"
	ByRequests  = "requests" // a request to the class's provider for each RRset, so foreign data is unseen
)

type Zone struct {
	FQDN          name.Name
	Serial        serial.Serial
	sets          map[key]set
	guest, signed bool
	// undone is true after Undo. Then only the serial of the SOA is known.
	undone bool
}

type key struct {
	name name.Name
	t    rdata.Type
}

func compareKeys(one, other key) int {
	return cmp.Or(one.name.Compare(other.name), cmp.Compare(one.t, other.t))
}

type set struct {
	ttl  uint32
	data []string
}

func (s set) equal(other set) bool { return s.ttl == other.ttl && slices.Equal(s.data, other.data) }

type RRset struct {
	Name string `json:"name"`
	Type string `json:"type"`
	TTL  uint32 `json:"ttl"`
	// Data is sorted, in presentation format with absolute names.
	Data []string `json:"data"`
}

type Difference struct {
	Zone   RRset `json:"zone"`
	Server RRset `json:"server"`
}

type Report struct {
	Server string `json:"server"`
	State  State  `json:"state"`
	// Serial is the server's serial, or 0 if unknown.
	Serial uint32 `json:"serial"`
	// By is the method, or "" if not compared. Questions and requests find no foreign RRsets.
	By string `json:"by,omitempty"`
	// Missing has the RRsets that only the zone has, Foreign those that only the server has, in canonical order.
	Missing   []RRset      `json:"missing,omitempty"`
	Foreign   []RRset      `json:"foreign,omitempty"`
	Differing []Difference `json:"differing,omitempty"`
	Error     string       `json:"error,omitempty"`
}

func (r Report) Equal() bool {
	return r.State == Current && len(r.Missing)+len(r.Foreign)+len(r.Differing) == 0
}

// Read reads a master file with absolute names and an SOA.
func Read(text io.Reader) (*Zone, error) {
	z := &Zone{sets: make(map[key]set)}
	for row, err := range zonefile.Read(text, zonefile.ReadOptions{}) {
		if err != nil {
			return nil, err
		}
		if row.Type == rdata.SOA {
			if !z.FQDN.IsZero() {
				return nil, errors.New("a zone with two SOAs")
			}
			number, err := strconv.ParseUint(strings.Fields(row.Data)[2], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("SOA: %w", err)
			}
			z.FQDN, z.Serial = row.Name, serial.Serial(number)
		}
		z.add(row)
	}
	if z.FQDN.IsZero() {
		return nil, errors.New("a zone without SOA")
	}
	return z, nil
}

func (z *Zone) add(row zonefile.RR) {
	k := key{row.Name, row.Type}
	s := z.sets[k]
	if s.data == nil || row.TTL < s.ttl {
		s.ttl = row.TTL // an RRset has one TTL (RFC 2181 §5.2)
	}
	if i, found := slices.BinarySearch(s.data, row.Data); !found {
		s.data = slices.Insert(s.data, i, row.Data)
	}
	z.sets[k] = s
}

// Undo returns a copy of the zone at a former serial. The changes are all since then, oldest first, without SOAs.
func (z *Zone) Undo(former serial.Serial, changes []dns.Change) *Zone {
	undone := &Zone{FQDN: z.FQDN, Serial: former, sets: maps.Clone(z.sets), guest: z.guest, signed: z.signed, undone: true}
	for _, change := range slices.Backward(changes) {
		for _, e := range change.Added {
			k := key{e.Name, e.Type}
			s := undone.sets[k]
			if s.data = slices.DeleteFunc(slices.Clone(s.data), func(data string) bool { return data == e.Data }); len(s.data) == 0 {
				delete(undone.sets, k)
			} else {
				undone.sets[k] = s
			}
		}
		for _, e := range change.Removed {
			k := key{e.Name, e.Type}
			s := undone.sets[k]
			undone.sets[k] = set{s.ttl, slices.Clone(s.data)}
			undone.add(zonefile.RR{Name: e.Name, Type: e.Type, TTL: e.TTL, Data: e.Data})
		}
	}
	return undone
}

// Guest returns the zone for comparison with another operator's primary that accepts updates (RFC 2136). SOA, apex NS
// and signatures are then ignored.
func (z *Zone) Guest() *Zone {
	guest := *z
	guest.guest, guest.sets = true, maps.Clone(z.sets)
	delete(guest.sets, key{z.FQDN, rdata.SOA})
	delete(guest.sets, key{z.FQDN, rdata.NS})
	return &guest
}

// Signed returns the zone for comparison with a server of the signed zone. Serial and signing records are then ignored.
func (z *Zone) Signed() *Zone {
	signed := *z
	signed.signed, signed.sets = true, maps.Clone(z.sets)
	maps.DeleteFunc(signed.sets, func(k key, _ set) bool { return k.t.BySigner() })
	return &signed
}

func (s set) withSerial(at serial.Serial) set {
	s.data = slices.Clone(s.data)
	for i, data := range s.data {
		if fields := strings.Fields(data); len(fields) == 7 {
			fields[2] = at.String()
			s.data[i] = strings.Join(fields, " ")
		}
	}
	return s
}

func (z *Zone) hasOtherSerial() bool { return z.guest || z.signed }

func (z *Zone) isOwnOfServer(k key) bool {
	return z.guest && isOwnOfHost(k, z.FQDN) || z.signed && k.t.BySigner()
}

func isOwnOfHost(k key, apex name.Name) bool {
	switch k.t {
	case rdata.RRSIG, rdata.NSEC, rdata.NSEC3, rdata.NSEC3PARAM:
		return true
	case rdata.SOA, rdata.NS, rdata.DNSKEY, rdata.CDS, rdata.CDNSKEY:
		return k.name == apex
	}
	return false
}

func (z *Zone) Len() int { return len(z.sets) }

// Compare compares the zone with the content of server (HOST:PORT), by transfer or, if the server refuses transfers, by
// a query for each RRset. With a key, all messages are signed.
func (z *Zone) Compare(ctx context.Context, server string, key *transfer.Key) Report {
	text, err := transfer.Receive(ctx, transfer.Source{Server: server, Zone: z.FQDN, Key: key})
	if err == nil {
		var served *Zone
		if served, err = Read(bytes.NewReader(text)); err == nil {
			return z.compareWith(server, ByTransfer, served)
		}
	}

	// A wrong key would fail again.
	var refusal *transfer.Refusal
	if errors.As(err, &refusal) && refusal.TSIG == 0 && ctx.Err() == nil {
		var served *Zone
		var askErr error
		if served, askErr = z.askEach(ctx, server, key); askErr == nil {
			return z.compareWith(server, ByQuestions, served)
		}
		err = errors.Join(err, askErr)
	}
	return Report{Server: server, State: Failed, Error: err.Error()}
}

func (z *Zone) compareWith(server, by string, got *Zone) Report {
	r := Report{Server: server, State: Ahead, Serial: uint32(got.Serial), By: by}
	switch {
	case got.Serial == z.Serial || z.hasOtherSerial():
		r.State = Current
	case z.Serial.Ahead(got.Serial):
		r.State = Behind
	}

	soa := key{z.FQDN, rdata.SOA}

	for _, k := range slices.SortedFunc(maps.Keys(z.sets), compareKeys) {
		want, has := z.sets[k], got.sets[k]
		if k == soa && z.signed {
			has = has.withSerial(z.Serial)
		}
		switch {
		case k == soa && (r.State != Current || z.undone):
			// Only the serial is comparable.
		case has.data == nil:
			r.Missing = append(r.Missing, want.rrset(k))
		case !want.equal(has):
			r.Differing = append(r.Differing, Difference{Zone: want.rrset(k), Server: has.rrset(k)})
		}
	}

	for _, k := range slices.SortedFunc(maps.Keys(got.sets), compareKeys) {
		if _, ok := z.sets[k]; !ok && !z.isOwnOfServer(k) {
			r.Foreign = append(r.Foreign, got.sets[k].rrset(k))
		}
	}

	r.Judge()
	return r
}

// Judge sets State to Differs if the server has the zone's serial but other records.
func (r *Report) Judge() {
	if r.State == Current && len(r.Missing)+len(r.Foreign)+len(r.Differing) > 0 {
		r.State = Differs
	}
}

// Entries returns all resource records except the SOA, in canonical order.
func (z *Zone) Entries() []dns.Entry {
	var entries []dns.Entry
	for _, k := range slices.SortedFunc(maps.Keys(z.sets), compareKeys) {
		for _, data := range z.sets[k].data {
			if k.t != rdata.SOA {
				entries = append(entries, dns.Entry{Name: k.name, Type: k.t, TTL: z.sets[k].ttl, Data: data})
			}
		}
	}
	return entries
}

func (s set) rrset(k key) RRset {
	return RRset{Name: k.name.String(), Type: k.t.String(), TTL: s.ttl, Data: s.data}
}
