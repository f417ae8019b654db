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

// Backend stores records, and is safe for concurrent use. Clients get a *protocol.Error. Other errors are logged, and
// sent as SERVER_ERROR without text.
type Backend interface {
	// Apply replaces the RRsets of a zone in order, and removes an RRset without Data. The result has an error or nil
	// for each. A failure stops no other, and an unchanged RRset is a success.
	Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error
	// Read returns an RRset, without Data if it does not exist.
	Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error)
	Health(ctx context.Context) error
}

// Conditional is a Backend whose conditional writes overwrite no concurrent change.
type Conditional interface {
	Backend
	// ApplyWhere is Apply, with a ChangedError for an RRset that differs from present at the same index.
	ApplyWhere(ctx context.Context, zone name.Name, sets, present []protocol.RRset) []error
}

func ChangedError(set protocol.RRset) *protocol.Error {
	return CoexistError("%s %s: another client changed it at this moment; repeat the request", set.Name, set.Type)
}

func UnknownZoneError(zone name.Name) *protocol.Error {
	return protocol.Refuse(protocol.CodeInvalidDomain, "the zone %s is not here", zone)
}

// CoexistError returns an error about a record that cannot coexist with others. Its status is 409, because a removal of
// the others helps.
func CoexistError(format string, args ...any) *protocol.Error {
	refusal := protocol.Refuse(protocol.CodeInvalidRecord, format, args...)
	refusal.Status = http.StatusConflict
	return refusal
}
