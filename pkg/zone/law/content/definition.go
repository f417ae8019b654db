// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"
	"strconv"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
)

type NameServer struct {
	// Name is absolute, relative to the zone, or "@".
	Name string `json:"name"`
	// Addresses are ignored unless Name is at or below the apex.
	Addresses []string `json:"addresses,omitempty"`
}

// Header is the part of a zone's content that comes from the Zone object: SOA, default TTL and name servers. Times are
// in seconds.
type Header struct {
	FQDN name.Name `json:"fqdn"`
	// TTL is the TTL of the SOA and the default of all RRsets.
	TTL     uint32 `json:"ttl"`
	Refresh uint32 `json:"refresh"`
	Retry   uint32 `json:"retry"`
	Expire  uint32 `json:"expire"`
	// NegativeResponseCache is the last field of the SOA, minimum (RFC 2308 §4).
	NegativeResponseCache uint32 `json:"negativeResponseCache"`
	// PrimaryNameServer is the mname of the SOA as the user wrote it. "" means the first name server.
	PrimaryNameServer string `json:"primaryNameServer,omitempty"`
	// Contact is the rname of the SOA as the user wrote it: a mail address or a name. "" means hostmaster in the zone.
	Contact     string       `json:"contact,omitempty"`
	NameServers []NameServer `json:"nameServers,omitempty"`
}

type Row struct {
	Owner name.Rel   `json:"o"`
	Type  rdata.Type `json:"t"`
	// Data is the canonical presentation (rdata.Value.Text).
	Data string `json:"d"`
}

type RRset struct {
	Owner name.Rel
	Type  rdata.Type
	TTL   TTL
	// Data is sorted without duplicates. Snapshots share it, so do not change it.
	Data []string
}

// An element, an input of the hash, begins with its kind. Types in it are numbers, because a new mnemonic must not
// change the hash of a stored TYPE123.
const (
	rowElement = "row"
	ttlElement = "ttl"
)

func (r Row) Element() sethash.Element {
	return sethash.NewElement(rowElement, r.Owner.String(), typeNumber(r.Type), r.Data)
}

func AppendTTL(to []sethash.Element, owner name.Rel, t rdata.Type, ttl TTL) []sethash.Element {
	if !ttl.Explicit {
		return to
	}
	return append(to, sethash.NewElement(ttlElement, owner.String(), typeNumber(t), ttl.String()))
}

func typeNumber(t rdata.Type) string { return strconv.FormatUint(uint64(t), 10) }

// Compare orders rows by owner (RFC 4034 §6.1), type number and data.
func (r Row) Compare(other Row) int {
	return cmp.Or(compareKey(r.Owner, r.Type, other.Owner, other.Type), cmp.Compare(r.Data, other.Data))
}

func (s RRset) Compare(other RRset) int { return compareKey(s.Owner, s.Type, other.Owner, other.Type) }

func compareKey(owner name.Rel, t rdata.Type, otherOwner name.Rel, otherType rdata.Type) int {
	if owner == otherOwner {
		return cmp.Compare(t, otherType)
	}
	return owner.Compare(otherOwner)
}

func (s RRset) Elements(to []sethash.Element) []sethash.Element {
	for _, data := range s.Data {
		to = append(to, Row{s.Owner, s.Type, data}.Element())
	}
	return AppendTTL(to, s.Owner, s.Type, s.TTL)
}

func (s RRset) Equal(other RRset) bool {
	return s.Owner == other.Owner && s.Type == other.Type && s.TTL == other.TTL && slices.Equal(s.Data, other.Data)
}

func (s RRset) Merge(other RRset) RRset {
	data := slices.Concat(s.Data, other.Data)
	slices.Sort(data)
	s.Data, s.TTL = slices.Compact(data), s.TTL.Merge(other.TTL)
	return s
}
