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
	j := &verifier{key: key, first: true}
	question.SetTsig(key.Name, key.Algorithm, fudge, time.Now().Unix())
	packed, mac, err := mdns.TsigGenerateWithProvider(question, j, "", false)
	j.mac = mac
	return packed, j, err
}

func (j *verifier) Generate(digested []byte, _ *mdns.TSIG) ([]byte, error) {
	return j.key.MAC(digested), nil
}

// Verify checks the MAC over a message and the unsigned messages before it. miekg/dns leaves the unsigned messages out
// of the digested octets, so Verify inserts them after the previous MAC.
func (j *verifier) Verify(digested []byte, t *mdns.TSIG) error {
	if mdns.CanonicalName(t.Hdr.Name) != j.key.Name || mdns.CanonicalName(t.Algorithm) != j.key.Algorithm {
		return fmt.Errorf("it is signed with key %s (%s), not with %s (%s)", t.Hdr.Name, t.Algorithm, j.key.Name, j.key.Algorithm)
	}
	got, err := hex.DecodeString(t.MAC)
	if err != nil {
		return err
	}
	end := 2 + int(binary.BigEndian.Uint16(digested)) // of the previous MAC
	if !hmac.Equal(j.key.MAC(digested[:end], j.pending, digested[end:]), got) {
		return errors.New("the signature does not hold: the secrets differ, or the message was changed on its way")
	}
	return nil
}

func (j *verifier) verifyMessage(raw []byte, m *mdns.Msg) error {
	if j == nil {
		return nil
	}
	t := m.IsTsig()
	if t == nil {
		if j.unsigned++; j.first || j.unsigned > maxUnsigned {
			return fmt.Errorf("message without a signature, %d in a row: the first has to be signed and one in a hundred after it; "+
				"the server may not know the key", j.unsigned)
		}
		j.pending = append(j.pending, raw...)
		return nil
	}
	if err := mdns.TsigVerifyWithProvider(raw, j, j.mac, !j.first); err != nil {
		if errors.Is(err, mdns.ErrTime) {
			err = fmt.Errorf("the signature is of another time: %w; compare the clocks", err)
		}
		return fmt.Errorf("TSIG: %w", err)
	}
	j.mac, j.first, j.pending, j.unsigned = t.MAC, false, nil, 0
	return nil
}

func (j *verifier) verifyEnd() error {
	if j != nil && j.unsigned > 0 {
		return errors.New("TSIG: the last message is not signed, so the end of the zone is not proven")
	}
	return nil
}
