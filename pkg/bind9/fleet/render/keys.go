// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
)

type Key struct {
	Name      string
	Algorithm bind9.KeyAlgorithm
	Secret    []byte
}

// TransferKeys are the TSIG keys for zone transfers of a group of BIND servers. Servers and the hidden primary read new
// keys at different times, so a rotation takes three steps:
//
//   - Key still signs, and Next is accepted too.
//   - Next becomes Key and signs. The old key becomes Former, and is still accepted.
//   - Former is removed.
type TransferKeys struct {
	Key
	// Next and Former are nil outside a rotation, and never both set.
	Next, Former *Key
	// CreatedAt is when the newest key was made, SteppedAt when the rotation last took a step.
	CreatedAt, SteppedAt time.Time
}

func (k *TransferKeys) SecondKey() *Key { return cmp.Or(k.Next, k.Former) }

func (k *TransferKeys) Names() string {
	if other := k.SecondKey(); other != nil {
		return k.Name + " " + other.Name
	}
	return k.Name
}

const (
	annotationMade    = labelPrefix + "key-made-at"
	annotationStepped = labelPrefix + "key-stepped-at"
)

func (k *TransferKeys) annotations() map[string]string {
	annotations := map[string]string{}
	for name, at := range map[string]time.Time{annotationMade: k.CreatedAt, annotationStepped: k.SteppedAt} {
		if !at.IsZero() {
			annotations[name] = at.UTC().Format(time.RFC3339)
		}
	}
	return annotations
}

const keyOctets = 32

// NewKey replaces the "*" in name by a hash of the secret.
func NewKey(name string, algorithm bind9.KeyAlgorithm, random io.Reader) (Key, error) {
	secret := make([]byte, keyOctets)
	if _, err := io.ReadFull(random, secret); err != nil {
		return Key{}, fmt.Errorf("making a key: %w", err)
	}
	algorithm = cmp.Or(algorithm, bind9.KeyHMACSHA256)
	sum := sha256.Sum256(append([]byte("name of the key\x00"), secret...))
	return Key{Name: strings.Replace(name, "*", hex.EncodeToString(sum[:8]), 1), Algorithm: algorithm, Secret: secret}, nil
}

// Control keys have the entries of the operator bindy, TSIG keys those of a DNSClass.
const (
	dataKeyName, dataAlgorithm, dataSecret = "key-name", "algorithm", "secret"
	dataFormer, dataNext                   = "former-", "next-"
	dataTSIGName                           = "name"
	dataToken                              = "token"
	dataAuthority                          = "ca.crt"
)

var (
	keyNames      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$`)
	keyAlgorithms = map[bind9.KeyAlgorithm]bool{bind9.KeyHMACSHA256: true, bind9.KeyHMACSHA384: true, bind9.KeyHMACSHA512: true}
)

const minSecret = 16

var ErrKey = errors.New("no usable key")

func (k *Key) check() error {
	switch {
	case !keyNames.MatchString(k.Name):
		return fmt.Errorf("name of the key: letters, digits, \".\", \"-\" and \"_\", at most 253")
	case !keyAlgorithms[k.Algorithm]:
		return fmt.Errorf("algorithm of the key: hmac-sha256, hmac-sha384 or hmac-sha512")
	case len(k.Secret) < minSecret:
		return fmt.Errorf("secret of the key: has fewer than %d octets", minSecret)
	}
	return nil
}

// readKey reads a key from a Secret's data and checks it. The default algorithm is hmac-sha256, as in a DNSClass.
func readKey(data map[string][]byte, nameKey, prefix string) (Key, error) {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data[prefix+dataSecret])))
	if err != nil {
		return Key{}, fmt.Errorf("data[%q] is not base64; write it as tsig-keygen does", prefix+dataSecret)
	}
	key := Key{
		Name:      strings.TrimSpace(string(data[prefix+nameKey])),
		Algorithm: bind9.KeyAlgorithm(strings.ToLower(strings.TrimSpace(string(data[prefix+dataAlgorithm])))),
		Secret:    secret,
	}
	key.Algorithm = cmp.Or(key.Algorithm, bind9.KeyHMACSHA256)
	return key, key.check()
}

func ReadControlKey(data map[string][]byte) (Key, error) { return readKey(data, dataKeyName, "") }

// ReadTransferKeys reads the keys of a group from the Secret. The error is ErrKey if a key is missing or wrong. Missing
// times are zero.
func ReadTransferKeys(annotations map[string]string, data map[string][]byte) (TransferKeys, error) {
	current, err := readKey(data, dataTSIGName, "")
	if err != nil {
		return TransferKeys{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	keys := TransferKeys{Key: current}
	keys.CreatedAt, _ = time.Parse(time.RFC3339, annotations[annotationMade])
	keys.SteppedAt, _ = time.Parse(time.RFC3339, annotations[annotationStepped])
	for prefix, other := range map[string]**Key{dataNext: &keys.Next, dataFormer: &keys.Former} {
		// Outside a rotation there is one key.
		if len(data[prefix+dataSecret]) == 0 {
			continue
		}
		key, err := readKey(data, dataTSIGName, prefix)
		if err != nil {
			return TransferKeys{}, fmt.Errorf("%w: data[%q]: %w", ErrKey, prefix+dataSecret, err)
		}
		*other = &key
	}
	// Edited by hand: both are never set by a rotation.
	if keys.Next != nil {
		keys.Former = nil
	}
	return keys, nil
}

// ReadAccess reads token and certificates of an agent. After an error, make both again.
func ReadAccess(data map[string][]byte) (Access, error) {
	a := Access{
		Token: strings.TrimSpace(string(data[dataToken])), Certificate: data[corev1.TLSCertKey], PrivateKey: data[corev1.TLSPrivateKeyKey],
		Authority: data[dataAuthority],
	}
	if len(a.Token) < minSecret || strings.ContainsAny(a.Token, " \t\r\n") {
		return Access{}, fmt.Errorf("data[%q] is no token of at least %d characters", dataToken, minSecret)
	}
	if min(len(a.Certificate), len(a.PrivateKey), len(a.Authority)) == 0 {
		return Access{}, errors.New("the certificate of the agent is missing")
	}
	return a, nil
}

func (k *Key) data(nameKey, prefix string) map[string][]byte {
	return map[string][]byte{
		prefix + nameKey:       []byte(k.Name),
		prefix + dataAlgorithm: []byte(k.Algorithm),
		prefix + dataSecret:    []byte(base64.StdEncoding.EncodeToString(k.Secret)),
	}
}

// formatStatements returns the key statements of named.conf. During a rotation the new or former key follows the
// signing key, because the agent signs with the first.
func (k *TransferKeys) formatStatements() (string, error) {
	if err := k.check(); err != nil {
		return "", err
	}
	other := k.SecondKey()
	if other == nil {
		return k.statement(), nil
	}
	if err := other.check(); err != nil {
		return "", err
	}
	if other.Name == k.Name {
		return "", errors.New("two keys have one name")
	}
	return k.statement() + other.statement(), nil
}

func (k *TransferKeys) formatList() string {
	text := fmt.Sprintf("key %q;", k.Name)
	if other := k.SecondKey(); other != nil {
		text += fmt.Sprintf(" key %q;", other.Name)
	}
	return text
}

func (k *Key) statement() string {
	return fmt.Sprintf("key %q {\n\talgorithm %s;\n\tsecret %q;\n};\n", k.Name, k.Algorithm, base64.StdEncoding.EncodeToString(k.Secret))
}
