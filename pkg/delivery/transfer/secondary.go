// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"crypto/tls"
	"net/netip"

	"kubi.zone/kubizone/pkg/dns/transfer"
)

type Secondary struct {
	Name string
	Addr netip.AddrPort
	// Key signs questions and answers; nil means unsigned.
	Key       *transfer.Key
	NoCatalog bool
	// Signs is true if the secondary signs the zone, under serials of its own. Signer names the secondary from which it
	// transfers the signed zone; "" means Kubizone's primaries.
	Signs  bool
	Signer string
	// Unsigned is true if the secondary may also transfer from our primaries, until its signer signs the zone.
	Unsigned bool
	// TLS, if not nil, is for questions over TLS at TLSAddr. InClear is true if zones may go over TLS alone, and the
	// secondary answers in clear: it is asked for serials, and never for content.
	TLS     *tls.Config
	TLSAddr netip.AddrPort
	InClear bool
}

func (s Secondary) ownSerials() bool { return s.Signs || s.Signer != "" }
