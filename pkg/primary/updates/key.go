// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"context"
	"net/netip"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

// Handler applies DNS UPDATE messages (RFC 2136); controller/updatekey.Poster posts them to the API server. Methods may
// be called concurrently.
type Handler interface {
	// Update stores the changes of a message signed by key, and returns the RCODE for the answer. 0 means that all
	// changes are stored. A message without updates, as RFC 2136 allows, tests rights. The answer is then NOTAUTH if
	// the zone is absent or has no rules for the key's tenant, and REFUSED if the key does not cover the name of a
	// prerequisite.
	Update(ctx context.Context, key *Key, m *update.Message, from netip.Addr) (rcode uint16)
	// Share returns the RRsets in a zone that updates made for the key's tenant, at names covered by the key.
	Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error)
}

type Transfer int

const (
	TransferNone Transfer = iota
	// TransferOwn allows a transfer of the RRsets of Handler.Share, and TransferZone of the whole zone.
	TransferOwn
	TransferZone
)

type Key struct {
	tsig.Key
	ID string
	// Tenant is the namespace that writes with the key, and View the view of its zones.
	Tenant, View string
	// Covers reports whether the key may write at a name, and Reaches whether it may write at some name in a zone.
	Covers   func(fqdn name.Name) bool
	Reaches  func(zone name.Name) bool
	Transfer Transfer
}
