// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"slices"
	"strconv"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/sethash"
)

// NameServer is one of spec.nameServers (S6.2).
type NameServer struct {
	// Name is a host name as written: absolute, relative to the zone, or "@".
	Name string `json:"name"`
	// Addresses are IPv4 and IPv6 addresses, served as glue where Name is at or
	// below the apex and otherwise of no effect.
	Addresses []string `json:"addresses,omitempty"`
}

// Header is the part of a definition that comes from the Zone itself. All
// durations and the ttl are in seconds.
type Header struct {
	FQDN name.Name `json:"fqdn"`
	// TTL is the default of RRsets that inherit and the TTL of the SOA (S6.5).
	TTL uint32 `json:"ttl"`
	// Refresh, Retry and Expire are the SOA's (RFC 1035 §3.3.13).
	Refresh uint32 `json:"refresh"`
	Retry   uint32 `json:"retry"`
	Expire  uint32 `json:"expire"`
	// NegativeResponseCache is the SOA's minimum field (RFC 2308 §4).
	NegativeResponseCache uint32 `json:"negativeResponseCache"`
	// PrimaryNameServer is the SOA's mname as written; empty lets S6.5 choose.
	PrimaryNameServer string `json:"primaryNameServer,omitempty"`
	// Contact is a mail address or its name form as written; empty lets S6.5
	// choose.
	Contact     string       `json:"contact,omitempty"`
	NameServers []NameServer `json:"nameServers,omitempty"`
}

// Row is one value of one RRset: the unit that steps add and remove and that
// the content state counts.
type Row struct {
	Owner name.Rel   `json:"o"`
	Type  rdata.Type `json:"t"`
	// Data is rdata.Value.Text: canonical presentation as defined, a name
	// written relative still relative.
	Data string `json:"d"`
}

// RRset is the values of one owner and type together with their one TTL.
type RRset struct {
	Owner name.Rel
	Type  rdata.Type
	TTL   TTL
	// Data has each value as defined once, sorted as text. Treat it as
	// read-only: snapshots share it.
	Data []string
}

// The first part tells rows and TTLs apart, so that no row can be written that
// hashes like a TTL. Types go in by number: a mnemonic that a later version of
// the parser learns must not change the hash of a stored TYPE123.
const (
	rowElement = "row"
	ttlElement = "ttl"
)

// Element is what the content state counts for this row (S6.7).
func (r Row) Element() sethash.Element {
	return sethash.NewElement(rowElement, r.Owner.String(), typeNumber(r.Type), r.Data)
}

// AppendTTL appends what the content state counts for the TTL of one RRset (S6.7): nothing where all its values inherit
// that of the zone, which the header counts.
func AppendTTL(to []sethash.Element, owner name.Rel, t rdata.Type, ttl TTL) []sethash.Element {
	if !ttl.Explicit {
		return to
	}
	return append(to, sethash.NewElement(ttlElement, owner.String(), typeNumber(t), ttl.String()))
}

func typeNumber(t rdata.Type) string { return strconv.FormatUint(uint64(t), 10) }

// Compare orders rows by owner in canonical order (RFC 4034 §6.1), then type by
// number, then text.
func (r Row) Compare(other Row) int {
	return cmp.Or(compareKey(r.Owner, r.Type, other.Owner, other.Type), cmp.Compare(r.Data, other.Data))
}

// Compare orders RRsets by owner in canonical order (RFC 4034 §6.1), then type
// by number: the order in which every sequence of RRsets in this module goes.
func (s RRset) Compare(other RRset) int { return compareKey(s.Owner, s.Type, other.Owner, other.Type) }

func compareKey(owner name.Rel, t rdata.Type, otherOwner name.Rel, otherType rdata.Type) int {
	if owner == otherOwner {
		return cmp.Compare(t, otherType)
	}
	return owner.Compare(otherOwner)
}

// Elements appends what the content state counts for this RRset: one element a
// value and one for an explicit TTL.
func (s RRset) Elements(to []sethash.Element) []sethash.Element {
	for _, data := range s.Data {
		to = append(to, Row{s.Owner, s.Type, data}.Element())
	}
	return AppendTTL(to, s.Owner, s.Type, s.TTL)
}

// Equal reports whether both define the same.
func (s RRset) Equal(other RRset) bool {
	return s.Owner == other.Owner && s.Type == other.Type && s.TTL == other.TTL && slices.Equal(s.Data, other.Data)
}

// Merge is the RRset of what both give for the same owner and type: each value
// once and the smaller TTL (S5.2).
func (s RRset) Merge(other RRset) RRset {
	data := slices.Concat(s.Data, other.Data)
	slices.Sort(data)
	s.Data, s.TTL = slices.Compact(data), s.TTL.Merge(other.TTL)
	return s
}
