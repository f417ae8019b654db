// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

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
		syntax  *syntax
	}{{m.Prerequisites, &prerequisites}, {m.Updates, &updates}} {
		touched := map[setKey]bool{}
		for i := range section.records {
			rr := &section.records[i]
			// All records are checked before any is applied, so NOTZONE for the last leaves the first out, too.
			if !m.Zone.Encloses(rr.Name) {
				return rr.Fail(NotZone, "the name is not in the zone %s of the message", m.Zone)
			}
			if f := section.syntax.checkRecord(rr); f != nil {
				return f
			}
			if touched[setKey{rr.Name, rr.Type}] = true; len(touched) > MaxRRsets {
				return rr.Fail(Refused, "the message is about more than %d RRsets; send several messages", MaxRRsets)
			}
		}
	}
	return nil
}

// syntax has the form of a section's records, by class.
type syntax struct {
	record, withoutTTL, rule string // for the text of a failure
	forms                    map[Class]form
}

// form describes the records of a class.
type form struct {
	maxTTL    uint32
	hasData   bool
	metaTypes []rdata.Type // allowed beside types that an RRset can have
}

var (
	forName = []rdata.Type{rdata.ANY}
	// A record of class IN requires a value. ANY requires an RRset, NONE its absence, and with the type ANY those of a
	// name.
	prerequisites = syntax{"a prerequisite", "a prerequisite", "RFC 2136 §2.4", map[Class]form{
		ClassIN: {hasData: true}, ClassANY: {metaTypes: forName}, ClassNONE: {metaTypes: forName}}}
	// A record of class IN adds a value, NONE deletes one, ANY an RRset, or with the type ANY a name.
	updates = syntax{"an update", "a deletion", "RFC 2136 §2.5", map[Class]form{
		ClassIN: {maxTTL: math.MaxUint32, hasData: true}, ClassANY: {metaTypes: forName}, ClassNONE: {hasData: true}}}
)

func (s *syntax) checkRecord(rr *RR) *Failure {
	form, known := s.forms[rr.Class]
	switch {
	case !known:
		return rr.Fail(FormErr, "the class is none of IN, ANY and NONE")
	case rr.TTL > form.maxTTL:
		return rr.Fail(FormErr, "%s has the TTL 0 (%s)", s.withoutTTL, s.rule)
	case rr.IsMeta() && !slices.Contains(form.metaTypes, rr.Type):
		return rr.Fail(FormErr, "no record has this type")
	case form.hasData != (rr.Data != ""):
		data := map[bool]string{true: "data", false: "no data"}[form.hasData]
		return rr.Fail(FormErr, "in the class %s %s has %s (%s)", rr.Class, s.record, data, s.rule)
	}
	return nil
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
