// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/update"
)

const headerLen = 12

// Parse reads the zone, the prerequisites and the updates of a message, and checks them. What stands in its additional
// section, OPT and TSIG, is the caller's.
func Parse(msg []byte) (*update.Message, *update.Failure) {
	r := &reader{msg: msg, off: headerLen}
	fail := func(what string) (*update.Message, *update.Failure) {
		return nil, &update.Failure{RCode: update.FormErr, Reason: what}
	}
	if len(msg) < headerLen || r.count(0) != 1 {
		return fail("a message has one zone (RFC 2136 §2.3)")
	}
	m := &update.Message{}
	var rtype, class uint16
	var failure *update.Failure
	if m.Zone, failure = r.readName(); failure != nil {
		return nil, failure
	}
	if !r.readUint16(&rtype) || !r.readUint16(&class) {
		return fail("the zone section is cut")
	}
	if rdata.Type(rtype) != rdata.SOA || class != mdns.ClassINET {
		return fail("the zone section asks for an SOA of the class IN (RFC 2136 §2.3)")
	}
	for section, to := range []*[]update.RR{&m.Prerequisites, &m.Updates} {
		for range r.count(1 + section) {
			rr, failure := r.readRR()
			if failure != nil {
				return nil, failure
			}
			*to = append(*to, rr)
		}
	}
	if failure := m.Check(); failure != nil {
		return nil, failure
	}
	return m, nil
}

// reader reads a message from its beginning. It trusts no count and no length in it.
type reader struct {
	msg []byte
	off int
}

func (r *reader) count(section int) int { return int(binary.BigEndian.Uint16(r.msg[4+2*section:])) }

func (r *reader) readUint16(to *uint16) bool {
	if r.off+2 > len(r.msg) {
		return false
	}
	*to = binary.BigEndian.Uint16(r.msg[r.off:])
	r.off += 2
	return true
}

// readName reads a name that may be compressed.
func (r *reader) readName() (name.Name, *update.Failure) {
	text, next, err := mdns.UnpackDomainName(r.msg, r.off)
	if err != nil {
		return name.Name{}, &update.Failure{RCode: update.FormErr, Reason: fmt.Sprintf("a name at octet %d cannot be read: %v", r.off, err)}
	}
	r.off = next
	n, err := name.Parse(text)
	if err != nil {
		return name.Name{}, &update.Failure{RCode: update.Refused, Reason: fmt.Sprintf("no Record can have the name: %v", err)}
	}
	return n, nil
}

// classes are the RR classes that mean something in a message.
var classes = map[uint16]update.Class{mdns.ClassINET: update.ClassIN, mdns.ClassANY: update.ClassANY,
	mdns.ClassNONE: update.ClassNONE}

func (r *reader) readRR() (rr update.RR, failure *update.Failure) {
	begin := r.off
	if rr.Name, failure = r.readName(); failure != nil {
		return rr, failure
	}
	var rtype, class, high, low, length uint16
	if !r.readUint16(&rtype) || !r.readUint16(&class) || !r.readUint16(&high) || !r.readUint16(&low) || !r.readUint16(&length) ||
		r.off+int(length) > len(r.msg) {
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
	return rr, readData(&rr, r.msg[:r.off], begin)
}

// readData reads the data of the record that begins at an octet and ends the message.
func readData(rr *update.RR, msg []byte, begin int) *update.Failure {
	if rr.IsMeta() {
		return rr.Fail(update.FormErr, "no record has this type")
	}
	read, _, err := mdns.UnpackRR(msg, begin)
	if err != nil {
		return rr.Fail(update.FormErr, "its data cannot be read: %v", err)
	}
	// Without compression, the octets are the generic form of the value (RFC 3597 §5), whatever its type is.
	wire := make([]byte, mdns.Len(read)+headerLen)
	head, err := mdns.PackDomainName(read.Header().Name, wire, 0, nil, false)
	end := 0
	if err == nil {
		end, err = mdns.PackRR(read, wire, 0, nil, false)
	}
	if err != nil || end < head+10 {
		return rr.Fail(update.FormErr, "its data cannot be read: %v", err)
	}
	data := wire[head+10 : end]
	if err := rr.Type.CheckRecord(); err != nil && rr.Type != rdata.SOA {
		return rr.Fail(update.Refused, "%v (S5.4)", err)
	}
	value, err := rdata.Parse(rr.Type, fmt.Sprintf(`\# %d %s`, len(data), hex.EncodeToString(data)))
	if err != nil {
		return rr.Fail(update.Refused, "%v", err)
	}
	rr.Data = value.Text
	return nil
}
