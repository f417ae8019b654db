// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/update"
)

const (
	headerLen = 12
	// zoneTail is the length of type and class in the zone section, and recordHead of type, class and TTL in a record.
	zoneTail, recordHead = 4, 8
)

// Parse reads and checks a message. The caller handles OPT and TSIG.
func Parse(msg []byte) (*update.Message, *update.Failure) {
	r := &reader{msg: msg, off: headerLen, names: map[string]name.Name{}, values: map[sentData]string{}}
	fail := func(what string) (*update.Message, *update.Failure) {
		return nil, &update.Failure{RCode: update.FormErr, Reason: what}
	}
	if len(msg) < headerLen || r.count(0) != 1 {
		return fail("a message has one zone (RFC 2136 §2.3)")
	}

	// The limit comes first, because compressed records are cheap to send and expensive to parse.
	failure := update.CheckCount(r.count(1), r.count(2))
	if failure != nil {
		return nil, failure
	}
	// The zone section.
	m := &update.Message{}
	var rtype, class uint16
	if m.Zone, failure = r.readName(); failure != nil {
		return nil, failure
	}
	if !r.readUint16s(&rtype, &class) {
		return fail("the zone section is cut")
	}
	if rdata.Type(rtype) != rdata.SOA || class != mdns.ClassINET {
		return fail("the zone section asks for an SOA of the class IN (RFC 2136 §2.3)")
	}

	// The records: prerequisites, then updates. The additional section, with OPT and TSIG, is the caller's.
	for section, to := range []*[]update.RR{&m.Prerequisites, &m.Updates} {
		for range r.count(1 + section) {
			rr, failure := r.readRR()
			if failure != nil {
				return nil, failure
			}
			*to = append(*to, rr)
		}
	}

	// Rules about whole records, such as the TTL 0 of a deletion, and the limit of RRsets.
	if failure := m.Check(); failure != nil {
		return nil, failure
	}
	return m, nil
}

// MaxOwners limits the owner names that HashOwners reads, each form of a name, such as a pointer, once. It bounds the
// time for which a message keeps others waiting.
const MaxOwners = 64

// HashOwners returns a hash of each owner name in the prerequisites and updates of a message, in any case. Two messages
// with a name in common have a hash in common. The result ends where the message cannot be read, and is nil if the
// message has too many records, because Parse refuses such messages. With more than MaxOwners names, tooMany is true
// and there are no hashes: the message may have a name in common with any other.
func HashOwners(seed maphash.Seed, msg []byte) (owners map[uint64]bool, tooMany bool) {
	r := &reader{msg: msg, off: headerLen}
	if len(msg) < headerLen || update.CheckCount(r.count(1), r.count(2)) != nil {
		return nil, false
	}
	owners = map[uint64]bool{}
	read := map[string]bool{} // the owners as sent: many records may have a pointer to the same long name
	r.off = endOfName(msg, r.off) + zoneTail

	// Read owner and length of each record, and skip the data, since only names count.
	for range r.count(1) + r.count(2) {
		if r.off >= len(msg) {
			break
		}
		next := endOfName(msg, r.off)
		if sent := msg[r.off:next]; !read[string(sent)] {
			// The next name would be too many, and this message waits for all others of the tenant.
			if len(read) == MaxOwners {
				return nil, true
			}
			hash, ok := hashName(seed, msg, r.off)
			if !ok {
				break
			}
			read[string(sent)], owners[hash] = true, true
		}
		var length uint16
		r.off = next + recordHead
		if !r.readUint16s(&length) {
			break
		}
		r.off += int(length)
	}
	return owners, false
}

const maxName, maxPointers, pointerBits = 255, 126, 0xc0

// hashName hashes the labels of a name in lower case, and follows pointers (RFC 1035 §4.1.4). ok is false if the name
// cannot be read.
func hashName(seed maphash.Seed, msg []byte, off int) (hash uint64, ok bool) {
	var labels [maxName]byte
	length, pointers := 0, 0
	for off < len(msg) {
		end := off + 1 + int(msg[off])
		switch {
		case msg[off] == 0:
			return maphash.Bytes(seed, labels[:length]), true
		// A pointer may lead backward into a loop, which maxPointers ends.
		case msg[off] >= pointerBits:
			if pointers++; pointers > maxPointers || off+2 > len(msg) {
				return 0, false
			}
			off = int(binary.BigEndian.Uint16(msg[off:])) &^ (pointerBits << 8)
		case msg[off] > 63 || end > len(msg) || length+end-off >= maxName:
			return 0, false
		default:
			// WWW.example.org. and www.example.org. are the same name (RFC 4343).
			for _, octet := range msg[off:end] {
				if 'A' <= octet && octet <= 'Z' {
					octet += 'a' - 'A'
				}
				labels[length] = octet
				length++
			}
			off = end
		}
	}
	return 0, false
}

// endOfName returns the offset after the name at an offset, or len(msg) if the name is cut. It follows no pointer.
func endOfName(msg []byte, off int) int {
	for off < len(msg) {
		switch length := int(msg[off]); {
		case length == 0:
			return off + 1
		case length >= pointerBits:
			return min(off+2, len(msg))
		default:
			off += 1 + length
		}
	}
	return len(msg)
}

// reader reads a DNS UPDATE message from a possibly hostile client. Parsed names and values are cached, because
// compression makes repetition cheap for the sender: a record of 16 octets may have two names of 255 octets.
type reader struct {
	msg []byte
	off int
	// names is keyed by text, and values by type and octets as sent.
	names  map[string]name.Name
	values map[sentData]string
	space  []byte // reused, for expanded data
}

type sentData struct {
	rtype  rdata.Type
	octets string
}

func (r *reader) count(section int) int { return int(binary.BigEndian.Uint16(r.msg[4+2*section:])) }

func (r *reader) readUint16s(to ...*uint16) bool {
	if r.off+2*len(to) > len(r.msg) {
		return false
	}
	for _, one := range to {
		*one = binary.BigEndian.Uint16(r.msg[r.off:])
		r.off += 2
	}
	return true
}

// readName reads the name at the current offset. The failure is FORMERR for a malformed name, and REFUSED for a name
// that no Record can have, such as a label with a blank.
func (r *reader) readName() (name.Name, *update.Failure) {
	text, next, err := mdns.UnpackDomainName(r.msg, r.off)
	if err != nil {
		return name.Name{}, &update.Failure{RCode: update.FormErr, Reason: fmt.Sprintf("a name at octet %d cannot be read: %v", r.off, err)}
	}
	r.off = next
	n, known := r.names[text]
	if known {
		return n, nil
	}
	if n, err = name.Parse(text); err != nil {
		return name.Name{}, &update.Failure{RCode: update.Refused, Reason: fmt.Sprintf("no Record can have the name: %v", err)}
	}
	r.names[text] = n
	return n, nil
}

var classes = map[uint16]update.Class{mdns.ClassINET: update.ClassIN, mdns.ClassANY: update.ClassANY,
	mdns.ClassNONE: update.ClassNONE}

// readRR reads a record, whose data is "" without octets of data. Equal data of the same type is parsed once in a
// message.
func (r *reader) readRR() (rr update.RR, failure *update.Failure) {
	begin := r.off
	if rr.Name, failure = r.readName(); failure != nil {
		return rr, failure
	}
	var rtype, class, high, low, length uint16
	if !r.readUint16s(&rtype, &class, &high, &low, &length) || r.off+int(length) > len(r.msg) {
		return rr, &update.Failure{RCode: update.FormErr, Name: rr.Name, Reason: fmt.Sprintf("the record at octet %d is cut", begin)}
	}
	r.off += int(length)
	rr.Type, rr.TTL = rdata.Type(rtype), uint32(high)<<16|uint32(low)
	var known bool
	if rr.Class, known = classes[class]; !known {
		return rr, rr.Fail(update.FormErr, "the class %d is none of IN, ANY and NONE", class)
	}
	if length == 0 {
		return rr, nil
	}

	// Within a message, equal octets with equal pointers have an equal meaning.
	data := sentData{rr.Type, string(r.msg[r.off-int(length) : r.off])}
	if rr.Data, known = r.values[data]; !known {
		if failure = r.readData(&rr, int(length)); failure == nil {
			r.values[data] = rr.Data
		}
	}
	return rr, failure
}

// expansion limits decompression. Types of Records have at most two names.
const expansion = 2 * 255

// readData parses the last length octets of a record, and sets rr.Data to the spelling of a Record's spec. The failure
// is FORMERR for malformed data, and REFUSED for a type or value that no Record can have.
func (r *reader) readData(rr *update.RR, length int) *update.Failure {
	if rr.IsMeta() {
		return rr.Fail(update.FormErr, "no record has this type")
	}
	// An SOA is parsed, too, because Fold refuses it with a better reason.
	if err := rr.Type.CheckRecord(); err != nil && rr.Type != rdata.SOA {
		return rr.Fail(update.Refused, "%v (S5.4)", err)
	}
	header := mdns.RR_Header{Name: ".", Rrtype: uint16(rr.Type), Class: mdns.ClassINET, Rdlength: uint16(length)}
	read, _, err := mdns.UnpackRRWithHeader(header, r.msg[:r.off], r.off-length)
	if err != nil {
		return rr.Fail(update.FormErr, "its data cannot be read: %v", err)
	}
	const head = 1 + 10
	if room := head + length + expansion; len(r.space) < room {
		r.space = make([]byte, room)
	}

	// Pack again without compression: names in the data may point into the message.
	end, err := mdns.PackRR(read, r.space, 0, nil, false)
	if err != nil || end < head {
		return rr.Fail(update.FormErr, "its data cannot be read: %v", err)
	}
	value, err := rdata.ParseWire(rr.Type, r.space[head:end])
	if err != nil {
		return rr.Fail(update.Refused, "%v", err)
	}
	rr.Data = value.Text
	return nil
}
