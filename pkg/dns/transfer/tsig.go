// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"crypto/hmac"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	mdns "github.com/miekg/dns"
)

// Key is a TSIG key. The caller keeps the secret.
type Key struct {
	Name      string // canonical: lower case, ending in a dot
	Algorithm string // canonical: "hmac-sha256."
	MAC       func(parts ...[]byte) []byte
}

const (
	// fudge is the permitted clock difference in seconds (RFC 8945 §10).
	fudge = 300
	// maxUnsigned limits the unsigned messages in a row (RFC 8945 §5.3.1).
	maxUnsigned = 99
)

// verifier verifies the TSIG of an answer with several messages, such as a zone transfer. The server need not sign
// every message. A signature covers its message, the unsigned messages before it, and the MAC of the last signed
// message. A nil verifier accepts every message.
type verifier struct {
	key Key
	// mac is the MAC of the last signed message, which at first is the request.
	mac string
	// first is true until the first message is verified.
	first bool
	// pending contains the unsigned messages since the last signed message, and unsigned is their number.
	pending  []byte
	unsigned int
}

var _ mdns.TsigProvider = (*verifier)(nil)

func sign(question *mdns.Msg, key Key) ([]byte, *verifier, error) {
	v := &verifier{key: key, first: true}
	question.SetTsig(key.Name, key.Algorithm, fudge, time.Now().Unix())
	packed, mac, err := mdns.TsigGenerateWithProvider(question, v, "", false)
	v.mac = mac
	return packed, v, err
}

func (v *verifier) Generate(digested []byte, _ *mdns.TSIG) ([]byte, error) {
	return v.key.MAC(digested), nil
}

// Verify checks the MAC over a message and the unsigned messages before it. miekg/dns leaves the unsigned messages out
// of the digested octets, so Verify inserts them after the previous MAC.
func (v *verifier) Verify(digested []byte, tsig *mdns.TSIG) error {
	if mdns.CanonicalName(tsig.Hdr.Name) != v.key.Name || mdns.CanonicalName(tsig.Algorithm) != v.key.Algorithm {
		return fmt.Errorf("it is signed with key %s (%s), not with %s (%s)", tsig.Hdr.Name, tsig.Algorithm, v.key.Name, v.key.Algorithm)
	}
	signature, err := hex.DecodeString(tsig.MAC)
	if err != nil {
		return err
	}
	macEnd := 2 + int(binary.BigEndian.Uint16(digested)) // the previous MAC comes first, after its length
	if !hmac.Equal(v.key.MAC(digested[:macEnd], v.pending, digested[macEnd:]), signature) {
		return errors.New("the signature does not hold: the secrets differ, or the message was changed on its way")
	}
	return nil
}

// verifyMessage verifies the signature of a message, or keeps an unsigned message for the next signature. raw are the
// octets of m. A nil v accepts each message.
func (v *verifier) verifyMessage(raw []byte, m *mdns.Msg) error {
	if v == nil {
		return nil
	}
	t := m.IsTsig()
	if t == nil {
		// A server may sign only each hundredth message of a transfer, but always the first.
		if v.unsigned++; v.first || v.unsigned > maxUnsigned {
			return fmt.Errorf("message without a signature, %d in a row: the first has to be signed and one in a hundred after it; "+
				"the server may not know the key", v.unsigned)
		}
		v.pending = append(v.pending, raw...)
		return nil
	}
	if err := mdns.TsigVerifyWithProvider(raw, v, v.mac, !v.first); err != nil {
		if errors.Is(err, mdns.ErrTime) {
			err = fmt.Errorf("the signature is of another time: %w; compare the clocks", err)
		}
		return fmt.Errorf("TSIG: %w", err)
	}
	// The next signature covers this MAC (RFC 8945 §5.3.1).
	v.mac, v.first, v.pending, v.unsigned = t.MAC, false, nil, 0
	return nil
}

func (v *verifier) verifyEnd() error {
	if v != nil && v.unsigned > 0 {
		return errors.New("TSIG: the last message is not signed, so the end of the zone is not proven")
	}
	return nil
}
