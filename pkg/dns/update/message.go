// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"
	"iter"
	"maps"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type RCode uint16

const (
	NoError  RCode = 0
	FormErr  RCode = 1
	ServFail RCode = 2
	NXDomain RCode = 3
	Refused  RCode = 5
	YXDomain RCode = 6
	YXRRset  RCode = 7
	NXRRset  RCode = 8
	NotAuth  RCode = 9
	NotZone  RCode = 10
)

var rcodeNames = map[RCode]string{NoError: "NOERROR", FormErr: "FORMERR", ServFail: "SERVFAIL", NXDomain: "NXDOMAIN",
	Refused: "REFUSED", YXDomain: "YXDOMAIN", YXRRset: "YXRRSET", NXRRset: "NXRRSET", NotAuth: "NOTAUTH", NotZone: "NOTZONE"}

func (r RCode) String() string {
	if text, ok := rcodeNames[r]; ok {
		return text
	}
	return fmt.Sprintf("RCODE%d", uint16(r))
}

func RCodes() iter.Seq[RCode] { return maps.Keys(rcodeNames) }

func ParseRCode(text string) (RCode, bool) {
	for r, name := range rcodeNames {
		if name == text {
			return r, true
		}
	}
	return 0, false
}

type Class string

const (
	// ClassIN adds the record, or requires it.
	ClassIN Class = "IN"
	// ClassANY deletes an RRset or all data of a name, or requires that something exists.
	ClassANY Class = "ANY"
	// ClassNONE deletes a record, or requires an RRset or name to be absent.
	ClassNONE Class = "NONE"
)

type RR struct {
	Name  name.Name
	Type  rdata.Type
	Class Class
	TTL   uint32 // seconds
	// Data is the canonical text with absolute names, or "" if the record has no data.
	Data string
}

type Message struct {
	Zone                   name.Name
	Prerequisites, Updates []RR
	// ID identifies the signed octets. It is empty if the message is unsigned.
	ID string
}

func (m *Message) UpdatedNames() (names []name.Name) {
	seen := map[name.Name]bool{}
	for i := range m.Updates {
		if n := m.Updates[i].Name; !seen[n] {
			seen[n], names = true, append(names, n)
		}
	}
	return names
}

// Failure is the reason why a message changes nothing.
type Failure struct {
	RCode RCode
	// Name and Type identify the record at fault. They may be zero.
	Name   name.Name
	Type   rdata.Type
	Reason string
}

func (f *Failure) Error() string { return f.RCode.String() + ": " + f.Reason }

func (rr *RR) Fail(rcode RCode, format string, args ...any) *Failure {
	return &Failure{RCode: rcode, Name: rr.Name, Type: rr.Type,
		Reason: fmt.Sprintf("%s %s: ", rr.Name, rr.Type) + fmt.Sprintf(format, args...)}
}

const (
	// MaxRRsets limits the RRsets of each section, and MaxRecords the records of both.
	MaxRRsets  = 100
	MaxRecords = 500
)

func CheckCount(prerequisites, updates int) *Failure {
	if prerequisites+updates > MaxRecords {
		return &Failure{RCode: Refused, Reason: fmt.Sprintf("the message has more than %d records; send several messages", MaxRecords)}
	}
	return nil
}

// Check returns a failure if the form of the message is wrong (RFC 2136 §3.2, §3.4.1), or a limit is exceeded.
func (m *Message) Check() *Failure {
	if f := CheckCount(len(m.Prerequisites), len(m.Updates)); f != nil {
		return f
	}
	for _, section := range []struct {
		records []RR
		check   func(*RR) *Failure
	}{{m.Prerequisites, (*RR).checkPrerequisite}, {m.Updates, (*RR).checkUpdate}} {
		touched := map[setKey]bool{}
		for i := range section.records {
			rr := &section.records[i]
			// All records are checked before any is applied, so NOTZONE for the last leaves the first out, too.
			if !m.Zone.Encloses(rr.Name) {
				return rr.Fail(NotZone, "the name is not in the zone %s of the message", m.Zone)
			}
			if f := section.check(rr); f != nil {
				return f
			}
			if touched[setKey{rr.Name, rr.Type}] = true; len(touched) > MaxRRsets {
				return rr.Fail(Refused, "the message is about more than %d RRsets; send several messages", MaxRRsets)
			}
		}
	}
	return nil
}

func (rr *RR) checkPrerequisite() *Failure {
	switch {
	case rr.TTL != 0:
		return rr.Fail(FormErr, "a prerequisite has the TTL 0 (RFC 2136 §2.4)")
	// ANY is a type of prerequisites without data: "the name exists".
	case rr.IsMeta() && (rr.Type != rdata.ANY || rr.Class == ClassIN):
		return rr.Fail(FormErr, "no record has this type")
	// Only "the RRset has this value" (class IN) has data.
	case (rr.Class == ClassIN) == (rr.Data == ""):
		return rr.Fail(FormErr, "in the class %s a prerequisite has %s (RFC 2136 §2.4)", rr.Class, rr.wantsData())
	}
	return rr.checkClass()
}

func (rr *RR) checkUpdate() *Failure {
	switch {
	case rr.Class != ClassIN && rr.TTL != 0:
		return rr.Fail(FormErr, "a deletion has the TTL 0 (RFC 2136 §2.5)")
	case rr.IsMeta() && (rr.Type != rdata.ANY || rr.Class != ClassANY):
		return rr.Fail(FormErr, "no record has this type")
	// Only the deletion of an RRset or name (class ANY) has no data.
	case (rr.Class == ClassANY) != (rr.Data == ""):
		return rr.Fail(FormErr, "in the class %s an update has %s (RFC 2136 §2.5)", rr.Class, rr.wantsData())
	}
	return rr.checkClass()
}

func (rr *RR) wantsData() string {
	if rr.Data == "" {
		return "data"
	}
	return "no data"
}

func (rr *RR) checkClass() *Failure {
	switch rr.Class {
	case ClassIN, ClassANY, ClassNONE:
		return nil
	}
	return rr.Fail(FormErr, "the class is none of IN, ANY and NONE")
}

// IsMeta reports whether no RRset can have the type (RFC 6895 §3.1).
func (rr *RR) IsMeta() bool {
	return rr.Type == 0 || rr.Type == rdata.OPT || rr.Type >= 128 && rr.Type <= 255
}

// RRset has values without duplicates. TTL is in seconds.
type RRset struct {
	Type   rdata.Type
	TTL    uint32
	Values []string
}

type setKey struct {
	name  name.Name
	rtype rdata.Type
}
