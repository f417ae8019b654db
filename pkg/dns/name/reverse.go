// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package name

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Reverse returns the name for PTR Records of a prefix, cut to whole octets or IPv6 digits: 2.0.192.in-addr.arpa. for
// 192.0.2.0/28 (RFC 1035 §3.5, RFC 3596 §2.5).
func Reverse(prefix netip.Prefix) Name {
	var labels []string
	end := "in-addr.arpa."
	for _, octet := range prefix.Addr().AsSlice() {
		if prefix.Addr().Is4() {
			labels = append(labels, strconv.Itoa(int(octet)))
			continue
		}
		end = "ip6.arpa."
		// An octet has two hexadecimal digits, the upper four bits first.
		labels = append(labels, fmt.Sprintf("%x", octet>>4), fmt.Sprintf("%x", octet&0xf))
	}
	labels = labels[:prefix.Bits()*len(labels)/prefix.Addr().BitLen()]
	slices.Reverse(labels)
	reverse, _ := Parse(strings.Join(append(labels, end), ".")) // always valid
	return reverse
}

// ReverseAddr returns the name for PTR Records of an address.
func ReverseAddr(address netip.Addr) Name {
	return Reverse(netip.PrefixFrom(address, address.BitLen()))
}
