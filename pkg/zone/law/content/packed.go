// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Packed is an RRset in wire form, for zone transfers.
type Packed struct {
	Owner name.Rel
	Type  rdata.Type
	TTL   uint32
	// Rdata holds the RDATA of each record, uncompressed, in canonical form and order (RFC 4034 §6.2, §6.3). In a
	// sequence it is never empty, and is valid only until the next RRset, because its memory is reused.
	Rdata [][]byte
}

// Pack returns the RRsets of a zone at serial s in wire form: the SOA, and then the given sets, merged with the name
// servers of h. An RRset without a wire form ends the sequence with an error, so that an incomplete zone transfer never
// looks complete.
func Pack(h Header, s serial.Serial, sets iter.Seq[RRset]) iter.Seq2[Packed, error] {
	return func(yield func(Packed, error) bool) {
		p := packing{header: h, packer: rdata.NewPacker(h.FQDN)}
		walkSets(h, sets,
			func(firstNS string) bool {
				soa, err := h.PackSOA(s, firstNS)
				return yield(soa, err) && err == nil
			},
			func(set RRset) bool {
				if err := p.packRRset(&set); err != nil {
					yield(Packed{}, err)
					return false
				}
				return len(p.packed.Rdata) == 0 || yield(p.packed, nil)
			})
	}
}

// PackSOA returns the SOA in wire form. The caller may keep it.
func (h Header) PackSOA(s serial.Serial, firstApexNS string) (Packed, error) {
	entry := h.SOA(s, firstApexNS)
	wire, err := rdata.Value{Type: rdata.SOA, Text: entry.Data}.Pack(h.FQDN)
	if err != nil {
		return Packed{}, valueError(h.FQDN, rdata.SOA, err)
	}
	return Packed{Owner: name.Apex, Type: rdata.SOA, TTL: entry.TTL, Rdata: [][]byte{wire}}, nil
}

// PackRRset returns an RRset in wire form, without Rdata if it has no entries. The caller may keep it.
func PackRRset(h Header, set RRset) (Packed, error) {
	p := packing{header: h, packer: rdata.NewPacker(h.FQDN)}
	err := p.packRRset(&set)
	return p.packed, err
}

type packing struct {
	header Header
	packer *rdata.Packer
	octets []byte
	ends   []int
	rdata  [][]byte
	packed Packed
}

// packRRset sets p.packed to the wire form of set, without Rdata if no value has an entry. The memory of the last RRset
// is reused.
func (p *packing) packRRset(set *RRset) error {
	p.packed.Owner, p.packed.Type, p.packed.TTL = set.Owner, set.Type, set.TTL.Resolve(p.header.TTL)
	p.octets, p.ends, p.rdata, p.packed.Rdata = p.octets[:0], p.ends[:0], p.rdata[:0], nil
	// Resolve refuses such an owner.
	if fqdn := p.header.FQDN; !set.Owner.IsApex() && (len(set.Owner.String())+1+fqdn.WireLen() > 255 || fqdn.IsWildcard()) {
		return nil
	}

	for _, data := range set.Data {
		var err error
		if p.octets, err = p.packer.Append(p.octets, rdata.Value{Type: set.Type, Text: data}); err != nil {
			// Some value has no entry, such as a name too long in this zone. Pack the others.
			return p.packResolved(*set)
		}
		p.ends = append(p.ends, len(p.octets))
	}

	start := 0
	for _, end := range p.ends {
		p.rdata = append(p.rdata, p.octets[start:end:end])
		start = end
	}

	if len(p.rdata) > 1 {
		slices.SortFunc(p.rdata, bytes.Compare)
		p.rdata = slices.CompactFunc(p.rdata, bytes.Equal) // two spellings are one entry
	}

	p.packed.Rdata = p.rdata
	return nil
}

// packResolved sets p.packed.Rdata to the entries of set. An entry without a wire form is an error.
func (p *packing) packResolved(set RRset) error {
	entries, _ := Resolve(p.header, set)
	p.rdata = p.rdata[:0]
	for _, entry := range entries {
		wire, err := rdata.Value{Type: entry.Type, Text: entry.Data}.Pack(name.Name{})
		if err != nil {
			return fmt.Errorf("%s %s: shown and without a wire form: %w", entry.Name, entry.Type, err)
		}
		p.rdata = append(p.rdata, wire)
	}
	p.packed.Rdata = p.rdata
	return nil
}
