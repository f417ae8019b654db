// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"reflect"
	"strings"

	mdns "github.com/miekg/dns"
)

// kind is the format of one field of rdata, on the wire and as text.
type kind uint8

const (
	kindUint8 kind = iota
	kindUint16
	kindUint32
	kindName      // domain name, uncompressed
	kindIPv4      // 4 octets
	kindIPv6      // 16 octets
	kindString    // character-string, quoted
	kindDigits    // character-string of digits, bare: X.25 addresses
	kindDecimal   // character-string holding a decimal number, bare: GPOS
	kindTag       // character-string of letters and digits, bare, lower case: CAA
	kindOctets    // the rest, as one quoted string without a length octet
	kindStrings   // one or more character-strings
	kindHex       // the rest
	kindBase64    // the rest
	kindEUI48     // 6 octets, hyphenated
	kindEUI64     // 8 octets, hyphenated
	kindLocator64 // 8 octets, four groups of hex with colons
	kindRRType    // an RR type number, written as mnemonic
	kindTypes     // RFC 4034 §4.1.2 bit map, the rest
	kindSalt      // length octet and octets in hex, "-" when empty
	kindHash32    // length octet and octets in base32hex
	kindParams    // service parameters of SVCB, the rest
	kindPrefixes  // address prefixes of APL, the rest
	kindGateway   // what the gateway type says: nothing, an address or a name
	kindDiscovery // AMTRELAY's discovery bit and gateway type, two numbers as text
	kindHIP       // the whole of HIP
	kindLOC       // the whole of LOC
)

// plan is what the package knows of a type. It is computed once, from the
// struct tags of miekg/dns: the library stays the source of what a type holds.
type plan struct {
	of     Type
	fields []kind
	// names is the bit set of the positions of names in the canonical text. With namesFrom > 0 every token from there
	// on is a name, too (HIP).
	names     uint64
	namesFrom int
	// gatewayType is the token that says whether the gateway token is a name,
	// 0 for types without gateway.
	gatewayType int
	// optional is how many of the last fields may be absent, on the wire and as text.
	optional int
	// own: read by this package alone, because the library drops or alters data
	// of the type: strings after the first, octets of a LOC, the gateway of an
	// AMTRELAY with discovery bit, groups of a locator, bits of an address prefix; or
	// because the library lacks the mnemonics. The others fall back on the library.
	own bool
	// bent: the library read the type, and altered some texts, when stored values were admitted.
	bent bool
	// octets: fields may hold any octet, raw control characters included.
	octets bool
	// simple: this package can read every field of the type; the rest is left
	// to the library altogether.
	simple bool
}

// opaque is the plan of types without a presentation format: RFC 3597 only.
var opaque = &plan{}

// plans covers every type with a presentation format; the lookup of common
// types avoids the map.
var (
	plans      = makePlans()
	commonPlan = func() (common [64]*plan) {
		for t, p := range plans {
			if int(t) < len(common) {
				common[t] = p
			}
		}
		return common
	}()
)

func planOf(t Type) *plan {
	if int(t) < len(commonPlan) {
		if p := commonPlan[t]; p != nil {
			return p
		}
		return opaque
	}
	if p, ok := plans[t]; ok {
		return p
	}
	return opaque
}

// known reports that the type has a presentation format of its own.
func (p *plan) known() bool { return p != opaque }

// hasNames reports that values of the type may depend on an origin.
func (p *plan) hasNames() bool { return p.names != 0 || p.namesFrom > 0 || p.gatewayType > 0 }

func makePlans() map[Type]*plan {
	made := make(map[Type]*plan, len(mdns.TypeToRR))
	for number, newRR := range mdns.TypeToRR {
		t := Type(number)
		switch number {
		case mdns.TypeOPT, mdns.TypeTSIG, mdns.TypeTKEY, mdns.TypeANY, mdns.TypeNULL, mdns.TypeNXNAME:
			continue // messages only, no presentation format
		}
		p := &plan{of: t}
		p.add(reflect.TypeOf(newRR()).Elem(), t)
		p.describeType(t)
		made[t] = p
	}
	return made
}

// add appends the kinds of a struct's fields; the rdata of some types is the
// struct of another one, embedded (CDS is DS).
func (p *plan) add(rr reflect.Type, t Type) {
	for i := 0; i < rr.NumField(); i++ {
		field := rr.Field(i)
		switch {
		case field.Name == "Hdr":
		case field.Anonymous:
			p.add(field.Type, t)
		default:
			p.fields = append(p.fields, kindOf(field, t))
		}
	}
}

func kindOf(field reflect.StructField, t Type) kind {
	tag := field.Tag.Get("dns")
	switch {
	case tag == "domain-name", tag == "cdomain-name":
		return kindName
	case tag == "a":
		return kindIPv4
	case tag == "aaaa":
		return kindIPv6
	case tag == "octet":
		return kindOctets
	case tag == "txt":
		return kindStrings
	case tag == "hex":
		return kindHex
	case tag == "base64":
		return kindBase64
	case tag == "nsec":
		return kindTypes
	case tag == "uint48":
		return kindEUI48
	case tag == "pairs":
		return kindParams
	case tag == "apl":
		return kindPrefixes
	case tag == "ipsechost", tag == "amtrelayhost":
		return kindGateway
	case strings.HasPrefix(tag, "size-hex:"):
		return kindSalt
	case strings.HasPrefix(tag, "size-base32:"):
		return kindHash32
	}
	switch field.Type.Kind() {
	case reflect.Uint8:
		return kindUint8
	case reflect.Uint16:
		return kindUint16
	case reflect.Uint32:
		return kindUint32
	case reflect.Uint64:
		if uint16(t) == mdns.TypeEUI64 {
			return kindEUI64
		}
		return kindLocator64
	default:
		return kindString
	}
}

// describeType corrects what tags cannot say: fields that are one thing as text and two on the wire, strings with a
// narrower syntax, and whether the library reads the type.
func (p *plan) describeType(t Type) {
	switch uint16(t) {
	case mdns.TypeLOC:
		p.fields, p.own = []kind{kindLOC}, true
	case mdns.TypeHIP:
		p.fields, p.namesFrom = []kind{kindHIP}, 3
	case mdns.TypeNSEC3:
		p.fields = []kind{kindUint8, kindUint8, kindUint16, kindSalt, kindHash32, kindTypes}
	case mdns.TypeNSEC3PARAM:
		p.fields = []kind{kindUint8, kindUint8, kindUint16, kindSalt}
	case mdns.TypeRRSIG, mdns.TypeSIG:
		p.fields[0] = kindRRType
	case mdns.TypeIPSECKEY:
		p.fields, p.gatewayType, p.own = []kind{kindUint8, kindUint8, kindUint8, kindGateway, kindBase64}, 1, true
	case mdns.TypeAMTRELAY:
		p.fields, p.gatewayType, p.own = []kind{kindUint8, kindDiscovery, kindGateway}, 2, true
	case mdns.TypeISDN:
		p.optional = 1 // RFC 1183 §3.2: the subaddress
	case mdns.TypeNID, mdns.TypeL64, mdns.TypeAPL:
		p.own, p.bent = true, true
	case mdns.TypeKEY, mdns.TypeDNSKEY, mdns.TypeCDNSKEY:
		p.own = true
	case mdns.TypeX25:
		p.fields, p.own = []kind{kindDigits}, true
	case mdns.TypeGPOS:
		p.fields, p.own = []kind{kindDecimal, kindDecimal, kindDecimal}, true
	case mdns.TypeCAA:
		p.fields, p.own = []kind{kindUint8, kindTag, kindOctets}, true
	}
	p.simple = true
	for i, k := range p.fields {
		switch k {
		case kindEUI48, kindEUI64, kindRRType, kindParams, kindHIP:
			p.simple = false
		case kindName:
			p.names |= 1 << i
		case kindString, kindStrings, kindOctets:
			p.own, p.octets = true, true
		}
	}
}

// isName reports whether the i-th token of a canonical text is a name.
func (p *plan) isName(i int, tokens []token) bool {
	switch {
	case p.gatewayType > 0:
		return i == 3 && tokens[p.gatewayType].text == "3"
	case p.namesFrom > 0:
		return i >= p.namesFrom
	}
	return i < 64 && p.names&(1<<i) != 0
}

func (p *plan) words() []string {
	words := make([]string, len(p.fields))
	for i, k := range p.fields {
		words[i] = kindWords[k]
	}
	return words
}

// Fields describes each field of the type's text in words, as messages do; it is empty for a type that is written as
// octets. Generators of test values use it.
func (t Type) Fields() []string { return planOf(t).words() }

var kindWords = map[kind]string{
	kindUint8:     "a number 0-255",
	kindUint16:    "a number 0-65535",
	kindUint32:    "a number 0-4294967295",
	kindName:      "a domain name",
	kindIPv4:      "an IPv4 address",
	kindIPv6:      "an IPv6 address",
	kindString:    "a quoted string",
	kindDigits:    "four or more digits",
	kindDecimal:   "a decimal number",
	kindTag:       "a tag of letters and digits",
	kindOctets:    "a quoted string",
	kindStrings:   "quoted strings",
	kindHex:       "hexadecimal digits",
	kindBase64:    "base64",
	kindEUI48:     "six octets in hex with hyphens",
	kindEUI64:     "eight octets in hex with hyphens",
	kindLocator64: "four groups of up to four hex digits with colons",
	kindRRType:    "an RR type",
	kindTypes:     "RR types",
	kindSalt:      "hexadecimal digits or \"-\"",
	kindHash32:    "base32hex",
	kindParams:    "service parameters",
	kindPrefixes:  "address prefixes such as \"1:192.0.2.0/24\"",
	kindGateway:   "a gateway",
	kindDiscovery: "the discovery bit and the relay type",
	kindHIP:       "an algorithm number, a HIT in hex, a key in base64, rendezvous servers",
	kindLOC:       "latitude, longitude, altitude and sizes, as in \"52 22 23 N 4 53 32 E -2m\" (RFC 1876)",
}
