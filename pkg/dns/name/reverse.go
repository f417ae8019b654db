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

// ReverseIn returns the owner in a reverse zone of the PTR Records at full (ReverseAddr), or false for an address
// outside:
//
//   - 7 in 2.0.192.in-addr.arpa. for 192.0.2.7
//   - 7 in 0/28.2.0.192.in-addr.arpa. or 0-15.2.0.192.in-addr.arpa. (RFC 2317 §4)
func ReverseIn(full, zone Name) (Rel, bool) {
	if owner, ok := full.Rel(zone); ok {
		return owner, true
	}
	network, _ := zone.Parent()
	if inNetwork, _ := full.Parent(); network != inNetwork {
		return Rel{}, false
	}
	label, _, _ := strings.Cut(full.String(), ".")
	octet, err := parseOctet(label)
	first, last, ok := parseClassless(zone)
	return Rel{label}, ok && err == nil && octet >= first && octet <= last
}

// IsReverse reports whether a zone can have the PTR Records of addresses.
func IsReverse(zone Name) bool {
	labels := zone.Labels()
	n := len(labels) - 2
	switch {
	case n < 0 || labels[n+1] != "arpa":
		return false
	case labels[n] == "ip6":
		isDigit := func(l string) bool { return len(l) == 1 && strings.Contains("0123456789abcdef", l) }
		return n <= 32 && !slices.ContainsFunc(labels[:n], func(l string) bool { return !isDigit(l) })
	case labels[n] != "in-addr":
		return false
	}
	if _, _, ok := parseClassless(zone); ok {
		return true
	}
	return n <= 4 && !slices.ContainsFunc(labels[:n], func(l string) bool { _, err := parseOctet(l); return err != nil })
}

// parseClassless returns the first and last octet of a zone below a network of 256 addresses, such as 0/28 or 0-15.
func parseClassless(zone Name) (first, last uint8, ok bool) {
	labels := zone.Labels()
	if len(labels) != 6 || labels[4] != "in-addr" || labels[5] != "arpa" ||
		slices.ContainsFunc(labels[1:4], func(l string) bool { _, err := parseOctet(l); return err != nil }) {
		return 0, 0, false
	}
	if from, to, isRange := strings.Cut(labels[0], "-"); isRange {
		first, err := parseOctet(from)
		last, err1 := parseOctet(to)
		return first, last, err == nil && err1 == nil && first <= last
	}
	from, length, _ := strings.Cut(labels[0], "/")
	first, err := parseOctet(from)
	bits, err1 := parseOctet(length)
	if err != nil || err1 != nil || bits < 25 || bits > 32 {
		return 0, 0, false
	}
	hosts := uint8(1<<(32-bits) - 1)
	return first, first | hosts, first&hosts == 0
}

// parseOctet refuses leading zeros, since 07 is another label than 7.
func parseOctet(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err == nil && strconv.FormatUint(n, 10) != text {
		err = strconv.ErrSyntax
	}
	return uint8(n), err
}
