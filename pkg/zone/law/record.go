// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type Record struct {
	Namespace, Name, UID string
	View                 string
	DomainName           string
	ZoneRef              *Ref
	Type                 rdata.Type
	TTL                  *uint32
	Values               []rdata.Value
	// RepeatedValues holds repetitions of Values, perhaps spelled differently (RFC 2181 §5).
	RepeatedValues []rdata.Value
	Created        int64
	// Terminating is true if the record or its namespace is being deleted, and no zone adopts the record.
	Terminating bool
	// WaitsOnConflict is true if a new record in conflict with other data is stored and waits.
	WaitsOnConflict bool
	// ExpiresAt is the time in Unix seconds from which no zone has the record, or 0.
	ExpiresAt int64
	// DeletedAtExpiry is true if an update or an ACME challenge made the object, and no finalizer keeps it.
	DeletedAtExpiry bool
}

// Due is the value of a due key, by which servers find a Record at its expiry.
type Due struct {
	UID string `json:"uid"`
}

// IsExpired reports whether the record has expired at a time in Unix seconds.
func (r *Record) IsExpired(now int64) bool { return r.ExpiresAt != 0 && r.ExpiresAt <= now }

func (r *Record) Absolute() bool { return name.IsAbsolute(r.DomainName) }

// Adoption is the part of a zone's content made by a Record that the zone has adopted (taken in), as read from the
// Record's status and spec.
type Adoption struct {
	Zone Ref
	// FQDN is status.fqdn. For an absolute spec.domainName, Contribution.Owner is zero, and callers derive it from
	// FQDN.
	FQDN name.Name
	// EndsAt is status.endsAt in Unix seconds, or 0.
	EndsAt int64
	// Admission is the kind of rule that allowed the Record. The namespace's claim to the name counts Records by kind.
	Admission rules.Admission
	Contribution
}

func (r *Record) ContributionAt(owner name.Rel) Contribution {
	return Contribution{Owner: owner, Type: r.Type, TTL: r.TTL, Values: r.Values}
}
