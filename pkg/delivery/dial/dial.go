// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// patience bounds one connection attempt: what takes longer is no server to wait for.
const patience = 10 * time.Second

// LocalAddressError: a name or an address of a class leads to where only the class's own leave leads.
type LocalAddressError struct {
	Address netip.Addr
	// Kind is "a loopback", "a link-local", "a metadata" and the like, for a sentence.
	Kind string
}

func (e *LocalAddressError) Error() string {
	return fmt.Sprintf("%s is %s address; classes reach such ones only with spec.allowLocalAddresses: true", e.Address, e.Kind)
}

// New is a dialer for TCP and UDP. With allowLocal it connects anywhere.
func New(allowLocal bool) *net.Dialer {
	dialer := &net.Dialer{Timeout: patience, KeepAlive: 30 * time.Second}
	if !allowLocal {
		// Control is called with the address that the kernel is about to be given, after the resolver and for each of
		// its answers: the one place that a decimal address, a rebinding name and an alias of localhost cannot pass.
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			target, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address %q: %w", address, err)
			}
			return Check(target.Addr())
		}
	}
	return dialer
}

// AsLocal is the refusal in err, if that is why a connection failed.
func AsLocal(err error) (*LocalAddressError, bool) {
	var local *LocalAddressError
	return local, errors.As(err, &local)
}

// metadata are addresses, beside the link-local ones, at which a cloud tells a machine its credentials.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
}

// carriers are IPv6 networks whose addresses stand for an IPv4 address, and where in the 16 octets it begins.
var carriers = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64, RFC 6052
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4, RFC 3056
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12},
}

var thisNetwork = netip.MustParsePrefix("0.0.0.0/8")

// Check refuses loopback, link-local, metadata, unspecified and multicast addresses with a *LocalAddressError.
func Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	if kind := kindOf(plain); kind != "" {
		return &LocalAddressError{Address: address, Kind: kind}
	}
	if !plain.Is6() {
		return nil
	}
	octets := plain.As16()
	for _, c := range carriers {
		if c.network.Contains(plain) {
			if kind := kindOf(netip.AddrFrom4([4]byte(octets[c.at : c.at+4]))); kind != "" {
				return &LocalAddressError{Address: address, Kind: kind}
			}
		}
	}
	return nil
}

func kindOf(a netip.Addr) string {
	for _, m := range metadata {
		if a == m {
			return "a metadata"
		}
	}
	switch {
	case a.IsLoopback():
		return "a loopback"
	case a.IsLinkLocalUnicast():
		return "a link-local"
	case a.IsUnspecified(), a.Is4() && thisNetwork.Contains(a):
		return "an unspecified" // which connects to this machine
	case a.IsMulticast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return "a multicast"
	}
	return ""
}
