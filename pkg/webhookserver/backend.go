// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

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
	// nil, for each. One that fails stops no other. What is already so is success.
	Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error
	// Read returns an RRset, without Data where there is none.
	Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error)
	// Health says why the Backend cannot work now.
	Health(ctx context.Context) error
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
