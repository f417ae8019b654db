// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/rules"
)

// Record is a Record object as the law sees it; its values are parsed.
type Record struct {
	Namespace, Name, UID string
	View                 string
	DomainName           string
	ZoneRef              *Ref
	Type                 rdata.Type
	TTL                  *uint32
	Values               []rdata.Value
	// Repeated are further spellings of a value, or the same one again: Values has each once (RFC 2181 §5).
	Repeated []rdata.Value
	// Created is the object's creation time, unix seconds.
	Created int64
	// Terminating says that it is being deleted, or its namespace is, so no zone takes it in (S2.6).
	Terminating bool
	// WaitsOnConflict says that a create which the data at its name refuses is stored and waits (S2.14).
	WaitsOnConflict bool
}

// Absolute reports whether the record's name is absolute (S1.1).
func (r *Record) Absolute() bool { return name.IsAbsolute(r.DomainName) }

// Adopted is the contribution of a record that stands in a zone.
type Adopted struct {
	Zone Ref
	// FQDN is the record's name where the contribution's Owner is not given. The owner of a relative name is known by
	// itself, that of an absolute name follows from the zone.
	FQDN name.Name
	// EndsAt is when about its period is over, unix seconds; 0: the rules of the zone allow it (S2.12).
	EndsAt int64
	// Admission says by which kind of rule it stands there, as the claims at its base name count it (S4.7).
	Admission rules.Admission
	Contribution
}

// ContributionAt is what the record puts into its zone at a name.
func (r *Record) ContributionAt(owner name.Rel) Contribution {
	return Contribution{Owner: owner, Type: r.Type, TTL: r.TTL, Values: r.Values}
}
