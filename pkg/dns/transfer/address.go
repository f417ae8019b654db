// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

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

// AddPort returns server with the port 53 if it has no port.
func AddPort(server string) string {
	if _, _, err := net.SplitHostPort(server); err == nil {
		return server
	}
	return net.JoinHostPort(strings.Trim(server, "[]"), "53")
}
