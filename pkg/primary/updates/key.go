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

// Handler decides UPDATEs (controller/updatekey.Poster). It must be safe for concurrent use.
type Handler interface {
	// Update returns the RCODE of a message; 0 means that all changes are stored. A message without updates is a probe
	// of the key's rights: REFUSED or NOTAUTH, unless the zone has rules for the key's tenant, also for the name of a
	// prerequisite.
	Update(ctx context.Context, key *Key, m *update.Message, from netip.Addr) (rcode uint16)
	// Share returns the RRsets that updates made for the key's tenant, at the names that the key covers.
	Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error)
}

type Transfer int

const (
	TransferNone Transfer = iota
	// TransferOwn allows the RRsets of Handler.Share, TransferZone the whole zone.
	TransferOwn
	TransferZone
)

type Key struct {
	tsig.Key
	ID string
	// Tenant is the namespace that writes with the key, View the view of its zones. ID names the key in logs.
	Tenant, View string
	// Covers reports whether the key may write at a name, Reaches whether it may at any name of a zone.
	Covers   func(fqdn name.Name) bool
	Reaches  func(zone name.Name) bool
	Transfer Transfer
}
