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

// Facts is all that Judge must know to explain a Record, a zone or a name.
type Facts struct {
	// Record is nil for a zone or for a name without a Record.
	Record    *v1alpha1.Record
	AskedName name.Name
	Type      rdata.Type
	// ExpectedData has values that servers must answer, in canonical form. If Exact is true, they must answer no
	// others.
	ExpectedData []string
	Exact        bool
	// Zone is nil without an enclosing zone, or without the right to list zones.
	Zone *ZoneFacts
	// Absent is for a name without a Record.
	Absent *AbsentFacts
	// Origin describes the source of the data of a name without a readable Record, or is "".
	Origin string
	// Answers are parallel to Zone.Servers. Nil if no server was asked.
	Answers []ServerAnswer
}

// AbsentFacts explain why no Record of the type exists at a name, and name the namespaces that could create it. A Lack
// names a right that the user does not have, such as to list Delegations.
type AbsentFacts struct {
	Namespace string
	// Review is the answer of a NameReview in Namespace. It is nil with a Lack.
	Review *v1alpha1.NameReviewStatus
	Lack   string
	// Writers are other namespaces that a rule allows to write at the name. With a WritersLack the list may be
	// incomplete.
	Writers     []string
	WritersLack string
	OtherTypes  []string
	// Cut is an NS or DNAME Record above the name: the name is then not in the zone. "" for none.
	Cut string
}

// ZoneFacts describe a zone, for all paths in the zone. A Lack names a right that the user does not have.
type ZoneFacts struct {
	Namespace, Name string
	FQDN            name.Name
	View            string
	// Object is nil with a Lack.
	Object *v1alpha1.Zone
	Lack   string
	// Deliveries of the Zone are unknown with a DeliveriesLack.
	Deliveries     []v1alpha1.Delivery
	DeliveriesLack string
	// Classes are the readable DNSClasses by name, ClassesLack the missing right to read the others, or "".
	Classes     map[string]*v1alpha1.DNSClass
	ClassesLack string
	// Servers has the servers of the zone's classes or, if none are known, the zone's NS.
	Servers []Server
	// Parents describe the delegations by the zones above.
	Parents []ParentFacts
}

type Server struct {
	// Of is shown to the user: the server's name, or its address with the class.
	Of string
	// Address is HOST:PORT, or "" if unknown.
	Address string
	// Listed is true if a DNSClass has the address. Tenants cannot write a DNSClass, so it is safe to ask.
	Listed bool
	// OwnSerial is true if the server's serials are not the zone's: a signer, or a primary of others.
	OwnSerial bool
	// Row is the server in the Delivery, or nil. ConfirmedSerial is the class's last confirmed serial, or 0.
	Row             *v1alpha1.DeliveryServer
	ConfirmedSerial int64
}

// ServerAnswer combines the answers of a server to two questions: the zone's SOA, and the name.
type ServerAnswer struct {
	// Asked is false if the address is unknown or may not be asked, or after too many questions.
	Asked bool
	// Err is why no answer came, or "".
	Err           string
	RCode         string
	Authoritative bool
	// HasSOA is true if the server has the zone, at Serial.
	HasSOA bool
	Serial serial.Serial
	// Data are the values of the RRset. Alias is the target of a CNAME, "" for none.
	Data  []string
	Alias string
	// Referral is the child zone in a referral, or "".
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
