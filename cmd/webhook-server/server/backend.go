// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Backend stores records, and is safe for concurrent use. Clients get a *protocol.Error; other errors are logged, and
// returned as SERVER_ERROR without text.
type Backend interface {
	// Apply replaces the RRsets of a zone in order, or removes those without Data. The result has an error or nil for
	// each; a failure stops no other. An unchanged RRset is a success.
	Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error
	// Read returns an RRset; without Data if there is none.
	Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error)
	Health(ctx context.Context) error
}

// Conditional is a Backend whose conditional writes overwrite no concurrent change.
type Conditional interface {
	Backend
	// ApplyWhere fails with ChangedError for an RRset unlike the RRset of the same index in present.
	ApplyWhere(ctx context.Context, zone name.Name, sets, present []protocol.RRset) []error
}

// ChangedError is for an RRset that another client changed.
func ChangedError(set protocol.RRset) *protocol.Error {
	return CoexistError("%s %s: another client changed it at this moment; repeat the request", set.Name, set.Type)
}

// UnknownZoneError is for a zone unknown to a Backend.
func UnknownZoneError(zone name.Name) *protocol.Error {
	return protocol.Refuse(protocol.CodeInvalidDomain, "the zone %s is not here", zone)
}

// CoexistError is for a record that cannot coexist with others: a conflict, as their removal helps.
func CoexistError(format string, args ...any) *protocol.Error {
	refusal := protocol.Refuse(protocol.CodeInvalidRecord, format, args...)
	refusal.Status = http.StatusConflict
	return refusal
}
