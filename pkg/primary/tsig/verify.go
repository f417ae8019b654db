// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package tsig

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

const (
	BadSig   = 16
	BadKey   = 17
	BadTime  = 18
	BadTrunc = 22
)

var ErrorNames = map[uint16]string{BadSig: "BADSIG", BadKey: "BADKEY", BadTime: "BADTIME", BadTrunc: "BADTRUNC"}

type Signature struct {
	Offset         int // offset in the message
	Key, Algorithm string
	Time           uint64
	Fudge          uint16
	MAC            []byte
	OriginID       uint16
	Err            uint16
	OtherData      []byte
}

type Verdict struct {
	Key       *SigningKey // nil if unknown
	Malformed bool        // the MAC has an impossible length (RFC 8945 §5.2.2.1): FORMERR
	// OtherAlgorithm is the key with the signature's name, if the key has another algorithm.
	OtherAlgorithm *SigningKey
	Err            uint16 // zero means valid
}

type Keyring map[string]*SigningKey

func NewKeyring(list []Key) (Keyring, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	keys := Keyring{}
	for i, k := range list {
		if k.secret == nil {
			fault("Keys[%d]: no key; make one with NewKey, ParseKeys or ReadKeyFile", i)
			continue
		}
		if _, twice := keys[k.Name]; twice {
			fault("Keys[%d]: %q stands twice; names must differ", i, k)
		}
		signing, err := NewSigningKey(k)
		if err != nil {
			fault("Keys[%d]: %w", i, err)
			continue
		}
		keys[k.Name] = signing
	}
	return keys, errors.Join(faults...)
}

// Verify checks key, MAC, time and truncation, in the order of RFC 8945 §5.2. prior is the request's MAC if msg is a
// response.
func (r Keyring) Verify(msg []byte, s *Signature, prior []byte, now time.Time) Verdict {
	k, ok := r[s.Key]
	if !ok {
		return Verdict{Err: BadKey}
	}
	if string(k.Algorithm) != s.Algorithm {
		return Verdict{Err: BadKey, OtherAlgorithm: k}
	}

	full := k.macLen()
	if len(s.MAC) > full || len(s.MAC) < max(10, full/2) {
		return Verdict{Key: k, Malformed: true}
	}

	p := Stamp{Time: s.Time, Fudge: s.Fudge, Err: s.Err, OtherData: s.OtherData}
	arcount := binary.BigEndian.Uint16(msg[10:]) - 1
	want := k.computeMAC(prior, msg[:s.Offset], s.OriginID, arcount, p, false)
	if !hmac.Equal(want[:len(s.MAC)], s.MAC) {
		return Verdict{Key: k, Err: BadSig}
	}

	// The sender may only narrow the permitted difference of the clocks.
	now48 := uint64(now.Unix()) & (1<<48 - 1)
	if apart := max(now48, s.Time) - min(now48, s.Time); apart > min(uint64(s.Fudge), uint64(Fudge/time.Second)) {
		return Verdict{Key: k, Err: BadTime}
	}

	if len(s.MAC) < full { // policy: whole MACs only
		return Verdict{Key: k, Err: BadTrunc}
	}
	return Verdict{Key: k}
}
