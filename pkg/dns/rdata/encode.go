// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"
)

// noMark: the wire form has no relative names.
const noMark = 0

// encodeText turns the text of one value into uncompressed wire rdata, appended to wire. Relative names end in a top
// label of one octet, mark, which the text does not contain. By it decodeWire tells them from absolute names, and
// strings that look like names are left alone.
func encodeText(t Type, text string, from source, wire []byte) ([]byte, byte, error) {
	p := planOf(t)
	text = trimBlanks(text)
	if text == `\#` || strings.HasPrefix(text, `\# `) || strings.HasPrefix(text, "\\#\t") {
		wire, err := encodeGeneric(text, wire)
		return wire, noMark, err
	}
	if !p.known() {
		if readable := octetTypes[t]; readable != "" {
			wire, err := encodeOctetType(t, text, wire)
			return wire, noMark, err
		}
		return nil, noMark, fmt.Errorf("type %s has no presentation format here; write \\#, the number of octets and the octets in hex, as in \"\\# 4 0a000001\" (RFC 3597 §5)", t)
	}
	mark, err := chooseMark(p, text)
	if err != nil {
		return nil, noMark, err
	}
	if from != zoneFile && t.isText() && text != "" && text[0] != '"' {
		wire, err := encodeBareText(t, strings.TrimRight(text, " \t"), wire)
		return wire, noMark, err
	}
	var space [16]token
	fields, err := splitFields(t, p, text, from, space[:0])
	if err != nil {
		return nil, noMark, err
	}
	if !p.simple {
		wire, err := encodeByLibrary(t, p, text, from, fields, mark, wire)
		return wire, mark, err
	}
	simple, err := encodeFields(t, p, fields, []byte{1, mark, 0}, wire)
	if err != nil && (!p.own || from == stored && p.bent) {
		// The library knows mnemonics of algorithms and certificates, and times with units. If it fails too, our error
		// is the better one.
		if library, libErr := encodeByLibrary(t, p, text, from, fields, mark, wire); libErr == nil {
			return library, mark, nil
		}
	}
	return simple, mark, err
}

func syntaxOf(p *plan) syntax {
	return syntax{strings: p.octets, innerQuotes: slices.Contains(p.fields, kindParams)}
}

// chooseMark returns an octet that text does not contain, neither raw nor escaped.
func chooseMark(p *plan, text string) (byte, error) {
	if !p.hasNames() {
		return noMark, nil
	}
	for mark := byte(1); mark < ' '; mark++ {
		if strings.IndexByte(text, mark) < 0 && (strings.IndexByte(text, '\\') < 0 || !strings.Contains(text, string(appendDDD(nil, mark)))) {
			return mark, nil
		}
	}
	return 0, errors.New("the names in the value use every control character there is; remove one")
}

// encodeGeneric reads "\# length hex…" (RFC 3597 §5).
func encodeGeneric(text string, wire []byte) ([]byte, error) {
	var space [8]token
	fields, err := splitText(text, syntax{}, space[:0])
	if err != nil {
		return nil, err
	}
	if len(fields) < 2 {
		return nil, errors.New("\\# takes the number of octets and the octets in hex, as in \"\\# 4 0a000001\" (RFC 3597 §5)")
	}
	length, err := parseUint(fields[1], 16)
	if err != nil {
		return nil, fmt.Errorf("length after \\#: %w", err)
	}
	start := len(wire)
	if wire, err = appendHex(wire, fields[2:]); err != nil {
		return nil, err
	}
	if n := len(wire) - start; n != int(length) {
		return nil, fmt.Errorf("\\# announces %d octets and %d follow; correct the length", length, n)
	}
	return wire, nil
}

// appendStrings appends text as character-strings of at most 255 octets each
// (S5.2), one empty string for empty text.
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

// encodeFields writes the fields of a simple type. Relative names end in top,
// the wire form of an absolute name.
func encodeFields(t Type, p *plan, fields []token, top, wire []byte) ([]byte, error) {
	var (
		value uint64
		addr  netip.Addr
		err   error
	)
	start, i := len(wire), -1 // i counts tokens: a field may take two of them
	for at, k := range p.fields {
		if i++; i >= len(fields) {
			break // optional fields, as checkCount has verified
		}
		field := fields[i]
		if field.quoted && k != kindString && k != kindStrings && k != kindOctets && k != kindDigits && k != kindDecimal && k != kindTag {
			return nil, fmt.Errorf("%s%s is quoted, but %s has no quotes; remove them", p.fieldName(at), quote(field.text), kindWords[k])
		}
		switch k {
		case kindUint8:
			value, err = parseMnemonic(t, i, field, 8)
			wire = append(wire, byte(value))
		case kindUint16:
			value, err = parseMnemonic(t, i, field, 16)
			wire = binary.BigEndian.AppendUint16(wire, uint16(value))
		case kindUint32:
			value, err = parseUint(field, 32)
			wire = binary.BigEndian.AppendUint32(wire, uint32(value))
		case kindName:
			wire, err = appendName(wire, field.text, top)
		case kindIPv4:
			if addr, err = netip.ParseAddr(field.text); err != nil || !addr.Is4() {
				return nil, fmt.Errorf("%s%s is not an IPv4 address; write four decimal numbers 0-255 with dots, as in \"192.0.2.1\"", p.fieldName(at), quote(field.text))
			}
			four := addr.As4()
			wire = append(wire, four[:]...)
		case kindIPv6:
			if addr, err = netip.ParseAddr(field.text); err != nil || !addr.Is6() || addr.Zone() != "" {
				return nil, fmt.Errorf("%s is not an IPv6 address; write hex groups with colons, as in \"2001:db8::1\"", quote(field.text))
			}
			sixteen := addr.As16()
			wire = append(wire, sixteen[:]...)
		case kindString:
			wire, err = appendOneString(wire, field.text)
		case kindDigits, kindDecimal, kindTag:
			if err = checkBareString(k, field.text); err == nil {
				wire, err = appendOneString(wire, strings.ToLower(field.text))
			}
		case kindOctets:
			for text := field.text; text != ""; {
				c, size := unescape(text)
				wire = append(wire, c)
				text = text[size:]
			}
		case kindStrings:
			for _, f := range fields[i:] {
				wire = appendStrings(wire, f.text)
			}
		case kindHex:
			wire, err = appendHex(wire, fields[i:])
		case kindBase64:
			wire, err = appendBase64(wire, fields[i:])
		case kindDiscovery:
			var discovery uint64
			i++
			if discovery, err = parseUint(field, 1); err == nil {
				value, err = parseUint(fields[i], 7)
			}
			wire = append(wire, byte(discovery<<7|value))
		case kindGateway:
			wire, err = appendGateway(wire, gatewayType(t, wire[start:]), field.text, top)
		case kindSalt:
			length := len(wire)
			wire = append(wire, 0)
			if field.text != "-" {
				wire, err = appendHex(wire, fields[i:i+1])
			}
			err = putLength(wire, length, field, err)
		case kindHash32:
			length := len(wire)
			wire = append(wire, 0)
			wire, err = base32.HexEncoding.WithPadding(base32.NoPadding).AppendDecode(wire, []byte(upperASCII(field.text)))
			err = putLength(wire, length, field, err)
		case kindTypes:
			wire, err = appendTypes(wire, fields[i:])
		case kindLocator64:
			wire, err = appendLocator64(wire, field.text)
		case kindPrefixes:
			wire, err = appendPrefixes(wire, fields[i:])
		case kindLOC:
			wire, err = appendLOC(wire, fields)
		}
		if err != nil {
			return nil, fmt.Errorf("%s%w", p.fieldName(at), err)
		}
	}
	return wire, nil
}

// appendOneString appends text as one character-string. It must not be split: the position of a string is its meaning.
func appendOneString(wire []byte, text string) ([]byte, error) {
	start := len(wire)
	if wire = appendStrings(wire, text); len(wire)-start > 256 {
		return nil, errLongString(text)
	}
	return wire, nil
}

func errLongString(text string) error {
	return fmt.Errorf("string %s is %d octets or longer, the limit is 255 (RFC 1035 §3.3); shorten it", quote(text), 256)
}

// checkBareString checks strings that are printed without quotes for a syntax that never needs quotes.
func checkBareString(k kind, text string) error {
	ok := text != ""
	switch k {
	case kindDigits:
		ok = len(text) >= 4
		for i := 0; i < len(text); i++ {
			ok = ok && isDigit(text[i])
		}
	case kindTag:
		for i := 0; i < len(text); i++ {
			c := text[i] | 0x20
			ok = ok && (isDigit(text[i]) || 'a' <= c && c <= 'z')
		}
	case kindDecimal:
		digits, dots := 0, 0
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case isDigit(c):
				digits++
			case c == '.':
				dots++
			default:
				ok = ok && i == 0 && (c == '-' || c == '+')
			}
		}
		ok = ok && digits > 0 && dots <= 1
	}
	if !ok {
		return fmt.Errorf("%s is not %s", quote(text), kindWords[k])
	}
	return nil
}

// parseUint reads a decimal number of at most bits bits.
func parseUint(field token, bits int) (uint64, error) {
	value, err := strconv.ParseUint(field.text, 10, bits)
	if err != nil || field.quoted {
		return 0, fmt.Errorf("%s is not a number from 0 to %d", quote(field.text), uint64(1)<<bits-1)
	}
	return value, nil
}

// parseMnemonic reads the i-th field: a number, or the mnemonic of a DNSSEC algorithm or certificate type, in the types
// for which servers read and write these.
func parseMnemonic(t Type, i int, field token, bits int) (uint64, error) {
	value, err := parseUint(field, bits)
	if err == nil || field.quoted {
		return value, err
	}
	upper := upperASCII(field.text)
	switch uint16(t) {
	case mdns.TypeDS, mdns.TypeCDS, mdns.TypeDLV, mdns.TypeTA:
		if number, ok := algorithmNames[upper]; ok && i == 1 {
			return uint64(number), nil
		}
	case mdns.TypeDNSKEY, mdns.TypeCDNSKEY, mdns.TypeKEY:
		if number, ok := algorithmNames[upper]; ok && i == 2 {
			return uint64(number), nil
		}
	case mdns.TypeCERT:
		if number, ok := certificateNames[upper]; ok && i == 0 {
			return uint64(number), nil
		}
		if number, ok := algorithmNames[upper]; ok && i == 2 {
			return uint64(number), nil
		}
	}
	return 0, err
}

// The library's names and those that only BIND writes; read only.
var (
	algorithmNames = func() map[string]uint8 {
		names := map[string]uint8{"NSEC3DSA": mdns.DSANSEC3SHA1, "NSEC3RSASHA1": mdns.RSASHA1NSEC3SHA1, "ECCGOST": mdns.ECCGOST}
		maps.Copy(names, mdns.StringToAlgorithm)
		return names
	}()
	certificateNames = func() map[string]uint16 {
		names := map[string]uint16{"IPKIX": mdns.CertIPIX}
		maps.Copy(names, mdns.StringToCertType)
		return names
	}()
)

// putLength fills the length octet at wire[length] for what follows it.
func putLength(wire []byte, length int, field token, err error) error {
	if err != nil || len(wire)-length-1 > 255 {
		return fmt.Errorf("%s is not the text of at most 255 octets; correct it", quote(field.text))
	}
	wire[length] = byte(len(wire) - length - 1)
	return nil
}

// appendTypes appends RR types, in any order, as a bit map (RFC 4034 §4.1.2).
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

// appendName appends the uncompressed wire form of a name in presentation
// format, in lower case. A relative name ends in top, the wire form of what it
// is relative to.
func appendName(wire []byte, text string, top []byte) ([]byte, error) {
	start := len(wire)
	switch text {
	case ".":
		return append(wire, 0), nil
	case "@":
		return append(wire, top...), nil
	}
	relative := true
	for i := 0; i < len(text); {
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
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			wire = append(wire, c)
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
		wire = append(wire, top...)
	} else {
		wire = append(wire, 0)
	}
	// With a mark in place of the zone the length is checked as in the shortest zone, the root.
	if n++; relative && !isMark(top) {
		n += len(top) - 1
	}
	if n > 255 {
		return nil, fmt.Errorf("name %s is longer than 255 octets on the wire (RFC 1035 §2.3.4); shorten it", quote(text))
	}
	return wire, nil
}

// appendGateway appends the gateway of IPSECKEY and AMTRELAY in the form of the gateway type (RFC 4025 §2.5, RFC 8777
// §4.2.3).
func appendGateway(wire []byte, gatewayType byte, text string, top []byte) ([]byte, error) {
	switch gatewayType {
	case 0:
		if text != "." {
			return nil, fmt.Errorf("gateway type 0 means none, and the gateway is %s; write \".\", or type 1 (IPv4), 2 (IPv6) or 3 (name)", quote(text))
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

// appendLocator64 reads four groups of hex digits (RFC 6742 §2.1.2). BIND
// writes them without leading zeros, so groups may be short.
func appendLocator64(wire []byte, text string) ([]byte, error) {
	groups := 0
	for more := true; more; groups++ {
		var group string
		group, text, more = strings.Cut(text, ":")
		value, err := strconv.ParseUint(group, 16, 16)
		if err != nil || len(group) > 4 || groups == 4 {
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

// appendHex appends the octets of fields, which are one hexadecimal number with blanks anywhere.
func appendHex(wire []byte, fields []token) ([]byte, error) {
	var high byte
	digits := 0
	for _, f := range fields {
		for i := 0; i < len(f.text); i++ {
			d, ok := hexDigit(f.text[i])
			if !ok || f.quoted {
				return nil, fmt.Errorf("%s is not hexadecimal; write the digits 0-9 and a-f", quote(f.text))
			}
			if digits++; digits%2 == 1 {
				high = d << 4
			} else {
				wire = append(wire, high|d)
			}
		}
	}
	if digits%2 == 1 {
		return nil, fmt.Errorf("%d hexadecimal digits; an octet has two", digits)
	}
	return wire, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// appendBase64 appends the octets of fields, which are one base64 text with blanks anywhere.
func appendBase64(wire []byte, fields []token) ([]byte, error) {
	text := fields[0].text
	if len(fields) > 1 {
		var whole strings.Builder
		for _, f := range fields {
			whole.WriteString(f.text)
		}
		text = whole.String()
	}
	wire, err := base64.StdEncoding.AppendDecode(wire, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s is not base64 (RFC 4648 §4), padded with \"=\" to a multiple of four", quote(text))
	}
	return wire, nil
}

// encodeByLibrary encodes the text by miekg/dns, with the mark as origin.
func encodeByLibrary(t Type, p *plan, text string, from source, fields []token, mark byte, wire []byte) ([]byte, error) {
	if err := checkForLibrary(p, fields); err != nil {
		return nil, err
	}
	var generic map[uint16][]byte
	if slices.Contains(p.fields, kindParams) {
		var err error
		if text, generic, err = cutParams(fields, from); err != nil {
			return nil, err
		}
	}
	origin := "."
	if mark != noMark {
		origin = string(append(appendDDD(nil, mark), '.'))
	}
	parser := mdns.NewZoneParser(strings.NewReader(". 0 IN "+t.String()+" "+text+"\n"), origin, "")
	rr, ok := parser.Next()
	if err := parser.Err(); err != nil {
		return nil, fmt.Errorf("%s; %s", libraryReason(err), p.usage())
	}
	if !ok || rr == nil || Type(rr.Header().Rrtype) != t {
		return nil, errors.New(p.usage())
	}
	// The text bounds the wire form: an octet takes at least one character, names grow by the mark, and fixed fields by
	// at most the digits that a number lacks.
	buffer := make([]byte, 1024+2*len(text))
	end, err := mdns.PackRR(rr, buffer, 0, nil, false)
	if err != nil {
		return nil, fmt.Errorf("%s; %s", libraryReason(err), p.usage())
	}
	const header = 11 // the root as owner, type, class, TTL, length
	packed := buffer[header:end]
	if generic != nil {
		if packed, err = addParams(packed, generic); err != nil {
			return nil, err
		}
	}
	return append(wire, packed...), nil
}

// checkForLibrary refuses text that the library would accept and alter.
func checkForLibrary(p *plan, fields []token) error {
	for i, f := range fields {
		if f.quoted {
			return fmt.Errorf("%s is quoted, but no field of this type is; %s", quote(f.text), p.usage())
		}
		if i == 1 && p.namesFrom > 0 && len(f.text) > 2*127 {
			return fmt.Errorf("a HIT of %d hexadecimal digits; the library computes its length octet for up to 254", len(f.text))
		}
	}
	return nil
}

// libraryReason is the library's error without the position, which is that in a generated line.
func libraryReason(err error) string {
	reason := strings.TrimPrefix(err.Error(), "dns: ")
	if i := strings.LastIndex(reason, " at line: "); i >= 0 {
		reason = reason[:i]
	}
	return reason
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

// trimBlanks removes the blanks from both ends of text, except an escaped one, which belongs to the last field.
func trimBlanks(text string) string {
	text = strings.TrimLeft(text, " \t")
	short := strings.TrimRight(text, " \t")
	if len(short) < len(text) && endsEscaped(short) {
		return text[:len(short)+1]
	}
	return short
}

// endsEscaped reports that text ends in a backslash that escapes the next character.
func endsEscaped(text string) bool {
	backslashes := len(text) - len(strings.TrimRight(text, `\`))
	return backslashes%2 == 1
}

// appendPrefixes appends address prefixes (RFC 3123 §4).
func appendPrefixes(wire []byte, fields []token) ([]byte, error) {
	for _, f := range fields {
		text, negated := strings.CutPrefix(f.text, "!")
		family, prefixText, _ := strings.Cut(text, ":")
		prefix, err := netip.ParsePrefix(prefixText)
		if err != nil || f.quoted || family != "1" && family != "2" || prefix.Addr().Is4() != (family == "1") {
			return nil, fmt.Errorf("%s is not an address prefix of APL; write \"1:\" and IPv4, or \"2:\" and IPv6, and the length, as in \"1:192.0.2.0/24\" or \"!2:2001:db8::/32\" (RFC 3123 §5)", quote(f.text))
		}
		octets := bytes.TrimRight(prefix.Addr().AsSlice(), "\x00")
		head := byte(len(octets))
		if negated {
			head |= 0x80
		}
		wire = append(wire, 0, family[0]-'0', byte(prefix.Bits()), head)
		wire = append(wire, octets...)
	}
	return wire, nil
}

// isMark says that top stands for a zone that is not known yet: one control character as its only label.
func isMark(top []byte) bool { return len(top) == 3 && top[0] == 1 && top[1] < ' ' && top[2] == 0 }

// octetTypes are types whose data is judged here as octets (CheckLoadable), with
// what their presentation format has. It is read, and written as \#, which every
// server reads; so a name in it must be absolute.
var octetTypes = map[Type]string{
	typeDSYNC: "an RR type, a scheme, a port and an absolute name, as in \"CDS NOTIFY 5359 notify.example.net.\" (RFC 9859 §3)",
	typeHHIT:  "base64 (RFC 9886 §5.1)",
	typeBRID:  "base64 (RFC 9886 §5.2)",
}

// encodeOctetType reads the presentation format of such a type.
func encodeOctetType(t Type, text string, wire []byte) ([]byte, error) {
	fields, err := splitText(text, syntax{}, nil)
	if err != nil {
		return nil, err
	}
	if t != typeDSYNC {
		if slices.ContainsFunc(fields, func(f token) bool { return f.quoted }) {
			return nil, errors.New("this type has " + octetTypes[t])
		}
		return appendBase64(wire, fields)
	}
	if len(fields) != 4 || !absoluteText(fields[3].text) || slices.ContainsFunc(fields, func(f token) bool { return f.quoted }) {
		return nil, errors.New("this type has " + octetTypes[t])
	}
	about, err := ParseType(fields[0].text)
	if err != nil {
		return nil, err
	}
	scheme := uint64(1)
	if !strings.EqualFold(fields[1].text, "NOTIFY") {
		if scheme, err = parseUint(fields[1], 8); err != nil {
			return nil, err
		}
	}
	port, err := parseUint(fields[2], 16)
	if err != nil {
		return nil, err
	}
	wire = append(binary.BigEndian.AppendUint16(wire, uint16(about)), byte(scheme))
	wire = binary.BigEndian.AppendUint16(wire, uint16(port))
	start := len(wire)
	if wire, err = appendName(wire, fields[3].text, nil); err != nil {
		return nil, err
	}
	// As octets a name keeps its case.
	for i, text := start+1, fields[3].text; text != "" && text != "."; i++ {
		c, size := unescape(text)
		if size > 1 || c != '.' {
			wire[i] = c
		}
		text = text[size:]
	}
	return wire, nil
}
