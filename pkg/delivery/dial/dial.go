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

const dialTimeout = 10 * time.Second

type LocalAddressError struct {
	Address netip.Addr
	// Kind is "a loopback", "a link-local", "a metadata" and the like.
	Kind string
}

func (e *LocalAddressError) Error() string {
	return fmt.Sprintf("%s is %s address; a class connects to it only with spec.allowLocalAddresses: true", e.Address, e.Kind)
}

// New returns a dialer for servers of a class. Unless allowLocal, a connection to an address that Check refuses fails
// before a packet is sent.
func New(allowLocal bool) *net.Dialer {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	if !allowLocal {
		// Control sees each address just before the connection, after the resolver: DNS cannot answer otherwise in
		// between.
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

func AsLocal(err error) (*LocalAddressError, bool) {
	var local *LocalAddressError
	return local, errors.As(err, &local)
}

// locals are the networks that classes may not use by default. Private networks, such as 10.0.0.0/8, may be used: name
// servers often have such addresses.
var locals = []struct {
	network netip.Prefix
	kind    string
}{
	{netip.MustParsePrefix("fd20:ce::254/128"), "a metadata"},   // Google Cloud
	{netip.MustParsePrefix("100.100.100.200/32"), "a metadata"}, // Alibaba Cloud
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata"},   // Azure
	{netip.MustParsePrefix("192.0.0.192/32"), "a metadata"},     // Oracle Cloud
	// Amazon: fd00:ec2::254, fd00:ec2::23 (credentials of pods), and future addresses.
	{netip.MustParsePrefix("fd00:ec2::/32"), "a metadata"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback"},
	{netip.MustParsePrefix("::1/128"), "a loopback"},
	// 169.254.169.254, the metadata service of most clouds, is among these.
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local"},
	{netip.MustParsePrefix("0.0.0.0/8"), unspecified},
	{netip.MustParsePrefix("::/128"), unspecified},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "a multicast"},
}

// unspecified addresses connect to this machine.
const unspecified = "an unspecified"

// carriers are IPv6 networks whose addresses contain an IPv4 address; positions are those of its octets.
var carriers = []struct {
	network   netip.Prefix
	positions [4]int
	mask      byte // with which each octet is XORed
}{
	{netip.MustParsePrefix("64:ff9b::/96"), [4]int{12, 13, 14, 15}, 0}, // NAT64, RFC 6052
	// NAT64 with a local prefix (RFC 8215). Octet 8 is skipped (RFC 6052 §2.2).
	{rfc8215, [4]int{6, 7, 9, 10}, 0},
	{rfc8215, [4]int{7, 9, 10, 11}, 0},
	{rfc8215, [4]int{9, 10, 11, 12}, 0},
	{rfc8215, [4]int{12, 13, 14, 15}, 0},
	{netip.MustParsePrefix("2002::/16"), [4]int{2, 3, 4, 5}, 0},        // 6to4, RFC 3056
	{netip.MustParsePrefix("2001::/32"), [4]int{4, 5, 6, 7}, 0},        // Teredo, RFC 4380: the server
	{netip.MustParsePrefix("2001::/32"), [4]int{12, 13, 14, 15}, 0xff}, // and the client, inverted
	{netip.MustParsePrefix("::/96"), [4]int{12, 13, 14, 15}, 0},        // IPv4-compatible, RFC 4291
	{netip.MustParsePrefix("::ffff:0:0:0/96"), [4]int{12, 13, 14, 15}, 0},
}

// Check returns a *LocalAddressError for an address that classes may not use by default: loopback, link-local,
// site-local, cloud metadata, unspecified or multicast, also if embedded in an IPv6 address. For other addresses it
// returns nil.
func Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	kind := kindOf(plain)
	// 64:ff9b::7f00:1 is 127.0.0.1 behind NAT64.
	if kind == "" && plain.Is6() {
		kind = kindOfEmbedded(plain)
	}
	if kind == "" {
		return nil
	}
	return &LocalAddressError{Address: address, Kind: kind}
}

// kindOfEmbedded returns the kind of an IPv4 address inside an IPv6 address, by each layout that its prefix may have;
// "" if none is local.
func kindOfEmbedded(address netip.Addr) string {
	octets := address.As16()
	for _, c := range carriers {
		if !c.network.Contains(address) {
			continue
		}
		var carried [4]byte
		for i, position := range c.positions {
			carried[i] = octets[position] ^ c.mask
		}
		if kind := carriedKind(netip.AddrFrom4(carried), c.network); kind != "" {
			return kind
		}
	}

	// ISATAP (RFC 5214 §6.1), under any prefix.
	if [4]byte{octets[8] &^ 2, octets[9], octets[10], octets[11]} == [4]byte{0, 0, 0x5e, 0xfe} {
		return kindOf(netip.AddrFrom4([4]byte(octets[12:])))
	}
	return ""
}

// carriedKind ignores 0.0.0.0/8 in rfc8215, where wrong layouts read zeros.
func carriedKind(carried netip.Addr, network netip.Prefix) string {
	kind := kindOf(carried)
	if kind == unspecified && network == rfc8215 {
		return ""
	}
	return kind
}

var rfc8215 = netip.MustParsePrefix("64:ff9b:1::/48")

// kindOf returns the kind of a local address for an error's text, or "" for an address that classes may use.
func kindOf(a netip.Addr) string {
	for _, local := range locals {
		if local.network.Contains(a) {
			return local.kind
		}
	}
	return ""
}
