// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"net/netip"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/update"
)

// Handler makes the changes of keys (RFC 2136). It must be safe for concurrent use.
type Handler interface {
	// Update applies a message and returns the RCODE, 0 if the zone has all changes. A message without updates asks
	// whether the zone has rules for the key's tenant, and with a prerequisite, whether the tenant may write that name.
	// If not, the RCODE is REFUSED or NOTAUTH.
	Update(ctx context.Context, key *Key, m *update.Message, from netip.Addr) (rcode uint16)
	// Share returns the RRsets made by updates for the key's tenant and covered by the key.
	Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error)
}

// Transfer is the part of a zone allowed to a key.
type Transfer int

const (
	TransferNone Transfer = iota
	// TransferOwn allows the RRsets of Handler.Share, between the zone's SOAs.
	TransferOwn
	// TransferZone allows the whole of the tenant's own zones.
	TransferZone
)

// Key is a TSIG key of updates.
type Key struct {
	tsig.Key
	// ID is for the Handler.
	ID string
	// Tenant is the namespace for which the key writes, View its zones' view.
	Tenant, View string
	Covers       func(fqdn name.Name) bool
	// Reaches reports whether the key may write any name in a zone.
	Reaches  func(zone name.Name) bool
	Transfer Transfer
}
