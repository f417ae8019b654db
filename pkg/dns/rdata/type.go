// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"fmt"
	"strconv"
	"strings"

	mdns "github.com/miekg/dns"
)

// Type is an RR type number (IANA "Resource Record (RR) TYPEs").
type Type uint16

// The types that some rule names. All others are reached through ParseType.
const (
	A          = Type(mdns.TypeA)
	NS         = Type(mdns.TypeNS)
	CNAME      = Type(mdns.TypeCNAME)
	SOA        = Type(mdns.TypeSOA)
	PTR        = Type(mdns.TypePTR)
	HINFO      = Type(mdns.TypeHINFO)
	MX         = Type(mdns.TypeMX)
	TXT        = Type(mdns.TypeTXT)
	AAAA       = Type(mdns.TypeAAAA)
	LOC        = Type(mdns.TypeLOC)
	SRV        = Type(mdns.TypeSRV)
	NAPTR      = Type(mdns.TypeNAPTR)
	KX         = Type(mdns.TypeKX)
	CERT       = Type(mdns.TypeCERT)
	DNAME      = Type(mdns.TypeDNAME)
	OPT        = Type(mdns.TypeOPT)
	APL        = Type(mdns.TypeAPL)
	DS         = Type(mdns.TypeDS)
	SSHFP      = Type(mdns.TypeSSHFP)
	RRSIG      = Type(mdns.TypeRRSIG)
	NSEC       = Type(mdns.TypeNSEC)
	DNSKEY     = Type(mdns.TypeDNSKEY)
	NSEC3      = Type(mdns.TypeNSEC3)
	NSEC3PARAM = Type(mdns.TypeNSEC3PARAM)
	TLSA       = Type(mdns.TypeTLSA)
	CDS        = Type(mdns.TypeCDS)
	CDNSKEY    = Type(mdns.TypeCDNSKEY)
	CSYNC      = Type(mdns.TypeCSYNC)
	ZONEMD     = Type(mdns.TypeZONEMD)
	SVCB       = Type(mdns.TypeSVCB)
	HTTPS      = Type(mdns.TypeHTTPS)
	SPF        = Type(mdns.TypeSPF)
	TKEY       = Type(mdns.TypeTKEY)
	TSIG       = Type(mdns.TypeTSIG)
	IXFR       = Type(mdns.TypeIXFR)
	AXFR       = Type(mdns.TypeAXFR)
	ANY        = Type(mdns.TypeANY)
	CAA        = Type(mdns.TypeCAA)
)

const (
	avc   = Type(mdns.TypeAVC)
	ninfo = Type(mdns.TypeNINFO)
	uinfo = Type(mdns.TypeUINFO)
)

// isText reports that the data of the type is one text, in any number of strings, so that a bare value has one meaning
// (S5.2). RESINFO is not among them: its strings are a list of keys (RFC 9606 §3).
func (t Type) isText() bool {
	switch t {
	case TXT, SPF, avc, ninfo, uinfo:
		return true
	}
	return false
}

// mnemonics and numbers are the two directions of the type registry, without
// the placeholders ("None", "Reserved") that miekg/dns keeps in its own.
var mnemonics, numbers = func() (map[Type]string, map[string]Type) {
	toText := make(map[Type]string, len(mdns.TypeToString))
	toType := make(map[string]Type, len(mdns.TypeToString))
	for number, text := range mdns.TypeToString {
		if number == mdns.TypeNone || number == mdns.TypeReserved {
			continue
		}
		toText[Type(number)] = text
		toType[text] = Type(number)
	}
	return toText, toType
}()

// foreign are mnemonics that servers write and the library does not know. They
// are read; such a type is written TYPE123, which every server reads.
var foreign = map[string]Type{"WKS": typeWKS, "NSAP": typeNSAP, "A6": typeA6, "SINK": typeSINK, "DOA": typeDOA, "WALLET": typeWALLET, "DSYNC": typeDSYNC, "HHIT": typeHHIT, "BRID": typeBRID}

// ParseType reads a mnemonic in any case, or TYPE123 (RFC 3597 §5), and
// normalises: TYPE1 is A (S4.3).
func ParseType(text string) (Type, error) {
	if t, ok := numbers[text]; ok {
		return t, nil
	}
	const longest = len("NSEC3PARAM")
	if len(text) <= longest {
		upper := upperASCII(text)
		if t, ok := numbers[upper]; ok {
			return t, nil
		}
		if t, ok := foreign[upper]; ok {
			return t, nil
		}
		if digits, ok := strings.CutPrefix(upper, "TYPE"); ok {
			if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
				return Type(n), nil
			}
			return 0, fmt.Errorf("type %s: the number of an unknown type is 0 to 65535, as in \"TYPE65280\" (RFC 3597 §5)", quote(text))
		}
	}
	return 0, fmt.Errorf("type %s is not known; write a mnemonic such as \"AAAA\", or \"TYPE\" and a number (RFC 3597 §5)", quote(text))
}

// Single reports that a name has at most one value of the type: servers refuse a zone with two (S5.5; RFC 9606 §4 of
// RESINFO).
func (t Type) Single() bool {
	return t == CNAME || t == DNAME || t == Type(mdns.TypeRESINFO)
}

// BySigner reports that a server which signs a zone makes records of the type by itself: a zone is the same signed and
// unsigned when all others are. DS is not among them, it is data of the parent. Type 65534 is where BIND notes what it
// has still to sign.
func (t Type) BySigner() bool {
	switch t {
	case DNSKEY, RRSIG, NSEC, NSEC3, NSEC3PARAM, CDS, CDNSKEY, ZONEMD, 65534:
		return true
	}
	return false
}

// ByNumber reports that the format of the type is unknown: its data is octets (RFC 3597), and only a rule that names
// the type allows it (S4.3).
func (t Type) ByNumber() bool {
	switch t {
	case typeNSAP, typeDSYNC, typeHHIT, typeBRID, typeWALLET, // judged as octets, by CheckLoadable
		typeUNSPEC: // holds any
		return false
	}
	return !planOf(t).known()
}

// upperASCII leaves other scripts alone: to strings.ToUpper "ſrv" is "SRV".
func upperASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

// String returns the mnemonic, or TYPE123 for a type without one.
func (t Type) String() string {
	switch t {
	case A:
		return "A"
	case AAAA:
		return "AAAA"
	}
	if text, ok := mnemonics[t]; ok {
		return text
	}
	return "TYPE" + strconv.Itoa(int(t))
}

// MarshalText returns what String returns.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what ParseType reads.
func (t *Type) UnmarshalText(text []byte) error {
	parsed, err := ParseType(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

// CheckRecord returns why a type cannot be a Record, nil if it can (S5.3).
func (t Type) CheckRecord() error {
	switch t {
	case SOA:
		return fmt.Errorf("type SOA cannot be a Record: the SOA is made from the Zone; set refresh, retry, expire, negativeResponseCache, primaryNameServer or contact there")
	case RRSIG, NSEC, NSEC3, NSEC3PARAM, Type(mdns.TypeSIG), Type(mdns.TypeNXT):
		return fmt.Errorf("type %s cannot be a Record: signing a zone makes it; sign on a secondary", t)
	case OPT, TKEY, TSIG:
		return fmt.Errorf("type %s cannot be a Record: it belongs to a message, not to a zone", t)
	case Type(mdns.TypeNULL):
		return fmt.Errorf("type NULL cannot be a Record: it is not allowed in master files (RFC 1035 §3.3.10)")
	case Type(mdns.TypeMD), Type(mdns.TypeMF):
		return fmt.Errorf("type %s cannot be a Record: servers refuse zones with it since RFC 973; use MX", t)
	case Type(mdns.TypeMB), Type(mdns.TypeMG), Type(mdns.TypeMR), Type(mdns.TypeDLV), Type(mdns.TypeRKEY):
		return fmt.Errorf("type %s cannot be a Record: it is obsolete, and no way to write it in a master file is read by every server, so one would refuse the whole zone", t)
	case typeALIAS, typeLUA:
		return fmt.Errorf("type %s cannot be a Record: PowerDNS takes it for an instruction of its own, and would run it or refuse the whole zone", t)
	case 0, Type(mdns.TypeReserved):
		return fmt.Errorf("type %s cannot be a Record: it is reserved (RFC 6895 §3.1)", t)
	}
	if 128 <= t && t <= 255 {
		return fmt.Errorf("type %s cannot be a Record: 128 to 255 are question and meta types (RFC 6895 §3.1)", t)
	}
	if t.ByNumber() && judged[t] {
		return fmt.Errorf("type %s cannot be a Record: some servers judge its data and would refuse the whole zone, and its format is not known here", t)
	}
	return nil
}
