// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	mdns "github.com/miekg/dns"
)

// The rules here are beyond the syntax. Servers refuse a whole zone for one record that breaks them, by transfer or as
// a file, so that one tenant could block all others in the zone (S5.7).

// CheckLoadable checks that BIND, Knot, NSD and PowerDNS all load a zone with wire rdata that Parse or ParseStored has
// found well-formed (S5.7).
func CheckLoadable(t Type, wire []byte) error {
	switch uint16(t) {
	case mdns.TypeDS, mdns.TypeCDS, mdns.TypeDLV, mdns.TypeTA:
		return checkDigest("digest type", int(wire[3]), len(wire)-4, delegationDigests)
	case mdns.TypeSSHFP:
		return checkDigest("fingerprint type", int(wire[1]), len(wire)-2, fingerprints)
	case mdns.TypeZONEMD:
		if len(wire)-6 < 12 {
			return errors.New("a digest of less than 12 octets (RFC 8976 §2.2.4); write the whole digest")
		}
		return checkDigest("hash algorithm", int(wire[5]), len(wire)-6, zoneDigests)
	case mdns.TypeKEY, mdns.TypeDNSKEY, mdns.TypeCDNSKEY:
		return checkKey(wire)
	case mdns.TypeRKEY:
		if wire[0]|wire[1] != 0 {
			return errors.New("the flags of an RKEY are 0; write \"0\"")
		}
		return checkPrivateAlgorithm(wire[3], wire[4:])
	case mdns.TypeCERT:
		if wire[0]|wire[1] == 0 {
			return errors.New("certificate type 0 is reserved (RFC 4398 §2.1); write the type of the certificate, as in \"1\" (PKIX)")
		}
		return checkPrivateAlgorithm(wire[4], wire[5:])
	case mdns.TypeCAA:
		// RFC 8659 has no such bound any more; NSD refuses a zone file with a longer tag.
		if n := int(wire[1]); n > maxTag {
			return fmt.Errorf("the tag has %d characters, and more than %d are read by not every server (RFC 6844 §5.1); write one as IANA registers them, as in \"0 issue ca.example.net\"", n, maxTag)
		}
	case mdns.TypeNAPTR:
		d := newDecoder(wire[4:], noMark)
		_, _ = d.readString(), d.readString() // flags and services
		return checkSubstitution(d.readString())
	case mdns.TypeSVCB, mdns.TypeHTTPS:
		return checkParams(wire)
	case mdns.TypeSPF:
		count := 0
		for rest := wire; len(rest) > 0; count++ {
			rest = rest[1+int(rest[0]):]
		}
		if count > maxFields {
			return fmt.Errorf("an SPF with %d strings, and more than %d stop the transfer of its zone to NSD; write longer strings, or a TXT, which RFC 7208 §3.1 wants instead", count, maxFields)
		}
	case mdns.TypeURI:
		if len(wire) == 4 {
			return errors.New("the target of a URI is not empty (RFC 7553 §4.4), and PowerDNS reads a zero octet there; name one, as in \"10 1 \\\"https://www.example.org/\\\"\"")
		}
	case mdns.TypeLOC:
		// PowerDNS reads 4,000 km instead, and does not find the record that an IXFR removes.
		for _, size := range wire[1:4] {
			if exponent := size & 0xf; exponent > 8 && size>>4 > 0 || exponent == 8 && size>>4 > 4 {
				return errors.New("a size or precision over 4,000 km is read otherwise by some servers; write \"4000000m\" at most")
			}
		}
	case mdns.TypeIPSECKEY:
		// PowerDNS has no text for these, and does not read them from a file.
		if wire[1] == 0 || wire[1] == 3 && wire[3] == 0 { // NSD refuses the root
			return errors.New("an IPSECKEY without a gateway is read by not every server; name the gateway, as in \"10 3 2 gw.example.org. AQNR...\"")
		}
		if wire[1] == 3 {
			d := newDecoder(wire[3:], noMark)
			if gateway := d.readName(nil); *d.err != nil || bytes.Contains(gateway, []byte(`\000`)) {
				return errors.New("the gateway of an IPSECKEY has a zero octet in its name, where some servers end it; name a host")
			}
		}
		if wire[2] != 1 && wire[2] != 2 {
			return errors.New("the algorithm of an IPSECKEY is 1 (DSA) or 2 (RSA), others are read by not every server")
		}
	case mdns.TypeCSYNC:
		if len(wire) > 8 && wire[6] == 0 && wire[8]&0x80 != 0 {
			return errors.New("the list has type 0, which is none; leave it out")
		}
	case mdns.TypeAPL:
		if len(wire) == 0 {
			return errors.New("an APL without prefixes (RFC 3123 §4 lets it be empty) is read by not every server: PowerDNS reads no zone file with one; list a prefix, as in \"1:192.0.2.0/24\"")
		}
		prefixes := 0
		for rest := wire; len(rest) > 0; prefixes++ {
			address, octets := make([]byte, 4), int(rest[3]&0x7f)
			if rest[1] == 2 {
				address = make([]byte, 16)
			}
			copy(address, rest[4:4+octets])
			addr, _ := netip.AddrFromSlice(address)
			if prefix := netip.PrefixFrom(addr, int(rest[2])); prefix.Masked() != prefix {
				return fmt.Errorf("%s has bits beyond its prefix length, which PowerDNS clears; write %s", prefix, prefix.Masked())
			}
			rest = rest[4+octets:]
		}
		if prefixes > maxFields {
			return fmt.Errorf("an APL with %d prefixes, and more than %d are read by not every server: NSD reads no zone file with one; write several APL values", prefixes, maxFields)
		}
	case typeDSYNC:
		// RFC 9859 §3: an RR type, a scheme, a port and a target that is not compressed.
		d := newDecoder(wire, noMark)
		if d.take(5); *d.err != nil {
			return errors.New("a DSYNC holds an RR type, a scheme, a port and a target (RFC 9859 §3), and this one ends before the target; write all of it")
		}
		target := d.readName(nil)
		if *d.err != nil || len(d.rest) > 0 {
			return errors.New("a DSYNC ends in the name of its target, written out (RFC 9859 §3); correct the octets after the fifth")
		}
		if !isHost(string(target)) {
			return fmt.Errorf("the target of a DSYNC is a host, and %s is no host name: labels are letters, digits and inner hyphens (RFC 1123 §2.1); name a host", quote(string(target)))
		}
	case typeHHIT, typeBRID:
		if len(wire) == 0 {
			return errors.New("it has no octets, and the type holds a CBOR array (RFC 9886 §5); write it")
		}
	case typeNSAP:
		if len(wire) == 0 {
			return errors.New("an NSAP address has at least one octet")
		}
	case typeWALLET:
		d := newDecoder(wire, noMark)
		if d.readField(t, kindStrings, nil, nil); *d.err != nil {
			return errors.New("a WALLET holds character-strings; write each with its length octet")
		}
	}
	return nil
}

// Types that servers know and the library does not.
const (
	typeWKS    = 11
	typeNSAP   = 22
	typeATMA   = 34
	typeA6     = 38
	typeSINK   = 40
	typeDSYNC  = 66
	typeHHIT   = 67
	typeBRID   = 68
	typeUNSPEC = 103
	typeDOA    = 259
	typeWALLET = 262
	typeALIAS  = 65401 // of PowerDNS, among the private ones
	typeLUA    = 65402
)

// isHost reports that an absolute name is a host name.
func isHost(text string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(text, "."), ".") {
		if strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// maxFields is the number of fields of a value that NSD reads from a zone file.
const maxFields = 64

// maxTag is the maximum length of the tag of a CAA.
const maxTag = 15

// Octets by algorithm number (IANA); read only.
var (
	delegationDigests = map[int]int{1: 20, 2: 32, 3: 32, 4: 48}
	fingerprints      = map[int]int{1: 20, 2: 32}
	zoneDigests       = map[int]int{1: 48, 2: 64}
)

// checkDigest compares the length of a digest with what its algorithm makes;
// other algorithms may have any.
func checkDigest(what string, algorithm, octets int, lengths map[int]int) error {
	if want, ok := lengths[algorithm]; ok && octets != want {
		return fmt.Errorf("%s %d has digests of %d octets, this one has %d; write all %d hexadecimal digits", what, algorithm, want, octets, 2*want)
	}
	return nil
}

func checkKey(wire []byte) error {
	if binary.BigEndian.Uint16(wire)&0xc000 == 0xc000 {
		return errors.New("the flags say that there is no key, and a key follows (RFC 2535 §3.1.2); correct the flags")
	}
	return checkPrivateAlgorithm(wire[3], wire[4:])
}

// checkPrivateAlgorithm: keys of the private algorithms begin with a name or
// an object identifier that says which one it is (RFC 4034 §A.1.1).
func checkPrivateAlgorithm(algorithm byte, key []byte) error {
	const privateDNS, privateOID = 253, 254
	switch algorithm {
	case privateDNS:
		d := newDecoder(key, noMark)
		if d.readName(nil); *d.err != nil || len(d.rest) == 0 {
			return errors.New("data of algorithm 253 begins with the name of the algorithm (RFC 4034 §A.1.1); put it in front")
		}
	case privateOID:
		if n := len(key); n == 0 || int(key[0]) >= n-1 {
			return errors.New("data of algorithm 254 begins with a length octet and the identifier of the algorithm (RFC 4034 §A.1.1); put them in front")
		}
	}
	return nil
}
