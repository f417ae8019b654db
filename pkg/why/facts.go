// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Facts are those of a path, as Judge needs them.
type Facts struct {
	// Record is nil for a zone or for a name without a Record.
	Record *v1alpha1.Record
	// Asked is the name in questions to servers, Type their type.
	Asked name.Name
	Type  rdata.Type
	// Expected are the values of the RRset, in canonical form, and Exact is true if it has no others.
	Expected []string
	Exact    bool
	// Zone is nil if no zone of this user's view has the name.
	Zone *ZoneFacts
	// Absent has the facts of a name without a Record; nil for others.
	Absent *AbsentFacts
	// Answers are those of Zone's servers, in their order. Nil: none was asked.
	Answers []ServerAnswer
}

// AbsentFacts are those of a name without a Record of the type.
type AbsentFacts struct {
	Namespace string
	// Review is the answer to a NameReview; nil without the right to create Records, which Lacks names then.
	Review *v1alpha1.NameReviewStatus
	Lacks  string
	// Others are types of Records at the name.
	Others []string
	// Cut is a Record (NS, DNAME) or zone that answers for the name; "" for none.
	Cut string
}

// ZoneFacts are those of a zone, shared by its Records.
type ZoneFacts struct {
	// Namespace and Name are those of the Zone.
	Namespace, Name string
	FQDN            name.Name
	View            string
	// Object is nil if Lacks names the right to read it.
	Object *v1alpha1.Zone
	Lacks  string
	// Deliveries of the Zone, unless DeliveriesLack names the right to list them.
	Deliveries     []v1alpha1.Delivery
	DeliveriesLack string
	// Classes are the DNSClasses that the user may read, by name.
	Classes map[string]*v1alpha1.DNSClass
	// ClassesLack is the right to read the others; "" for none.
	ClassesLack string
	// Servers answer for the zone: those of its classes, or else its NS names.
	Servers []Server
	Parents []ParentFacts
}

// Server is a name server to ask.
type Server struct {
	// Of is shown: the class and its row, or the name of the server.
	Of string
	// Address is HOST:PORT; "" if unknown.
	Address string
	// OwnSerial: serials of the server are not the zone's, as it signs, or is another operator's.
	OwnSerial bool
	// Row is that of a Delivery; nil for none.
	Row *v1alpha1.DeliveryServer
	// Confirmed is the zone's serial by the Delivery.
	Confirmed int64
}

// ServerAnswer is a server's answer to two questions, for the SOA of the zone and for the name.
type ServerAnswer struct {
	// Asked is false beyond the bounds, or without an address.
	Asked bool
	// Err is the failure to get an answer; "" for none.
	Err           string
	RCode         string
	Authoritative bool
	// HasSOA: the server answers for the zone, at Serial.
	HasSOA bool
	Serial serial.Serial
	// Data are the values of the RRset, Alias the target of a CNAME, Referral the cut of a referral.
	Data     []string
	Alias    string
	Referral string
}

// ParentFacts are the delegation of a zone by the zone above.
type ParentFacts struct {
	// Zone is the delegated one, Above the zone above; zero if unknown.
	Zone, Above name.Name
	// Ours: the zone above is a Zone here, and Lacks the right to read its entries; "" for none.
	Ours  bool
	Lacks string
	// Asked is false without a resolver. Err is a failure to find or ask the servers of Above.
	Asked bool
	Err   string
	// Server is that which answered, for a zone that is not ours.
	Server string
	// NS are the hosts that Above lists, and Want those of the zone; nil if unknown.
	NS, Want []string
	// DS are the key tags that Above lists, and WantDS those of the signed zone; Signed: Want is known, and not empty.
	DS, WantDS []string
	Signed     bool
	// Phase is that of the signing, "" for an unsigned zone.
	Phase v1alpha1.DNSSECPhase
	// Keyless: a server of the zone answers that it has no DNSKEY.
	Keyless bool
	// Resolved: the resolver itself has the data, or the SOA of the zone.
	Resolved bool
	Resolver string
}
