// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strings"
)

// isKey reports whether a text is a DKIM key (RFC 6376 §3.6.1). The version may be absent below _domainkey, where other
// texts are, too, as "dkim=all" at _adsp._domainkey.
func isKey(owner string, tags []tag) bool {
	version, _ := valueOf(tags, "v")
	_, hasKey := valueOf(tags, "p")
	return strings.EqualFold(version, "DKIM1") || hasKey && hasLabel(owner, "_domainkey")
}

// keyFault returns the mistake of a DKIM key. An empty p is right: it revokes the key.
func keyFault(owner string, tags []tag) string {
	first, _, _ := strings.Cut(strings.ToLower(owner), ".")
	if first != "*" && !hasLabel(owner, "_domainkey", "domainkey", "dkim") {
		return "is a DKIM key, and receivers ask for it only below _domainkey: write it at SELECTOR._domainkey (RFC 6376 §3.6.2.1)"
	}
	if version, found := valueOf(tags, "v"); found && (version != "DKIM1" || tags[0].key != "v") {
		return `has no "v=DKIM1;" as its first tag, in capitals, and receivers ignore the key: write it so (RFC 6376 §3.6.1)`
	}
	written, _ := valueOf(tags, "p")
	der, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Join(strings.Fields(written), ""), "="))
	kind, _ := valueOf(tags, "k")
	faultOf := keyFaults[strings.ToLower(kind)]
	switch {
	case err != nil:
		return "has a p that is no base64, so receivers cannot read the key: copy it whole, without other characters (RFC 6376 §3.6.1)"
	case len(der) == 0, faultOf == nil:
		return ""
	}
	return faultOf(der)
}

// keyFaults has the kinds of keys. Without k, the key is RSA (RFC 6376 §3.6.1).
var keyFaults = map[string]func(der []byte) string{"": rsaFault, "rsa": rsaFault, "ed25519": ed25519Fault}

func ed25519Fault(der []byte) string {
	if len(der) == ed25519.PublicKeySize {
		return ""
	}
	return fmt.Sprintf("has an Ed25519 key of %d octets instead of %d: copy it whole (RFC 8463 §4.2)", len(der),
		ed25519.PublicKeySize)
}

// minRSABits is the least size of keys whose signatures receivers verify (RFC 8301 §3.2).
const minRSABits = 1024

// rsaFault returns the mistake of an RSA key in DER: too short, or with its end missing.
func rsaFault(der []byte) string {
	parsed, err := x509.ParsePKIXPublicKey(der)
	key, isRSA := parsed.(*rsa.PublicKey)
	if err != nil {
		key, err = x509.ParsePKCS1PublicKey(der) // as RFC 6376 §3.6.1 is read by some
		isRSA = err == nil
	}
	switch {
	case isRSA && key.N.BitLen() < minRSABits:
		return fmt.Sprintf("has an RSA key of %d bits, whose signatures receivers do not take: make one of 2048 (RFC 8301 §3.2)",
			key.N.BitLen())
	case !isRSA && isCutOff(der):
		return "has an RSA key whose end is missing, so receivers cannot read it: copy it whole (RFC 6376 §3.6.1)"
	}
	return ""
}

// isCutOff reports whether an ASN.1 sequence announces more octets than follow.
func isCutOff(der []byte) bool {
	if len(der) < 4 || der[0] != 0x30 {
		return false
	}
	announced := int(der[1]) + 2
	switch der[1] { // 0x81 and 0x82: the length follows in one or two octets
	case 0x81:
		announced = int(der[2]) + 3
	case 0x82:
		announced = int(der[2])<<8 + int(der[3]) + 4
	}
	return announced > len(der)
}
