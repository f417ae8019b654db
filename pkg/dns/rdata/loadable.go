// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// CheckLoadable returns an error if BIND, Knot, NSD or PowerDNS would reject a zone with the rdata in wire, although
// Parse or ParseStored accepts it. With such a record, a tenant could block all others.
func CheckLoadable(t Type, wire []byte) error {
	if form, hasDigest := digestForms[t]; hasDigest {
		return form.checkDigest(wire)
	}
	// No table of functions: through one, each value would move to the heap.
	switch t {
	case DNSKEY, CDNSKEY:
		return checkKey(wire)
	case CERT:
		return checkCertificate(wire)
	case CAA:
		return checkTagLength(wire)
	case NAPTR:
		return checkRewrite(wire)
	case SVCB, HTTPS:
		return checkParams(wire)
	case SPF:
		return checkStrings(wire)
	case URI:
		return checkTarget(wire)
	case LOC:
		return checkSizes(wire)
	case IPSECKEY:
		return checkGateway(wire)
	case CSYNC:
		return checkTypes(wire)
	}
	return nil
}

func checkCertificate(wire []byte) error {
	if wire[0]|wire[1] == 0 {
		return errors.New("certificate type 0 is reserved (RFC 4398 §2.1); write the type of the certificate, as in \"1\" (PKIX)")
	}
	return checkPrivateAlgorithm(wire[4], wire[5:])
}

// checkTagLength bounds the tag of a CAA. RFC 8659 has no such limit, but NSD rejects the file.
func checkTagLength(wire []byte) error {
	if n := int(wire[1]); n > maxTag {
		return fmt.Errorf("the tag has %d characters, and more than %d are read by not every server (RFC 6844 §5.1); "+
			"write one as IANA registers them, as in \"0 issue ca.example.net\"", n, maxTag)
	}
	return nil
}

func checkRewrite(wire []byte) error {
	d := newDecoder(wire[4:], noMark)
	_, _ = d.readString(), d.readString() // flags and services
	return checkSubstitution(d.readString())
}

func checkStrings(wire []byte) error {
	count := 0
	for rest := wire; len(rest) > 0; count++ {
		rest = rest[1+int(rest[0]):]
	}
	if count > maxFields {
		return fmt.Errorf("an SPF with %d strings, and more than %d stop the transfer of its zone to NSD; write longer strings, "+
			"or a TXT, which RFC 7208 §3.1 wants instead", count, maxFields)
	}
	return nil
}

func checkTarget(wire []byte) error {
	if len(wire) == 4 {
		return errors.New("the target of a URI is not empty (RFC 7553 §4.4), and PowerDNS reads a zero octet there; name one, " +
			"as in \"10 1 \\\"https://www.example.org/\\\"\"")
	}
	return nil
}

// checkSizes bounds the sizes of a LOC. PowerDNS reads a larger size as 4,000 km, and does not find the record in an
// IXFR.
func checkSizes(wire []byte) error {
	for _, size := range wire[1:4] {
		if centimetres := float64(size>>4) * math.Pow10(int(size&0xf)); centimetres > 4e8 {
			return errors.New("a size or precision over 4,000 km is read otherwise by some servers; write \"4000000m\" at most")
		}
	}
	return nil
}

// checkGateway refuses an IPSECKEY without a gateway. PowerDNS does not read such a file, and NSD no root as gateway.
func checkGateway(wire []byte) error {
	gatewayType, algorithm := wire[1], wire[2]
	gateway := []byte(nil) // the name, if the gateway is one
	if gatewayType == 3 {
		d := newDecoder(wire[3:], noMark)
		gateway = d.readName(nil)
	}
	switch {
	case gatewayType == 0, string(gateway) == ".":
		return errors.New("an IPSECKEY without a gateway is read by not every server; name the gateway, " +
			"as in \"10 3 2 gw.example.org. AQNR...\"")
	case bytes.Contains(gateway, []byte(`\000`)):
		return errors.New("the gateway of an IPSECKEY has a zero octet in its name, where some servers end it; name a host")
	case algorithm != 1 && algorithm != 2:
		return errors.New("the algorithm of an IPSECKEY is 1 (DSA) or 2 (RSA), others are read by not every server")
	}
	return nil
}

func checkTypes(wire []byte) error {
	if len(wire) > 8 && wire[6] == 0 && wire[8]&0x80 != 0 {
		return errors.New("the list has type 0, which is none; leave it out")
	}
	return nil
}

// maxFields is the maximum number of fields in a value that NSD reads from a file.
const maxFields = 64

const maxTag = 15

// digestForm describes a digest at the end of a value. The octet before, at the index algorithm, chooses the length.
type digestForm struct {
	algorithm int
	what      string
	lengths   map[int]int
}

var (
	delegationDigests = digestForm{3, "digest type", map[int]int{1: 20, 2: 32, 3: 32, 4: 48}}
	fingerprints      = digestForm{1, "fingerprint type", map[int]int{1: 20, 2: 32}}
	// SHA-256 and SHA-512. The four load every length, but a digest of another length is none (RFC 6698 §2.1.3):
	// clients do not use it.
	associations = digestForm{2, "matching type", map[int]int{1: 32, 2: 64}}
	digestForms  = map[Type]digestForm{DS: delegationDigests, CDS: delegationDigests, SSHFP: fingerprints,
		TLSA: associations, SMIMEA: associations}
)

func (f *digestForm) checkDigest(wire []byte) error {
	algorithm, octets := int(wire[f.algorithm]), len(wire)-f.algorithm-1
	if want, ok := f.lengths[algorithm]; ok && octets != want {
		return fmt.Errorf("%s %d has digests of %d octets, this one has %d; write all %d hexadecimal digits", f.what, algorithm, want,
			octets, 2*want)
	}
	return nil
}

func checkKey(wire []byte) error {
	if binary.BigEndian.Uint16(wire)&0xc000 == 0xc000 {
		return errors.New("the flags say that there is no key, and a key follows (RFC 2535 §3.1.2); correct the flags")
	}
	return checkPrivateAlgorithm(wire[3], wire[4:])
}

// checkPrivateAlgorithm returns an error if the key or certificate of a private algorithm does not begin with the
// identifier of the algorithm.
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
			return errors.New("data of algorithm 254 begins with a length octet and the identifier of the algorithm (RFC 4034 §A.1.1); " +
				"put them in front")
		}
	}
	return nil
}
