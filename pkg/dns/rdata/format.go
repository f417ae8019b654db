// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"slices"
	"strings"
)

type kind uint8

const (
	kindUint8 kind = iota
	kindUint16
	kindUint32
	kindAlgorithm       // 1 octet, a number or mnemonic
	kindCertificateType // 2 octets, a number or mnemonic (RFC 4398 §2.1)
	kindSeconds         // 4 octets, a number, or times as "1h30m"
	kindName            // uncompressed
	kindIPv4            // 4 octets
	kindIPv6            // 16 octets
	kindString          // character-string, quoted
	kindTag             // character-string of letters and digits, bare, lower case
	kindOctets          // the rest, as a quoted string
	kindStrings         // at least 1
	kindHex             // the rest
	kindBase64          // the rest
	kindEUI48           // hyphenated
	kindEUI64           // hyphenated
	kindLocator64       // four groups of hex with colons
	kindTypes           // RFC 4034 §4.1.2 bit map, the rest
	kindParams          // RFC 9460 §2.2, the rest
	kindGateway         // nothing, address or name, by gateway type
	kindLOC             // the whole of LOC
)

var kindWords = map[kind]string{
	kindUint8:           "a number 0-255",
	kindUint16:          "a number 0-65535",
	kindUint32:          "a number 0-4294967295",
	kindAlgorithm:       "a number 0-255",
	kindCertificateType: "a number 0-65535",
	kindSeconds:         "a time in seconds",
	kindName:            "a domain name",
	kindIPv4:            "an IPv4 address",
	kindIPv6:            "an IPv6 address",
	kindString:          "a quoted string",
	kindTag:             "a tag of letters and digits",
	kindOctets:          "a quoted string",
	kindStrings:         "quoted strings",
	kindHex:             "hexadecimal digits",
	kindBase64:          "base64",
	kindEUI48:           "six octets in hex with hyphens",
	kindEUI64:           "eight octets in hex with hyphens",
	kindLocator64:       "four groups of up to four hex digits with colons",
	kindTypes:           "RR types",
	kindParams:          "service parameters",
	kindGateway:         "a gateway",
	kindLOC:             "latitude, longitude, altitude and sizes, as in \"52 22 23 N 4 53 32 E -2m\" (RFC 1876)",
}

type field struct {
	name string
	kind kind
}

func one(k kind) []field { return []field{{kind: k}} }

// format describes the record data (RDATA) of a type by its fields. Their order is the same in wire form and text.
type format struct {
	rtype  Type
	name   string
	fields []field
	// example is a valid text for error messages, except that a digest is written as "<64 hexadecimal digits>".
	example string

	// The fields below are derived from the others.

	// names has a bit for each field that is a domain name. Bit 0 is the first field.
	names uint64
	// gateway is true for IPSECKEY, whose gateway is a domain name if the gateway type is 3.
	gateway bool
	syntax  syntax // of quotes
}

// formats contains the SOA and the types allowed in Records, sorted by number. BIND, Knot, NSD and PowerDNS read them
// in the same way.
var formats = []format{
	{rtype: A, name: "A", fields: one(kindIPv4)},
	{rtype: NS, name: "NS", fields: one(kindName)},
	{rtype: CNAME, name: "CNAME", fields: one(kindName)},
	{rtype: SOA, name: "SOA", fields: []field{
		{"primary server", kindName}, {"mailbox", kindName}, {"serial", kindUint32},
		{"refresh", kindSeconds}, {"retry", kindSeconds}, {"expire", kindSeconds}, {"minimum", kindSeconds},
	}, example: "ns1.example.org. hostmaster.example.org. 2026010200 86400 7200 3600000 3600"},
	{rtype: PTR, name: "PTR", fields: one(kindName)},
	{rtype: HINFO, name: "HINFO", fields: []field{{"cpu", kindString}, {"os", kindString}}, example: `"amd64" "linux"`},
	{rtype: MX, name: "MX", fields: []field{{"preference", kindUint16}, {"exchange", kindName}}, example: "10 mail.example.org."},
	{rtype: TXT, name: "TXT", fields: one(kindStrings)},
	{rtype: RP, name: "RP", fields: []field{
		{"mailbox", kindName}, {"text name", kindName},
	}, example: "admin.example.org. people.example.org."},
	{rtype: AFSDB, name: "AFSDB", fields: []field{{"subtype", kindUint16}, {"hostname", kindName}}, example: "1 afsdb.example.org."},
	{rtype: AAAA, name: "AAAA", fields: one(kindIPv6)},
	{rtype: LOC, name: "LOC", fields: one(kindLOC)},
	{rtype: SRV, name: "SRV", fields: []field{
		{"priority", kindUint16}, {"weight", kindUint16}, {"port", kindUint16}, {"target", kindName},
	}, example: "10 5 5060 sip.example.org."},
	{rtype: NAPTR, name: "NAPTR", fields: []field{
		{"order", kindUint16}, {"preference", kindUint16}, {"flags", kindString},
		{"services", kindString}, {"regexp", kindString}, {"replacement", kindName},
	}, example: `100 10 "s" "SIP+D2U" "" _sip._udp.example.org.`},
	{rtype: KX, name: "KX", fields: []field{{"preference", kindUint16}, {"exchanger", kindName}}, example: "10 kx.example.org."},
	{rtype: CERT, name: "CERT", fields: []field{
		{"type", kindCertificateType}, {"key tag", kindUint16}, {"algorithm", kindAlgorithm}, {"certificate", kindBase64},
	}, example: "1 0 0 dGhpcyBpcyBhIGtleQ=="},
	{rtype: DNAME, name: "DNAME", fields: one(kindName)},
	{rtype: DS, name: "DS", fields: digestFields, example: "12345 13 2 <64 hexadecimal digits>"},
	{rtype: SSHFP, name: "SSHFP", fields: []field{
		{"algorithm", kindUint8}, {"fingerprint type", kindUint8}, {"fingerprint", kindHex},
	}, example: "4 2 <64 hexadecimal digits>"},
	{rtype: IPSECKEY, name: "IPSECKEY", fields: []field{
		{"precedence", kindUint8}, {"gateway type", kindUint8}, {"algorithm", kindUint8},
		{"gateway", kindGateway}, {"public key", kindBase64},
	}, example: "10 1 2 192.0.2.1 dGhpcyBpcyBhIGtleQ=="},
	{rtype: DNSKEY, name: "DNSKEY", fields: keyFields, example: "257 3 13 dGhpcyBpcyBhIGtleQ=="},
	{rtype: DHCID, name: "DHCID", fields: one(kindBase64)},
	{rtype: TLSA, name: "TLSA", fields: associationFields, example: "3 1 1 <64 hexadecimal digits>"},
	{rtype: SMIMEA, name: "SMIMEA", fields: associationFields, example: "3 1 1 <64 hexadecimal digits>"},
	{rtype: CDS, name: "CDS", fields: digestFields, example: "12345 13 2 <64 hexadecimal digits>"},
	{rtype: CDNSKEY, name: "CDNSKEY", fields: keyFields, example: "257 3 13 dGhpcyBpcyBhIGtleQ=="},
	{rtype: OPENPGPKEY, name: "OPENPGPKEY", fields: one(kindBase64)},
	{rtype: CSYNC, name: "CSYNC", fields: []field{
		{"serial", kindUint32}, {"flags", kindUint16}, {"types", kindTypes},
	}, example: "66 3 A NS AAAA"},
	{rtype: SVCB, name: "SVCB", fields: serviceFields, example: `1 svc.example.org. port=8443 alpn="h2"`},
	{rtype: HTTPS, name: "HTTPS", fields: serviceFields, example: `1 . alpn="h2,h3"`},
	{rtype: SPF, name: "SPF", fields: one(kindStrings)},
	{rtype: NID, name: "NID", fields: []field{{"preference", kindUint16}, {"node id", kindLocator64}}, example: "10 0014:4fff:ff20:ee64"},
	{rtype: L32, name: "L32", fields: []field{{"preference", kindUint16}, {"locator", kindIPv4}}, example: "10 192.0.2.1"},
	{rtype: L64, name: "L64", fields: []field{{"preference", kindUint16}, {"locator", kindLocator64}}, example: "10 2001:0db8:1140:1000"},
	{rtype: LP, name: "LP", fields: []field{{"preference", kindUint16}, {"fqdn", kindName}}, example: "10 l64.example.org."},
	{rtype: EUI48, name: "EUI48", fields: one(kindEUI48)},
	{rtype: EUI64, name: "EUI64", fields: one(kindEUI64)},
	{rtype: URI, name: "URI", fields: []field{
		{"priority", kindUint16}, {"weight", kindUint16}, {"target", kindOctets},
	}, example: `10 1 "https://www.example.org/"`},
	{rtype: CAA, name: "CAA", fields: []field{
		{"flags", kindUint8}, {"tag", kindTag}, {"value", kindOctets},
	}, example: `0 issue "ca.example.net"`},
}

var (
	digestFields      = []field{{"key tag", kindUint16}, {"algorithm", kindAlgorithm}, {"digest type", kindUint8}, {"digest", kindHex}}
	keyFields         = []field{{"flags", kindUint16}, {"protocol", kindUint8}, {"algorithm", kindAlgorithm}, {"public key", kindBase64}}
	associationFields = []field{{"usage", kindUint8}, {"selector", kindUint8}, {"matching type", kindUint8}, {"certificate", kindHex}}
	serviceFields     = []field{{"priority", kindUint16}, {"target", kindName}, {"params", kindParams}}
)

const gatewayType, gatewayField = 1, 3

const paramsField = 2

var byNumber = func() []*format {
	var at []*format
	for i := range formats {
		f := &formats[i]
		for i, field := range f.fields {
			switch field.kind {
			case kindName:
				f.names |= 1 << i
			case kindGateway:
				f.gateway = true
			case kindString, kindStrings, kindOctets:
				f.syntax.strings = true
			case kindParams:
				f.syntax.innerQuotes = true
			}
		}
		at = slices.Grow(at, int(f.rtype)+1)
		at = at[:max(len(at), int(f.rtype)+1)]
		at[f.rtype] = f
	}
	return at
}()

func formatOf(t Type) *format {
	if int(t) < len(byNumber) {
		return byNumber[t]
	}
	return nil
}

func (f *format) hasNames() bool { return f != nil && (f.names != 0 || f.gateway) }

func (f *format) isName(i int, tokens []token) bool {
	return i < 64 && f.names&(1<<i) != 0 || f.gateway && i == gatewayField && tokens[gatewayType].text == "3"
}

func (f *format) hasRelativeName(tokens []token) bool {
	for i, t := range tokens {
		if f.isName(i, tokens) && !absoluteText(t.text) {
			return true
		}
	}
	return false
}

// Fields describes each field of the type, such as "a number 0-65535". It returns nil if the data is octets.
func (t Type) Fields() []string {
	f := formatOf(t)
	if f == nil {
		return nil
	}
	words := make([]string, len(f.fields))
	for i, field := range f.fields {
		words[i] = kindWords[field.kind]
	}
	return words
}

func (f *format) describeFields() string {
	words := f.rtype.Fields()
	for i, field := range f.fields {
		if field.name != "" {
			words[i] = fmt.Sprintf("%s (%s)", field.name, words[i])
		}
	}
	text := f.name + " has " + strings.Join(words, ", ")
	if f.example != "" {
		text += ", for example: " + f.example
	}
	return text
}

// fieldCounts returns the least and the greatest number of fields in presentation format.
func (f *format) fieldCounts() (least, most int) {
	const any = 1 << 20
	for _, field := range f.fields {
		switch field.kind {
		case kindStrings, kindHex, kindBase64:
			least, most = least+1, any
		// A CSYNC without types and an SVCB without parameters are valid.
		case kindTypes, kindParams:
			most = any
		case kindLOC:
			least, most = 5, 12
		default:
			least, most = least+1, most+1
		}
	}
	return least, most
}

func (f *format) checkCount(fields []token) error {
	least, most := f.fieldCounts()
	if len(fields) >= least && len(fields) <= most {
		return nil
	}
	plural := "s"
	if len(fields) == 1 {
		plural = ""
	}
	return fmt.Errorf("%d field%s; %s", len(fields), plural, f.describeFields())
}

// ByNumber reports whether the type has no format here, so the data is octets (RFC 3597). A rule must name such a type.
func (t Type) ByNumber() bool { return formatOf(t) == nil }

// CheckRecord returns an error if the type cannot be a Record.
func (t Type) CheckRecord() error {
	switch {
	case t == SOA:
		return fmt.Errorf("type SOA cannot be a Record: the SOA is made from the Zone; set refresh, retry, expire, " +
			"negativeResponseCache, primaryNameServer or contact there")
	case formatOf(t) != nil:
		return nil
	case t == RRSIG, t == NSEC, t == NSEC3, t == NSEC3PARAM, t == ZONEMD:
		return fmt.Errorf("type %s cannot be a Record: signing a zone makes it; sign on a secondary", t)
	case t == OPT, t == TKEY, t == TSIG:
		return fmt.Errorf("type %s cannot be a Record: it belongs to a message, not to a zone", t)
	case t == 0, t == 65535:
		return fmt.Errorf("type %s cannot be a Record: it is reserved (RFC 6895 §3.1)", t)
	case 128 <= t && t <= 255:
		return fmt.Errorf("type %s cannot be a Record: 128 to 255 are question and meta types (RFC 6895 §3.1)", t)
	// A server that knows the type may reject octets that nothing here has checked.
	case judged[t]:
		return fmt.Errorf("type %s cannot be a Record: it is not in the list of types, and some name servers judge its data and would "+
			"refuse the whole zone; use a type of the list such as TXT, or TYPE and a number that no name server knows, as in "+
			"\"TYPE65280\"", t)
	}
	return nil
}
