// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// noMark is the mark of a wire form without relative names.
const noMark = 0

// chooseMark chooses a control character, the mark, that does not occur in text. In wire form, a label with this
// character ends each relative name: with the mark \001, "mail" becomes "mail.\001.". The result top is the wire form
// of this label.
func chooseMark(f *format, text string) (top [3]byte, mark byte, err error) {
	if !f.hasNames() {
		return top, noMark, nil
	}
	hasEscapes := strings.IndexByte(text, '\\') >= 0
	for mark = byte(1); mark < ' '; mark++ {
		occurs := strings.IndexByte(text, mark) >= 0
		occursEscaped := hasEscapes && strings.Contains(text, string(appendDDD(nil, mark)))
		if !occurs && !occursEscaped {
			return [3]byte{1, mark, 0}, mark, nil
		}
	}
	return top, noMark, errors.New("the names in the value use every control character there is; remove one")
}

// appendStrings appends text as character-strings of at most 255 octets. An empty text is an empty string.
func appendStrings(wire []byte, text string) []byte {
	for {
		at := len(wire)
		wire = append(wire, 0)
		n := 0
		for ; n < 255 && text != ""; n++ {
			c, size := unescape(text)
			wire = append(wire, c)
			text = text[size:]
		}
		wire[at] = byte(n)
		if text == "" {
			return wire
		}
	}
}

func appendOctets(wire []byte, text string) []byte {
	for text != "" {
		c, size := unescape(text)
		wire = append(wire, c)
		text = text[size:]
	}
	return wire
}

func appendOneString(wire []byte, text string) ([]byte, error) {
	start := len(wire)
	if wire = appendStrings(wire, text); len(wire)-start > 256 {
		return nil, fmt.Errorf("string %s is %d octets or longer, the limit is 255 (RFC 1035 §3.3); shorten it", quote(text), 256)
	}
	return wire, nil
}

func checkTag(text string) error {
	ok := text != ""
	for i := 0; i < len(text); i++ {
		c := text[i] | 0x20
		ok = ok && (isDigit(text[i]) || 'a' <= c && c <= 'z')
	}
	if !ok {
		return fmt.Errorf("%s is not %s", quote(text), kindWords[kindTag])
	}
	return nil
}

func parseUint(field token, bits int) (uint64, error) {
	value, err := strconv.ParseUint(field.text, 10, bits)
	if err != nil || field.quoted {
		return 0, fmt.Errorf("%s is not a number from 0 to %d", quote(field.text), uint64(1)<<bits-1)
	}
	return value, nil
}

func parseMnemonic(field token, names map[string]uint16, bits int) (uint64, error) {
	value, err := parseUint(field, bits)
	if number, ok := names[upperASCII(field.text)]; err != nil && ok && !field.quoted {
		return uint64(number), nil
	}
	return value, err
}

// Mnemonics of IANA and BIND.
var (
	algorithmNames = map[string]uint16{
		"RSAMD5": 1, "DH": 2, "DSA": 3, "RSASHA1": 5, "DSA-NSEC3-SHA1": 6, "NSEC3DSA": 6, "RSASHA1-NSEC3-SHA1": 7, "NSEC3RSASHA1": 7,
		"RSASHA256": 8, "RSASHA512": 10, "ECC-GOST": 12, "ECCGOST": 12, "ECDSAP256SHA256": 13,
		"ECDSAP384SHA384": 14, "ED25519": 15, "ED448": 16, "INDIRECT": 252, "PRIVATEDNS": 253, "PRIVATEOID": 254,
	}
	certificateNames = map[string]uint16{
		"PKIX": 1, "SPKI": 2, "PGP": 3, "IPKIX": 4, "IPIX": 4, "ISPKI": 5, "IPGP": 6, "ACPKIX": 7, "IACPKIX": 8, "URI": 253, "OID": 254,
	}
)

// ParseSeconds parses a number of seconds, or numbers with the units w, d, h, m and s, such as "1h30m" for 5400. Like
// BIND and Knot, it rejects "1h30", whose last number has no unit.
func ParseSeconds(text string) (uint32, error) {
	seconds, ok := addSeconds(text)
	if !ok {
		return 0, fmt.Errorf("%s is not a time of 0 to 4294967295 seconds; write seconds, or units as in \"1h30m\"", quote(text))
	}
	return seconds, nil
}

func addSeconds(text string) (seconds uint32, ok bool) {
	var total, number uint64
	hasDigits, hasUnit := false, false
	for _, c := range []byte(text) {
		if isDigit(c) {
			number, hasDigits = number*10+uint64(c-'0'), true
		} else {
			unit := secondsOf[c|0x20]
			if unit == 0 || !hasDigits {
				return 0, false
			}
			total, number, hasDigits, hasUnit = total+number*unit, 0, false, true
		}
		// Checked at each character, so no product overflows 64 bits.
		if number > math.MaxUint32 || total > math.MaxUint32 {
			return 0, false
		}
	}
	if hasUnit == hasDigits { // "" or "1h30"
		return 0, false
	}
	total += number
	return uint32(total), total <= math.MaxUint32
}

var secondsOf = map[byte]uint64{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 604800}

// appendTypes appends the bit map of types (RFC 4034 §4.1.2), in any order and also given twice.
func appendTypes(wire []byte, fields []token) ([]byte, error) {
	types := make([]Type, 0, 16)
	for _, f := range fields {
		t, err := ParseType(f.text)
		if err != nil || f.quoted {
			return nil, fmt.Errorf("%s is not an RR type; write mnemonics or \"TYPE\" and a number", quote(f.text))
		}
		types = append(types, t)
	}
	slices.Sort(types)
	for len(types) > 0 {
		window := types[0] >> 8
		var bits [32]byte
		last := 0
		// All types of a window, 256 numbers, are in a block.
		for len(types) > 0 && types[0]>>8 == window {
			low := int(types[0] & 0xff)
			last = low / 8
			bits[last] |= 0x80 >> (low % 8)
			types = types[1:]
		}
		wire = append(wire, byte(window), byte(last+1))
		wire = append(wire, bits[:last+1]...)
	}
	return wire, nil
}

var errNoOrigin = fmt.Errorf("a name is relative and %w; end it in a dot", name.ErrNoOrigin)

// appendName appends the wire form of a name, in lower case. A relative name is completed by top, the wire form of the
// zone's name or a mark. Without top, a relative name is an error.
func appendName(wire []byte, text string, top []byte) ([]byte, error) {
	start := len(wire)
	switch text {
	case ".":
		return append(wire, 0), nil
	case "@":
		if len(top) == 0 {
			return nil, errNoOrigin
		}
		return append(wire, top...), nil
	}
	relative := true
	for i := 0; i < len(text); {
		// Write the label behind an octet for its length.
		length := len(wire)
		wire = append(wire, 0)
		relative = true
		for i < len(text) {
			if text[i] == '.' {
				relative = false
				i++
				break
			}
			c, size := unescape(text[i:])
			wire = append(wire, toLower(c))
			i += size
		}
		n := len(wire) - length - 1
		if n == 0 {
			return nil, fmt.Errorf("name %s has an empty label; write one dot between labels and none in front", quote(text))
		}
		if n > 63 {
			return nil, fmt.Errorf("name %s has a label of %d octets, the limit is 63 (RFC 1035 §2.3.4); shorten it", quote(text), n)
		}
		wire[length] = byte(n)
	}
	if text == "" {
		return nil, errors.New("a name is empty; write \".\" for the root or \"@\" for the zone itself")
	}
	n := len(wire) - start
	if relative {
		if len(top) == 0 {
			return nil, errNoOrigin
		}
		wire = append(wire, top...)
	} else {
		wire = append(wire, 0)
	}
	// With a mark, check the length as in the root, the shortest zone.
	if n++; relative && !isMark(top) {
		n += len(top) - 1
	}
	if n > 255 {
		return nil, fmt.Errorf("name %s is longer than 255 octets on the wire (RFC 1035 §2.3.4); shorten it", quote(text))
	}
	return wire, nil
}

func appendGateway(wire []byte, gatewayType byte, text string, top []byte) ([]byte, error) {
	switch gatewayType {
	case 0:
		if text != "." {
			return nil, fmt.Errorf("gateway type 0 means none, and the gateway is %s; write \".\", or type 1 (IPv4), 2 (IPv6) or 3 (name)",
				quote(text))
		}
		return wire, nil
	case 1, 2:
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" || addr.Is4() != (gatewayType == 1) {
			return nil, fmt.Errorf("gateway %s is not an address of gateway type %d; type 1 is IPv4, 2 is IPv6", quote(text), gatewayType)
		}
		return append(wire, addr.AsSlice()...), nil
	case 3:
		return appendName(wire, text, top)
	}
	return nil, errGatewayType(gatewayType)
}

func errGatewayType(gatewayType byte) error {
	return fmt.Errorf("gateway type %d is not known; it is 0 (none), 1 (IPv4), 2 (IPv6) or 3 (name)", gatewayType)
}

func appendLocator64(wire []byte, text string) ([]byte, error) {
	groups := 0
	for more := true; more; groups++ {
		var group string
		group, text, more = strings.Cut(text, ":")
		value, err := strconv.ParseUint(group, 16, 16)
		if err != nil || len(group) > 4 || groups == 4 {
			// Any fault has the same message.
			groups = 0
			break
		}
		wire = binary.BigEndian.AppendUint16(wire, uint16(value))
	}
	if groups != 4 {
		return nil, fmt.Errorf("write %s, as in \"0014:4fff:ff20:ee64\"", kindWords[kindLocator64])
	}
	return wire, nil
}

// appendEUI appends the octets of an EUI-48 or EUI-64 (RFC 7043), groups of two digits with hyphens.
func appendEUI(wire []byte, text string, octets int) ([]byte, error) {
	groups := strings.Split(text, "-")
	ok := len(groups) == octets
	for _, group := range groups {
		value, err := strconv.ParseUint(group, 16, 8)
		ok = ok && err == nil && len(group) == 2
		wire = append(wire, byte(value))
	}
	if !ok {
		return nil, fmt.Errorf("%s is not an EUI-%d; write %d groups of two hex digits with hyphens, as in \"00-00-5e-00-53-2a\"",
			quote(text), 8*octets, octets)
	}
	return wire, nil
}

func appendHex(wire []byte, fields []token) ([]byte, error) {
	text := joinTexts(fields)
	wire, err := hex.AppendDecode(wire, []byte(text))
	switch {
	case errors.Is(err, hex.ErrLength):
		return nil, fmt.Errorf("%d hexadecimal digits; an octet has two", len(text))
	case err != nil, slices.ContainsFunc(fields, func(f token) bool { return f.quoted }):
		return nil, fmt.Errorf("%s is not hexadecimal; write the digits 0-9 and a-f", quote(text))
	}
	return wire, nil
}

func joinTexts(fields []token) string {
	if len(fields) == 1 {
		return fields[0].text
	}
	var whole strings.Builder
	for _, f := range fields {
		whole.WriteString(f.text)
	}
	return whole.String()
}

func appendBase64(wire []byte, fields []token) ([]byte, error) {
	text := joinTexts(fields)
	wire, err := decodeBase64(wire, text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", quote(text), err)
	}
	return wire, nil
}

// decodeBase64 appends the octets of a base64 text. Like BIND, it rejects bits after the last octet: "VJ==" for "VA==".
func decodeBase64(wire []byte, text string) ([]byte, error) {
	wire, err := base64.StdEncoding.Strict().AppendDecode(wire, []byte(text))
	if err != nil {
		return nil, errors.New("is not base64 (RFC 4648 §4), padded with \"=\" to a multiple of four and with no bits after the last octet")
	}
	return wire, nil
}

func appendUpperHex(text, octets []byte) []byte {
	start := len(text)
	text = hex.AppendEncode(text, octets)
	for i := start; i < len(text); i++ {
		if text[i] >= 'a' {
			text[i] -= 'a' - 'A'
		}
	}
	return text
}

func trimBlanks(text string) string {
	text = strings.TrimLeft(text, " \t")
	short := strings.TrimRight(text, " \t")
	if len(short) < len(text) && endsEscaped(short) {
		return text[:len(short)+1]
	}
	return short
}

func endsEscaped(text string) bool {
	backslashes := len(text) - len(strings.TrimRight(text, `\`))
	return backslashes%2 == 1
}

func isMark(top []byte) bool { return len(top) == 3 && top[0] == 1 && top[1] < ' ' && top[2] == 0 }
