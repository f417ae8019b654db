// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
)

// Type is an RR type number (IANA "Resource Record (RR) TYPEs").
type Type uint16

const (
	A          Type = 1
	NS         Type = 2
	CNAME      Type = 5
	SOA        Type = 6
	PTR        Type = 12
	HINFO      Type = 13
	MX         Type = 15
	TXT        Type = 16
	RP         Type = 17
	AFSDB      Type = 18
	AAAA       Type = 28
	LOC        Type = 29
	SRV        Type = 33
	NAPTR      Type = 35
	KX         Type = 36
	CERT       Type = 37
	DNAME      Type = 39
	DS         Type = 43
	SSHFP      Type = 44
	IPSECKEY   Type = 45
	DNSKEY     Type = 48
	DHCID      Type = 49
	TLSA       Type = 52
	SMIMEA     Type = 53
	CDS        Type = 59
	CDNSKEY    Type = 60
	OPENPGPKEY Type = 61
	CSYNC      Type = 62
	SVCB       Type = 64
	HTTPS      Type = 65
	SPF        Type = 99
	NID        Type = 104
	L32        Type = 105
	L64        Type = 106
	LP         Type = 107
	EUI48      Type = 108
	EUI64      Type = 109
	URI        Type = 256
	CAA        Type = 257
)

const (
	OPT        Type = 41
	RRSIG      Type = 46
	NSEC       Type = 47
	NSEC3      Type = 50
	NSEC3PARAM Type = 51
	ZONEMD     Type = 63
	TKEY       Type = 249
	TSIG       Type = 250
	IXFR       Type = 251
	AXFR       Type = 252
	ANY        Type = 255
)

func (t Type) isText() bool { return t == TXT || t == SPF }

const otherNames = `MD 3 MF 4 MB 7 MG 8 MR 9 NULL 10 MINFO 14 X25 19 ISDN 20 RT 21 NSAP-PTR 23 SIG 24 KEY 25 PX 26 GPOS 27 NXT 30
	EID 31 NIMLOC 32 ATMA 34 OPT 41 APL 42 RRSIG 46 NSEC 47 NSEC3 50 NSEC3PARAM 51 HIP 55 NINFO 56 RKEY 57 TALINK 58 ZONEMD 63
	UINFO 100 UID 101 GID 102 UNSPEC 103 NXNAME 128 TKEY 249 TSIG 250 IXFR 251 AXFR 252 MAILB 253 MAILA 254 ANY 255 AVC 258
	AMTRELAY 260 RESINFO 261 TA 32768 DLV 32769`

// namesRead contains mnemonics of BIND that are parsed but not written, because every server reads TYPE123.
const namesRead = `WKS 11 NSAP 22 A6 38 SINK 40 DSYNC 66 HHIT 67 BRID 68 DOA 259 WALLET 262`

// judgeTable contains the types known to BIND, Knot, NSD or PowerDNS, each with the servers that know it.
// test/interop/known_types writes the table, and fails if the installed servers know others.
//
//go:embed judges.txt
var judgeTable string

var judged = func() map[Type]bool {
	types := map[Type]bool{}
	for line := range strings.Lines(judgeTable) {
		number, _, _ := strings.Cut(line, "\t")
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			types[Type(n)] = true
		}
	}
	return types
}()

var mnemonics, numbers = func() (map[Type]string, map[string]Type) {
	toText, toType := map[Type]string{}, map[string]Type{}
	words := strings.Fields(otherNames + " " + namesRead)
	for i := 0; i < len(words); i += 2 {
		if n, err := strconv.ParseUint(words[i+1], 10, 16); err == nil {
			toText[Type(n)], toType[words[i]] = words[i], Type(n)
		}
	}
	for i, read := 0, strings.Fields(namesRead); i < len(read); i += 2 {
		delete(toText, toType[read[i]])
	}
	for _, f := range formats {
		toText[f.rtype], toType[f.name] = f.name, f.rtype
	}
	return toText, toType
}()

// ParseType parses a mnemonic in any case, or a number such as TYPE123 (RFC 3597 §5). TYPE1 is A.
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
		if digits, ok := strings.CutPrefix(upper, "TYPE"); ok {
			if n, err := strconv.ParseUint(digits, 10, 16); err == nil {
				return Type(n), nil
			}
			return 0, fmt.Errorf("type %s: the number of an unknown type is 0 to 65535, as in \"TYPE65280\" (RFC 3597 §5)", quote(text))
		}
	}
	remedy := `write a mnemonic such as "AAAA", or "TYPE" and a number (RFC 3597 §5)`
	isAlias := slices.Contains([]string{"ALIAS", "ANAME", "AWS"}, strings.ToUpper(text)) // cli53 exports a line AWS ALIAS A
	if isAlias {
		remedy = "for an alias write A and AAAA with the addresses of the host, and HTTPS for browsers (docs/recipes.md)"
	}
	return 0, fmt.Errorf("type %s is not known; %s", quote(text), remedy)
}

func (t Type) Single() bool { return t == CNAME || t == DNAME }

// BySigner reports whether a signing server makes such records itself. All other types, DS included, are equal in the
// signed and the unsigned zone. BIND uses type 65534 for pending signatures.
func (t Type) BySigner() bool {
	switch t {
	case DNSKEY, RRSIG, NSEC, NSEC3, NSEC3PARAM, CDS, CDNSKEY, ZONEMD, 65534:
		return true
	}
	return false
}

// upperASCII maps only ASCII letters to upper case. strings.ToUpper would map "ſrv" to "SRV".
func upperASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, text)
}

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

func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t *Type) UnmarshalText(text []byte) error {
	parsed, err := ParseType(string(text))
	if err != nil {
		return err
	}
	*t = parsed
	return nil
}

func quote(text string) string { return name.Quote(text) }
