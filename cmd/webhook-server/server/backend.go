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

// Backend keeps records. It is used by any number of goroutines. An error that is a *protocol.Error is answered as it
// is; any other one is logged, and answered as SERVER_ERROR without its text.
type Backend interface {
	// Apply replaces the RRsets of a zone, or removes those without Data, in this order. The result has an error, or
	// nil, for each. One that fails stops no other. An RRset that is already so is success.
	Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error
	// Read returns an RRset, without Data where there is none.
	Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error)
	// Health says why the Backend cannot work now.
	Health(ctx context.Context) error
}

// Conditional is a Backend that can replace RRsets where they stand as they did when they were read. With it a Shared
// loses no change that another client made to the same names after it looked.
type Conditional interface {
	Backend
	// ApplyWhere is Apply, but fails with Changed for an RRset whose values are not those of present, one for each set.
	ApplyWhere(ctx context.Context, zone name.Name, sets, present []protocol.RRset) []error
}

// Changed is the error for an RRset that another client changed meanwhile: the next request is judged anew.
func Changed(set protocol.RRset) *protocol.Error {
	return Beside("%s %s: another client changed it at this moment; the next request is judged anew", set.Name, set.Type)
}

// UnknownZone is the error for a zone that a Backend does not have.
func UnknownZone(zone name.Name) *protocol.Error {
	return protocol.Refuse(protocol.CodeInvalidDomain, "the zone %s is not here", zone)
}

// Beside is the error for a record that cannot stand where others do. It is not the record's fault alone, so it is
// answered as a conflict: once the others are gone, the same request succeeds.
func Beside(format string, args ...any) *protocol.Error {
	refusal := protocol.Refuse(protocol.CodeInvalidRecord, format, args...)
	refusal.Status = http.StatusConflict
	return refusal
}
