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

// Handler carries out the changes of keys (RFC 2136). Its methods are called from many goroutines at once.
type Handler interface {
	// Update carries out a message and returns the RCODE of its answer: 0 where the zone has all its changes. A message
	// without updates asks whether the zone has rules for the key's tenant, and with a prerequisite whether the tenant
	// may write its name: REFUSED or NOTAUTH where not.
	Update(ctx context.Context, key *Key, m *update.Message, from netip.Addr) (rcode uint16)
	// Share returns the RRsets that updates made in a zone for the key's tenant and that the key may write. An error:
	// they are not known.
	Share(ctx context.Context, key *Key, zone name.Name) ([]content.RRset, error)
}

// Transfer is the part of a zone that a key may transfer.
type Transfer int

const (
	// TransferNone is nothing.
	TransferNone Transfer = iota
	// TransferOwn is the result of Handler.Share, between the zone's SOA.
	TransferOwn
	// TransferZone is each zone of the tenant itself.
	TransferZone
)

// Key is a TSIG key with which updates are sent.
type Key struct {
	tsig.Key
	// ID tells keys apart for the Handler.
	ID string
	// Tenant is the namespace for which it writes, View the view of its zones.
	Tenant, View string
	// Covers reports whether the key may write some type at a name.
	Covers func(fqdn name.Name) bool
	// Reaches reports whether some name that the key may write lies in a zone of that name.
	Reaches  func(zone name.Name) bool
	Transfer Transfer
}
