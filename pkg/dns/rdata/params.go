// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"
)

// Service parameters (RFC 9460). The library reads and writes the formats of their values. It does not read the generic
// form of a registered key, "key7=…", which RFC 9460 §2.1 allows and BIND writes for keys that it has no name for.

// cutParams removes the service parameters that the library does not read, or alters, from the fields of an SVCB. It
// returns their octets by key, and the text that is left for the library. The library does not read the generic form of
// a registered key, drops the comma at the end of a list of addresses, and refuses an IPv6 address that holds an IPv4
// one.
func cutParams(fields []token, from source) (rest string, octets map[uint16][]byte, err error) {
	var kept []string
	for _, f := range fields {
		name, value, hasValue := strings.Cut(f.text, "=")
		if hasValue && len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		var key mdns.SVCBKey
		var raw []byte
		switch name {
		case mdns.SVCB_IPV4HINT.String():
			key = mdns.SVCB_IPV4HINT
		case mdns.SVCB_IPV6HINT.String():
			key = mdns.SVCB_IPV6HINT
		case mdns.SVCB_ALPN.String(), mdns.SVCB_MANDATORY.String():
			if cut, comma := strings.CutSuffix(value, ","); comma && from != stored && !endsEscaped(cut) {
				return "", nil, fmt.Errorf("%s ends in a comma; take it away, or name what follows", name)
			}
			kept = append(kept, f.text)
			continue
		default:
			digits, isKey := strings.CutPrefix(name, "key")
			number, numErr := strconv.ParseUint(digits, 10, 16)
			if !isKey || numErr != nil || digits != strconv.FormatUint(number, 10) || mdns.SVCBKey(number).String() == "key"+digits || number == 65535 {
				kept = append(kept, f.text)
				continue
			}
			key, raw = mdns.SVCBKey(number), []byte{}
			for value != "" {
				c, size := unescape(value)
				raw, value = append(raw, c), value[size:]
			}
		}
		if raw == nil {
			if raw, err = appendHints(nil, key, value); err != nil && from == stored {
				kept = append(kept, f.text)
				continue
			} else if err != nil {
				return "", nil, err
			}
		}
		if _, twice := octets[uint16(key)]; twice {
			return "", nil, fmt.Errorf("%s stands twice; write each key once", name)
		}
		if octets == nil {
			octets = map[uint16][]byte{}
		}
		octets[uint16(key)] = raw
	}
	return strings.Join(kept, " "), octets, nil
}

// appendHints appends the addresses of an ipv4hint or ipv6hint (RFC 9460 §7.3).
func appendHints(wire []byte, key mdns.SVCBKey, list string) ([]byte, error) {
	for item := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(item)
		if err != nil || addr.Zone() != "" || addr.Is4() != (key == mdns.SVCB_IPV4HINT) {
			if key == mdns.SVCB_IPV4HINT {
				return nil, fmt.Errorf("ipv4hint has %s, which is no IPv4 address; list addresses with commas between them, as in \"ipv4hint=192.0.2.1,192.0.2.2\"", quote(item))
			}
			return nil, fmt.Errorf("ipv6hint has %s, which is no IPv6 address; list addresses with commas between them, as in \"ipv6hint=2001:db8::1,2001:db8::2\"", quote(item))
		}
		wire = append(wire, addr.AsSlice()...)
	}
	return wire, nil
}

// addParams inserts parameters, octets by key, into SVCB wire rdata, in order.
func addParams(wire []byte, octets map[uint16][]byte) ([]byte, error) {
	d := newDecoder(wire[2:], noMark)
	d.readName(nil)
	head := len(wire) - len(d.rest)
	keys := make([]uint16, 0, len(octets))
	for key := range octets {
		keys = append(keys, key)
	}
	for len(d.rest) > 0 {
		key, value := d.readParam()
		if _, twice := octets[key]; twice {
			return nil, fmt.Errorf("%s stands twice; write each key once", mdns.SVCBKey(key))
		}
		octets[key] = value
		keys = append(keys, key)
	}
	if *d.err != nil {
		return nil, *d.err
	}
	slices.Sort(keys)
	merged := slices.Clone(wire[:head])
	for _, key := range keys {
		merged = binary.BigEndian.AppendUint16(merged, key)
		merged = binary.BigEndian.AppendUint16(merged, uint16(len(octets[key])))
		merged = append(merged, octets[key]...)
	}
	return merged, nil
}

// readParams reads service parameters (RFC 9460 §2.2). The library formats most values. All are written in quotes,
// which some need.
func (d *decoder) readParams(text []byte) []byte {
	last := -1
	for len(d.rest) > 0 {
		start := d.rest
		number, value := d.readParam()
		key := mdns.SVCBKey(number)
		if *d.err != nil {
			return text
		}
		if int(key) <= last {
			d.fail(fmt.Errorf("parameter %s stands twice or not in order (RFC 9460 §2.2); sort the keys by number", key))
			return text
		}
		if last >= 0 {
			text = append(text, ' ')
		}
		last = int(key)
		var written string
		var err error
		if key == mdns.SVCB_IPV4HINT || key == mdns.SVCB_IPV6HINT {
			written, err = formatHints(key, value)
		} else {
			written, err = formatParamByLibrary(start[:4+len(value)])
		}
		if err != nil {
			d.fail(err)
		}
		text = append(text, key.String()...)
		if written != "" {
			text = append(append(append(text, '=', '"'), written...), '"')
		}
	}
	return text
}

// readParam reads the next service parameter.
func (d *decoder) readParam() (key uint16, value []byte) {
	head := d.take(4)
	return binary.BigEndian.Uint16(head), d.take(int(binary.BigEndian.Uint16(head[2:])))
}

// formatHints formats the addresses of an ipv4hint or ipv6hint.
func formatHints(key mdns.SVCBKey, value []byte) (string, error) {
	size := 4
	if key == mdns.SVCB_IPV6HINT {
		size = 16
	}
	if len(value) == 0 || len(value)%size != 0 {
		return "", fmt.Errorf("%s has %d octets, and an address has %d (RFC 9460 §7.3)", key, len(value), size)
	}
	var text []byte
	for ; len(value) > 0; value = value[size:] {
		addr, _ := netip.AddrFromSlice(value[:size])
		if text != nil {
			text = append(text, ',')
		}
		text = addr.AppendTo(text)
	}
	return string(text), nil
}

// formatParamByLibrary formats one parameter, in wire form, by miekg/dns.
func formatParamByLibrary(param []byte) (string, error) {
	alone := append([]byte{0, 1, 0}, param...) // of a record with priority 1 and the root as target
	header := mdns.RR_Header{Name: ".", Rrtype: mdns.TypeSVCB, Class: mdns.ClassINET, Rdlength: uint16(len(alone))}
	rr, _, err := mdns.UnpackRRWithHeader(header, alone, 0)
	if err != nil {
		return "", errors.New(libraryReason(err))
	}
	return rr.(*mdns.SVCB).Value[0].String(), nil
}

// checkParams checks service parameters: which need others (RFC 9460 §2.4.3, §8), and which not every server loads.
func checkParams(wire []byte) error {
	d := newDecoder(wire[2:], noMark)
	d.readName(nil)
	var present [1 << 16 / 64]uint64
	var mandatory []byte
	params := 0
	has := func(key uint16) bool { return present[key/64]&(1<<(key%64)) != 0 }
	if wire[0]|wire[1] == 0 && len(d.rest) > 0 {
		// PowerDNS reads the parameters as the next records of a transfer: a tenant could write names of other tenants.
		return errors.New("priority 0 is the alias form, which has no parameters (RFC 9460 §2.4.2); take them away, or write a priority from 1")
	}
	for len(d.rest) > 0 {
		key, value := d.readParam()
		present[key/64] |= 1 << (key % 64)
		params++
		switch mdns.SVCBKey(key) {
		case mdns.SVCB_MANDATORY, mdns.SVCB_NO_DEFAULT_ALPN, mdns.SVCB_PORT, mdns.SVCB_IPV4HINT, mdns.SVCB_ECHCONFIG, mdns.SVCB_IPV6HINT:
		default:
			// PowerDNS does not read quotes after "=", neither in files nor in its own store, and fails to answer.
			if bytes.ContainsAny(value, "();") {
				return fmt.Errorf("%s with a parenthesis or a semicolon is read by not every server; leave it out", mdns.SVCBKey(key))
			}
		}
		switch mdns.SVCBKey(key) {
		case mdns.SVCB_MANDATORY:
			mandatory = value
		case mdns.SVCB_ALPN:
			if len(value) == 0 {
				return errors.New("alpn without a protocol (RFC 9460 §7.1.1); name one, as in \"alpn=h2\"")
			}
			// PowerDNS loads others and then fails to answer; Knot reads a backslash in a file as two.
			for ids := value; len(ids) > 0 && int(ids[0]) < len(ids); ids = ids[1+int(ids[0]):] {
				if slices.ContainsFunc(ids[1:1+int(ids[0])], func(c byte) bool { return c <= ' ' || c >= 0x7f || c == '"' || c == '\\' }) {
					return errors.New("an alpn with a quote, a backslash, or octets that are no printable characters, is read by not every server; name protocols as IANA registers them, as in \"alpn=h2\"")
				}
				// Knot 3.2 reads both as an empty item of the list, and refuses a zone file with one.
				if ids[0] == 1 && len(ids) > 2 || ids[0] > 0 && ids[1] == ',' {
					return errors.New("in alpn, a protocol of one character before others, or one that begins with a comma, is read by not every server; name protocols as IANA registers them, as in \"alpn=h2\"")
				}
			}
		case mdns.SVCB_ECHCONFIG:
			if len(value) == 0 {
				return errors.New("ech without a configuration is read by not every server; give it, or take ech away")
			}
		case mdns.SVCB_DOHPATH:
			if !isQueryPath(string(value)) {
				return errors.New("dohpath is not a path with the variable dns (RFC 9461 §5); write it as in \"/dns-query{?dns}\"")
			}
		}
	}
	if *d.err != nil {
		return *d.err
	}
	if most := maxFields - 2; params > most { // priority and target count
		return fmt.Errorf("%d parameters, and more than %d are read by not every server: NSD reads no zone file with them; leave some out", params, most)
	}
	if has(uint16(mdns.SVCB_MANDATORY)) && len(mandatory) == 0 {
		return errors.New("mandatory lists nothing (RFC 9460 §8); name keys, or take it away")
	}
	if has(uint16(mdns.SVCB_NO_DEFAULT_ALPN)) && !has(uint16(mdns.SVCB_ALPN)) {
		return errors.New("no-default-alpn without alpn (RFC 9460 §7.1.1); add alpn, or take no-default-alpn away")
	}
	last := -1
	for ; len(mandatory) >= 2; mandatory = mandatory[2:] {
		key := binary.BigEndian.Uint16(mandatory)
		switch {
		case key == uint16(mdns.SVCB_MANDATORY):
			return errors.New("mandatory lists itself (RFC 9460 §8); take it out of the list")
		case int(key) <= last:
			return errors.New("mandatory lists its keys out of order or twice (RFC 9460 §8); list each once")
		case !has(key):
			return fmt.Errorf("mandatory lists %s, which the value does not have (RFC 9460 §8); add it or take it out of the list", mdns.SVCBKey(key))
		}
		last = int(key)
	}
	return nil
}

// isQueryPath reports that path is a URI template (RFC 6570) as RFC 9461 §5 wants it: plain characters and the variable
// dns.
func isQueryPath(path string) bool {
	before, after, ok := strings.Cut(path, "{?dns}")
	if !ok {
		before, after, ok = strings.Cut(path, "{&dns}")
	}
	if !ok || !strings.HasPrefix(before, "/") {
		return false
	}
	for _, c := range before + after {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.ContainsRune("-._~/!$&'()*+,;=:@?", c):
		default:
			return false
		}
	}
	return true
}
