// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// compressor compresses names in a DNS message (RFC 1035 §4.1.4): it replaces a name, or a suffix of a name, by a
// pointer if the message already contains it. Names must be in lower case.
type compressor struct {
	// zone is the zone's name in wire form, or the root if there is none.
	zone []byte
	// zoneAt is the offset of the zone's name in the message, or 0 if it is not written yet. The hash of a name in the
	// zone excludes the zone's name.
	zoneAt uint16
	// slots is the hash table, and used the number of slots in use. The length of slots is a power of two.
	slots []slot
	used  int

	// owner is the last record's owner, and ownerAt its offset, or 0 if a pointer cannot reach it. The next record of
	// the RRset has the same owner.
	owner   name.Rel
	ownerAt uint16

	// Scratch space for the name being written: its wire form, and the start and the hash of each suffix.

	labels []byte
	starts [128]uint8
	hashes [128]uint64
}

// slot holds a name's offset and part of its hash. Offset 0, in the header, marks a free slot.
type slot struct{ at, tag uint16 }

const lengthOctets = 2

const (
	pointerReach = 1 << 14

	transferSlots = 4096 // half of them suffice for 16 KiB of names with eight octets
	answerSlots   = 16
)

func newCompressor(slots int) compressor {
	return compressor{slots: make([]slot, slots), labels: make([]byte, 0, 256)}
}

// hashSeed is random, so that zone owners cannot choose names that collide.
var hashSeed = maphash.MakeSeed()

const (
	hashOfRoot = 0x9e3779b97f4a7c15
	hashOfZone = 0xc2b2ae3d27d4eb4f
)

func hashOf(label []byte, rest uint64) uint64 {
	return (maphash.Bytes(hashSeed, label) ^ rest) * 0xd6e8feb86659fd93
}

func (c *compressor) forgetNames(zone name.Name) {
	clear(c.slots)
	c.used, c.zoneAt, c.ownerAt, c.owner = 0, 0, 0, name.Rel{}
	c.zone = append(c.zone[:0], 0)
	if !zone.IsZero() {
		c.zone = rdata.AppendName(c.zone[:0], zone)
	}
}

// appendOwner appends the owner of the next record, as a pointer if the record before has the same owner. Later names
// may point to the owner.
func (c *compressor) appendOwner(b []byte, owner name.Rel) []byte {
	if owner == c.owner && c.ownerAt != 0 {
		return appendPointer(b, c.ownerAt)
	}

	at := len(b) - lengthOctets
	c.labels = rdata.AppendLabels(c.labels[:0], owner)
	b = c.appendLabels(b, c.labels, true)

	c.owner, c.ownerAt = owner, 0
	switch first := b[lengthOctets+at]; {
	// The name was found whole. Remember where the pointer leads, because pointers to pointers cost a resolver more
	// steps.
	case first >= 0xC0:
		c.ownerAt = binary.BigEndian.Uint16(b[lengthOctets+at:]) &^ 0xC000
	case first > 0 && at < pointerReach:
		c.ownerAt = uint16(at)
	}
	return b
}

// appendName appends the uncompressed name at the start of wire, compressed, and returns the octets behind the name as
// rest. If wire has no valid name, nothing is appended.
func (c *compressor) appendName(b, wire []byte) (message, rest []byte) {
	longest := wire[:min(len(wire), 255)]
	// Stored rdata is valid. An octet above 63 would be a pointer into another message.
	for end := 0; end < len(longest) && longest[end] <= 63; end += 1 + int(longest[end]) {
		switch {
		// ns1.example.org. in the zone example.org.: only ns1 needs a look-up.
		case bytes.HasPrefix(longest[end:], c.zone):
			return c.appendLabels(b, wire[:end], true), wire[end+len(c.zone):]
		case longest[end] == 0:
			return c.appendLabels(b, wire[:end], false), wire[end+1:]
		}
	}
	return b, wire
}

func (c *compressor) appendZone(b []byte) []byte {
	at := len(b) - lengthOctets
	b = c.appendLabels(b, c.zone[:len(c.zone)-1], false)
	if at < pointerReach {
		c.zoneAt = uint16(at)
	}
	return b
}

// appendLabels appends labels, and behind them the zone's name if inZone is true, or else the root. The longest known
// suffix becomes a pointer, and the new suffixes are remembered.
func (c *compressor) appendLabels(b, labels []byte, inZone bool) []byte {
	inZone = inZone && len(c.zone) > 1 // not below the root

	starts, hashes := &c.starts, &c.hashes
	n := 0
	for i := 0; i < len(labels); i += 1 + int(labels[i]) {
		starts[n] = uint8(i)
		n++
	}

	rest := uint64(hashOfRoot)
	if inZone {
		rest = hashOfZone
	}

	// Search from the right. The first suffix that is not found ends the search.
	known, target := n, uint16(0)
	if inZone {
		target = c.zoneAt
	}
	for i := n - 1; i >= 0; i-- {
		label := labels[starts[i]:][:1+labels[starts[i]]]
		rest = hashOf(label, rest)
		hashes[i] = rest
		if known == i+1 && (!inZone || c.zoneAt != 0) {
			if at := c.findName(b, rest, label, target); at != 0 {
				known, target = i, at
			}
		}
	}

	// Write the labels before the known suffix, and remember each of them with its rest.
	front := len(b) - lengthOctets
	if known < n {
		b = append(b, labels[:starts[known]]...)
	} else {
		b = append(b, labels...)
	}

	for i := range known {
		c.rememberName(hashes[i], front+int(starts[i]))
	}

	switch {
	case target != 0:
		return appendPointer(b, target)
	case inZone:
		return c.appendZone(b)
	}
	return append(b, 0)
}

// findName returns the offset of a name in the message, or 0. The name is label, followed by the name at the offset
// rest, or by the root if rest is 0.
func (c *compressor) findName(b []byte, hash uint64, label []byte, rest uint16) uint16 {
	mask := len(c.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		s := c.slots[i]
		if s.at == 0 {
			return 0
		}
		// A tag of 16 bits saves most looks into the message. The octets decide.
		if s.tag != uint16(hash>>48) {
			continue
		}
		at := lengthOctets + int(s.at)
		if !bytes.HasPrefix(b[at:], label) {
			continue
		}
		if follows(b, at+len(label), rest) {
			return s.at
		}
	}
}

// follows reports whether the name at an offset of the buffer is the name at offset rest of the message, or the root if
// rest is 0.
func follows(b []byte, at int, rest uint16) bool {
	if at+1 >= len(b) {
		return false // still being written
	}
	if b[at] >= 0xC0 {
		at = lengthOctets + int(binary.BigEndian.Uint16(b[at:])&^0xC000)
	}
	if rest == 0 {
		return b[at] == 0
	}
	return at == lengthOctets+int(rest)
}

// rememberName adds a suffix to the hash table, but uses at most half of the slots, to keep probing short.
func (c *compressor) rememberName(hash uint64, offset int) {
	if offset >= pointerReach || c.used >= len(c.slots)/2 {
		return
	}
	mask := len(c.slots) - 1
	index := int(hash) & mask
	for c.slots[index].at != 0 {
		index = (index + 1) & mask
	}
	c.slots[index] = slot{uint16(offset), uint16(hash >> 48)}
	c.used++
}

func appendPointer(b []byte, at uint16) []byte { return append(b, 0xC0|byte(at>>8), byte(at)) }

func packName(text string) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := mdns.PackDomainName(text, buf, 0, nil, false)
	return buf[:n:n], err
}
