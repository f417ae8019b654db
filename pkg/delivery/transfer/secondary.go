// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"fmt"
	"net/netip"
	"strings"

	"kubi.zone/kubizone/pkg/transfer"
)

type Secondary struct {
	Name string
	Addr netip.AddrPort
	// Key signs questions and answers; nil means unsigned.
	Key       *transfer.Key
	NoCatalog bool
	// Signs is true if the secondary signs the zone, with its own serials. Signer is the name of the secondary that
	// sends it the signed zone; "" if Kubizone's primaries send it the zone.
	Signs  bool
	Signer string
	// Unsigned is true if the secondary may also transfer from our primaries, while a signer begins to sign the zone.
	Unsigned bool
}

func (s Secondary) ownSerials() bool { return s.Signs || s.Signer != "" }

// ParseAddress parses "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53" or "2001:db8::1". The default port is 53.
func ParseAddress(text string) (netip.AddrPort, error) {
	if at, err := netip.ParseAddrPort(text); err == nil && at.Port() != 0 {
		return at, nil
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("address %q: write an IP address with or without a port, like 192.0.2.1, "+
			"192.0.2.1:5353 or [2001:db8::1]:53", text)
	}
	return netip.AddrPortFrom(addr, 53), nil
}
