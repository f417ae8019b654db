// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"net/url"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	HeaderTimestamp = "X-DNS-Timestamp"
	HeaderNonce     = "X-DNS-Nonce"
	HeaderSignature = "X-DNS-Signature"
)

// Window is the maximum difference between a timestamp and the server's clock. Servers remember each nonce as long.
const Window = 5 * time.Minute

type Algorithm string

const (
	SHA256 Algorithm = "SHA256"
	SHA512 Algorithm = "SHA512"
)

func (a Algorithm) hash() (func() hash.Hash, error) {
	switch a {
	case SHA256:
		return sha256.New, nil
	case SHA512:
		return sha512.New, nil
	}
	return nil, fmt.Errorf("algorithm %q: use SHA256 or SHA512", string(a))
}

func (a Algorithm) Validate() error {
	_, err := a.hash()
	return err
}

// Signed is the data covered by the HMAC.
type Signed struct {
	Method string
	// Path is as sent: escaped, with the base path, without a query.
	Path      string
	Timestamp string
	Nonce     string
	Body      []byte
}

func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// MAC panics for an invalid algorithm.
func (s Signed) MAC(algorithm Algorithm, secret []byte) []byte {
	make, err := algorithm.hash()
	if err != nil {
		panic(err)
	}
	mac := hmac.New(make, secret)
	mac.Write([]byte(s.Method + "\n" + s.Path + "\n" + s.Timestamp + "\n" + s.Nonce))
	// A GET or DELETE has no body, and no line break at the end.
	if len(s.Body) > 0 {
		mac.Write([]byte{'\n'})
		mac.Write(s.Body)
	}
	return mac.Sum(nil)
}

// Signature returns the MAC in lower case hexadecimal, as sent.
func (s Signed) Signature(algorithm Algorithm, secret []byte) string {
	return hex.EncodeToString(s.MAC(algorithm, secret))
}

const (
	HealthPath  = "/health"
	RecordsPath = "/records"
	BatchPath   = "/records/batch"
)

// RecordPath returns the escaped path /records/{type}/{domain}/{subdomain}; an error for the root zone, whose name
// without its dot is empty.
func RecordPath(zone, owner name.Name, t rdata.Type) (string, error) {
	domain, subdomain, err := split(zone, owner)
	if err != nil {
		return "", err
	}
	return RecordsPath + "/" + Segment(t.String()) + "/" + Segment(domain) + "/" + Segment(subdomain), nil
}

const unescaped = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-*@"

// Segment escapes all octets except letters, digits, ".", "_", "-", "*" and "@" as %XX in upper case.
func Segment(text string) string {
	var escaped strings.Builder
	for i := range len(text) {
		if strings.IndexByte(unescaped, text[i]) >= 0 {
			escaped.WriteByte(text[i])
		} else {
			fmt.Fprintf(&escaped, "%%%02X", text[i])
		}
	}
	return escaped.String()
}

// ParseRecordPath is the inverse of RecordPath, for the part after RecordsPath. Errors are *Error.
func ParseRecordPath(escaped string) (zone, owner name.Name, t rdata.Type, err error) {
	segments := strings.Split(strings.TrimPrefix(escaped, "/"), "/")
	if len(segments) != 3 {
		return zone, owner, t, Refuse(CodeInvalidRecord, "the path must be /records/{type}/{domain}/{subdomain}")
	}
	for i, segment := range segments {
		if segments[i], err = url.PathUnescape(segment); err != nil {
			return zone, owner, t, Refuse(CodeInvalidRecord, "a segment of the path is no percent-encoding")
		}
	}
	return parseKey(segments[0], segments[1], segments[2])
}
