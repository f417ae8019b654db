// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/reasons"
)

type judgement struct {
	*Facts
	links []Link
}

func (j *judgement) add(kind Kind, of string, state State, format string, args ...any) *Link {
	j.links = append(j.links, Link{Kind: kind, Of: of, State: state, Text: fmt.Sprintf(format, args...)})
	return &j.links[len(j.links)-1]
}

// explain sets the reason, with role and step of docs/reasons.md.
func (l *Link) explain(reason, heading string) *Link {
	l.Reason = reason
	if l.State.IsBad() {
		of := reasons.FindOf(reason, heading)
		l.Mends, l.Step = of.Mends, of.Step
	}
	return l
}

func (l *Link) setStep(role reasons.Role, format string, args ...any) {
	l.Mends, l.Step = role, fmt.Sprintf(format, args...)
}

// Facts are the input of Judge for a path.
type Facts struct {
	// Record is nil for a zone or for a name without a Record.
	Record *v1alpha1.Record
	// AskedName is in questions to servers, with Type.
	AskedName name.Name
	Type      rdata.Type
	// ExpectedData has canonical values of the RRset, all of them if Exact.
	ExpectedData []string
	Exact        bool
	// Zone is nil without an enclosing zone, or without the right to list zones.
	Zone *ZoneFacts
	// Absent is for a name without a Record.
	Absent *AbsentFacts
	// Origin describes the source of the data of a name without a readable Record, or is "".
	Origin string
	// Answers of Zone.Servers, in that order. Nil if no server was asked.
	Answers []ServerAnswer
}

// AbsentFacts describe a name without a Record of the type.
type AbsentFacts struct {
	Namespace string
	// Review is a NameReview's answer. Nil with a Lack, the missing right.
	Review *v1alpha1.NameReviewStatus
	Lack   string
	// Writers are other namespaces with a rule for the name, unless WritersLack names the right to list them all.
	Writers     []string
	WritersLack string
	// OtherTypes are of Records at the name.
	OtherTypes []string
	// Cut is an NS or DNAME Record above the name, or "".
	Cut string
}

// ZoneFacts describe a zone, shared by the paths of its Records.
type ZoneFacts struct {
	Namespace, Name string
	FQDN            name.Name
	View            string
	// Object is nil with a Lack.
	Object *v1alpha1.Zone
	Lack   string
	// Deliveries of the Zone, unless DeliveriesLack names the right to list them.
	Deliveries     []v1alpha1.Delivery
	DeliveriesLack string
	// Classes are the readable DNSClasses, by name.
	Classes map[string]*v1alpha1.DNSClass
	// ClassesLack is the missing right to read other classes, or "".
	ClassesLack string
	// Servers of the zone's classes, or else its NS names.
	Servers []Server
	Parents []ParentFacts
}

// Server is a name server to ask.
type Server struct {
	// Of is shown: the class and its row, or the server's name.
	Of string
	// Address is HOST:PORT, or "" if unknown.
	Address string
	// Listed by a DNSClass, whose authors are no tenants.
	Listed bool
	// OwnSerial is true for a signer or another operator's primary, with other serials than the zone's.
	OwnSerial bool
	// Row of the Delivery, or nil. ConfirmedSerial is the class's, or 0.
	Row             *v1alpha1.DeliveryServer
	ConfirmedSerial int64
}

// ServerAnswer combines the answers for the zone's SOA and for the name.
type ServerAnswer struct {
	// Asked is false beyond the bounds, or without an address.
	Asked bool
	// Err is a failure of the exchange, or "".
	Err           string
	RCode         string
	Authoritative bool
	// HasSOA is true if the server answers for the zone, at Serial.
	HasSOA bool
	Serial serial.Serial
	// Data are the values of the RRset, Alias the target of a CNAME, Referral the cut of a referral.
	Data     []string
	Alias    string
	Referral string
}

// ParentFacts describe the delegation of a zone by the zone above.
type ParentFacts struct {
	// Zone is the delegated zone, ParentName the zone above. Zero if unknown.
	Zone, ParentName name.Name
	// Ours is true if the zone above is a Zone here with readable entries.
	Ours bool
	Lack string
	// Asked is false without a resolver, or with servers that may not be asked. Resolver is its HOST:PORT. Err is a
	// failure to find or ask the parent's servers.
	Asked    bool
	Resolver string
	Err      string
	// NS are the hosts in the zone above, WantNS those at the zone's own apex. Nil if unknown.
	NS, WantNS []string
	// DS are key tags in the zone above, WantDS those of status.dnssec.
	DS, WantDS []string
	// Phase of signing, or "" for an unsigned zone.
	Phase v1alpha1.DNSSECPhase
	// Keyless is true if a server answers without DNSKEY of the zone.
	Keyless bool
	// Resolved is true if the resolver has the zone's SOA.
	Resolved bool
}
