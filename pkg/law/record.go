// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/rules"
)

type Record struct {
	Namespace, Name, UID string
	View                 string
	DomainName           string
	ZoneRef              *Ref
	Type                 rdata.Type
	TTL                  *uint32
	Values               []rdata.Value
	// RepeatedValues has further spellings of Values (RFC 2181 §5).
	RepeatedValues []rdata.Value
	Created        int64
	// Terminating is true if the record or its namespace is being deleted: no zone adopts it (S2.6).
	Terminating bool
	// WaitsOnConflict is true if a create refused for data at the name is stored and waits (S2.14).
	WaitsOnConflict bool
}

func (r *Record) Absolute() bool { return name.IsAbsolute(r.DomainName) }

// Adoption is the part of a zone's content made by a Record that the zone has adopted (taken in), from status and spec.
type Adoption struct {
	Zone Ref
	// FQDN is status.fqdn. For an absolute spec.domainName, Contribution.Owner is zero, and callers derive it from
	// FQDN.
	FQDN name.Name
	// EndsAt is status.endsAt in Unix seconds, or 0.
	EndsAt int64
	// Admission is the kind of the allowing rule. The namespace's claim to the name counts its records by kind.
	Admission rules.Admission
	Contribution
}

func (r *Record) ContributionAt(owner name.Rel) Contribution {
	return Contribution{Owner: owner, Type: r.Type, TTL: r.TTL, Values: r.Values}
}
