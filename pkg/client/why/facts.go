// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
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

// Facts is the input of Judge for a Record, a zone or a name.
type Facts struct {
	// Record is nil for a zone or for a name without a Record.
	Record    *v1alpha1.Record
	AskedName name.Name
	Type      rdata.Type
	// ExpectedData has values that servers must answer, in canonical form. If Exact is true, further values are a
	// fault.
	ExpectedData []string
	Exact        bool
	// AliasFault is nil unless the Record is a CNAME that leads to no data.
	AliasFault *AliasFault
	// Zone is nil without an enclosing zone, or without the right to list zones.
	Zone *ZoneFacts
	// Absent is nil unless the name has no Record.
	Absent *AbsentFacts
	// Origin describes the source of the data of a name without a readable Record, or is "".
	Origin string
	// Answers has the answer of each of Zone.Servers. Nil if no server was asked.
	Answers []ServerAnswer
}

// AbsentFacts describes a name without a Record of the type, and lists the namespaces that may create one. A Lack is a
// right that the user does not have, for example to list Delegations.
type AbsentFacts struct {
	Namespace string
	// Review is the answer of a NameReview in Namespace. It is nil with a Lack.
	Review *v1alpha1.NameReviewStatus
	Lack   string
	// Writers lists other namespaces that a rule allows to write at the name. With a WritersLack the list may be
	// incomplete.
	Writers     []string
	WritersLack string
	OtherTypes  []string
	// Cut describes an NS or DNAME Record above the name, by which other servers have the name. "" for none.
	Cut string
}

// ZoneFacts describes a zone, for all paths in the zone. A Lack is a right that the user does not have.
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
	// Classes has the readable DNSClasses by name. ClassesLack is the missing right to read others, or "".
	Classes     map[string]*v1alpha1.DNSClass
	ClassesLack string
	// Servers has the servers of the zone's classes or, if none is known, of the zone's NS.
	Servers []Server
	Parents []ParentFacts
}

type Server struct {
	// Of is shown to the user: the server's name, or its address with the class.
	Of string
	// Address is HOST:PORT, or "" if unknown or not to be asked. NoAddress is then why.
	Address, NoAddress string
	// Listed is true if a DNSClass has the address. Tenants cannot write a DNSClass, so the address is safe to ask.
	Listed bool
	// OwnSerial is true if the server's serials may differ from the zone's, for example a signer's.
	OwnSerial bool
	// Row is the server's state in the Delivery, or nil. ConfirmedSerial is the last serial that the class has
	// confirmed, or 0.
	Row             *v1alpha1.DeliveryServer
	ConfirmedSerial int64
}

// ServerAnswer combines the answers of a server to two questions: the zone's SOA, and the name.
type ServerAnswer struct {
	// Asked is false if the address is unknown or must not be asked, or after too many questions.
	Asked bool
	// Err is why no answer came, or "".
	Err           string
	RCode         string
	Authoritative bool
	// HasSOA is true if the server has the zone, with Serial.
	HasSOA bool
	Serial serial.Serial
	// Data has the values of the RRset. Alias is the target of a CNAME, or "".
	Data  []string
	Alias string
	// Referral is the child zone in a referral, or "".
	Referral string
}

// ParentFacts describes the delegation of a zone in the zone above.
type ParentFacts struct {
	// Zone is the delegated zone, ParentName the zone above. A zero name is unknown.
	Zone, ParentName name.Name
	// Ours is true if the zone above is a Zone here with readable entries.
	Ours bool
	Lack string
	// Asked is false without a resolver, or if the servers must not be asked, and true if the zone above is Ours.
	// Resolver is HOST:PORT. Err is a failure to find or ask the parent's servers.
	Asked    bool
	Resolver string
	Err      string
	// NS has the hosts in the zone above, WantNS those at the zone's own apex. Nil if unknown.
	NS, WantNS []string
	// DS has the key tags in the zone above, WantDS those in status.dnssec.
	DS, WantDS []string
	// Phase of signing, or "" for an unsigned zone.
	Phase v1alpha1.DNSSECPhase
	// Keyless is true if a server answers without a DNSKEY of the zone.
	Keyless bool
	// Resolved is true if the resolver answers with the SOA of this zone.
	Resolved bool
}
