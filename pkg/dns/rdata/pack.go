// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Packer packs the values of one zone, as Value.Pack does for one. The origin is packed once, and types of plain fields
// are packed without resolving their text first. It is immutable.
type Packer struct {
	origin name.Name
	top    []byte // wire form of origin, empty for the zero Name
}

// NewPacker makes the packer of a zone named origin. The zero Name is enough for values without relative names.
func NewPacker(origin name.Name) *Packer {
	p := &Packer{origin: origin}
	if !origin.IsZero() {
		p.top = AppendName(make([]byte, 0, origin.WireLen()), origin)
	}
	return p
}

// AppendName appends the uncompressed wire form of n (RFC 1035 §3.1); n is not
// the zero Name.
func AppendName(wire []byte, n name.Name) []byte {
	text := n.String()
	if text != "." {
		wire = appendLabels(wire, text[:len(text)-1])
	}
	return append(wire, 0)
}

// AppendLabels appends the wire form of the labels of owner, none for the apex. The zone's name is not among them.
func AppendLabels(wire []byte, owner name.Rel) []byte {
	if owner.IsApex() {
		return wire
	}
	return appendLabels(wire, owner.String())
}

// appendLabels: names of this type have no escapes (S1.3).
func appendLabels(wire []byte, text string) []byte {
	for {
		dot := strings.IndexByte(text, '.')
		if dot < 0 {
			return append(append(wire, byte(len(text))), text...)
		}
		wire = append(append(wire, byte(dot)), text[:dot]...)
		text = text[dot+1:]
	}
}

// Append appends the canonical, uncompressed wire form (RFC 4034 §6.2) of v. On
// an error wire is as it was; the octets behind its end may have changed.
func (p *Packer) Append(wire []byte, v Value) ([]byte, error) {
	if v.Type == A {
		if four, ok := parseIPv4(v.Text); ok {
			return append(wire, four[:]...), nil
		}
	}
	packed, err := p.appendValue(wire, v)
	if err != nil {
		return wire, fmt.Errorf("%s rdata %s: %w", v.Type, quote(v.Text), err)
	}
	return packed, nil
}

func (p *Packer) appendValue(wire []byte, v Value) ([]byte, error) {
	plan, text := planOf(v.Type), v.Text
	if (v.Type == HTTPS || v.Type == SVCB) && len(p.top) > 0 {
		if packed, ok := p.appendService(wire, plan, text); ok {
			return packed, nil
		}
	}
	plain := plan.simple && !strings.HasPrefix(text, `\#`) && (!v.Type.isText() || strings.HasPrefix(text, `"`))
	if !plain || plan.hasNames() && len(p.top) == 0 {
		var err error
		if text, err = v.resolveNames(p.origin); err != nil {
			return nil, err
		}
	}
	if !plain {
		packed, _, err := encodeText(v.Type, text, oneValue, wire)
		return packed, err
	}
	var space [16]token
	fields, err := splitFields(v.Type, plan, text, oneValue, space[:0])
	if err != nil {
		return nil, err
	}
	// The library is not needed: canonical text has no mnemonics.
	return encodeFields(v.Type, plan, fields, p.top, wire)
}

// appendService appends an SVCB or HTTPS value (RFC 9460 §2.2), which the library would read as a zone file for each.
// Canonical text has its keys in order and its values in quotes. Values with escapes are left to the library.
func (p *Packer) appendService(wire []byte, plan *plan, text string) ([]byte, bool) {
	var space [16]token
	fields, err := splitText(text, syntaxOf(plan), space[:0])
	if err != nil || len(fields) < 2 || strings.Contains(text, `\#`) {
		return nil, false
	}
	priority, err := parseUint(fields[0], 16)
	if err != nil {
		return nil, false
	}
	if wire, err = appendName(binary.BigEndian.AppendUint16(wire, uint16(priority)), fields[1].text, p.top); err != nil {
		return nil, false
	}
	last := -1
	for _, f := range fields[2:] {
		keyText, value, hasValue := strings.Cut(f.text, "=")
		key, ok := paramKey(keyText)
		if !ok || int(key) <= last || strings.IndexByte(value, '\\') >= 0 {
			return nil, false
		}
		last = int(key)
		if hasValue {
			if len(value) < 3 || value[0] != '"' || value[len(value)-1] != '"' {
				return nil, false
			}
			value = value[1 : len(value)-1]
		}
		wire = append(binary.BigEndian.AppendUint16(wire, key), 0, 0)
		start := len(wire)
		if wire, ok = appendParam(wire, mdns.SVCBKey(key), value); !ok || len(wire)-start > 65535 {
			return nil, false
		}
		binary.BigEndian.PutUint16(wire[start-2:], uint16(len(wire)-start))
	}
	return wire, true
}

// paramKey reads the canonical spelling of a key.
func paramKey(text string) (uint16, bool) {
	if key, ok := paramKeys[text]; ok {
		return key, true
	}
	digits, ok := strings.CutPrefix(text, "key")
	key, err := strconv.ParseUint(digits, 10, 16)
	return uint16(key), ok && err == nil && mdns.SVCBKey(key).String() == text
}

// The keys whose values appendParam reads; read only.
var paramKeys = func() map[string]uint16 {
	keys := map[string]uint16{}
	for _, key := range []mdns.SVCBKey{mdns.SVCB_MANDATORY, mdns.SVCB_ALPN, mdns.SVCB_NO_DEFAULT_ALPN, mdns.SVCB_PORT, mdns.SVCB_IPV4HINT, mdns.SVCB_ECHCONFIG, mdns.SVCB_IPV6HINT} {
		keys[key.String()] = uint16(key)
	}
	return keys
}()

// appendParam appends the value of a parameter. It returns false for values that are left to the library.
func appendParam(wire []byte, key mdns.SVCBKey, value string) ([]byte, bool) {
	switch key {
	case mdns.SVCB_NO_DEFAULT_ALPN:
		return wire, value == ""
	case mdns.SVCB_PORT:
		port, err := strconv.ParseUint(value, 10, 16)
		return binary.BigEndian.AppendUint16(wire, uint16(port)), err == nil
	case mdns.SVCB_ECHCONFIG:
		wire, err := base64.StdEncoding.AppendDecode(wire, []byte(value))
		return wire, err == nil && value != ""
	case mdns.SVCB_MANDATORY, mdns.SVCB_ALPN, mdns.SVCB_IPV4HINT, mdns.SVCB_IPV6HINT:
	default:
		return nil, false
	}
	last := -1
	for more := true; more; {
		var item string
		item, value, more = strings.Cut(value, ",")
		switch key {
		case mdns.SVCB_MANDATORY:
			named, ok := paramKey(item)
			if !ok || int(named) <= last {
				return nil, false
			}
			last = int(named)
			wire = binary.BigEndian.AppendUint16(wire, named)
		case mdns.SVCB_ALPN:
			if item == "" || len(item) > 255 {
				return nil, false
			}
			wire = append(append(wire, byte(len(item))), item...)
		default:
			var err error
			if wire, err = appendHints(wire, key, item); err != nil {
				return nil, false
			}
		}
	}
	return wire, true
}

// parseIPv4 reads four decimal numbers without leading zeros. Other text is left to netip.
func parseIPv4(text string) (four [4]byte, ok bool) {
	at, number, digits := 0, 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case isDigit(c) && (digits == 0 || number > 0) && digits < 3:
			number = number*10 + int(c-'0')
			digits++
		case c == '.' && digits > 0 && number <= 255 && at < 3:
			four[at] = byte(number)
			at, number, digits = at+1, 0, 0
		default:
			return four, false
		}
	}
	if at != 3 || digits == 0 || number > 255 {
		return four, false
	}
	four[3] = byte(number)
	return four, true
}
