// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"net/netip"

	"kubi.zone/kubizone/pkg/transfer"
)

type Secondary struct {
	Name string
	Addr netip.AddrPort
	// Key signs questions and answers; nil means unsigned.
	Key       *transfer.Key
	NoCatalog bool
	// Signs is true if the secondary signs the zone, with its own serials. Signer names the source of the signed zone;
	// "" for Kubizone's primaries.
	Signs  bool
	Signer string
	// Unsigned is true if the secondary may also transfer from our primaries, while a signer begins to sign the zone.
	Unsigned bool
}

func (s Secondary) ownSerials() bool { return s.Signs || s.Signer != "" }
