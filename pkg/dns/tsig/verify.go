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

// NewKeyring indexes keys by name. The error joins all faults; keys without a fault are in the Keyring all the same.
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

// Verify checks key, MAC, time and truncation, in the order of RFC 8945 §5.2. If msg is a response, requestMAC is the
// MAC of the request.
func (r Keyring) Verify(msg []byte, signature *Signature, requestMAC []byte, now time.Time) Verdict {
	key, ok := r[signature.Key]
	if !ok {
		return Verdict{Err: BadKey}
	}
	if string(key.Algorithm) != signature.Algorithm {
		return Verdict{Err: BadKey, OtherAlgorithm: key}
	}

	full := key.macLen()
	shortest := max(10, full/2)
	// RFC 8945 §5.2.2.1: at least 10 octets and half of the hash.
	if len(signature.MAC) > full || len(signature.MAC) < shortest {
		return Verdict{Key: key, Malformed: true}
	}

	const timersOnly = false
	stamp := Stamp{Time: signature.Time, Fudge: signature.Fudge, Err: signature.Err, OtherData: signature.OtherData}
	arcount := binary.BigEndian.Uint16(msg[10:]) - 1
	// Compute before the time is checked: without a valid MAC, BADTIME would tell this server's time to strangers.
	wanted := key.computeMAC(requestMAC, msg[:signature.Offset], signature.OriginID, arcount, stamp, timersOnly)
	if !hmac.Equal(wanted[:len(signature.MAC)], signature.MAC) {
		return Verdict{Key: key, Err: BadSig}
	}

	// The sender may only narrow the permitted difference of the clocks.
	permitted := min(uint64(signature.Fudge), uint64(Fudge/time.Second))
	now48 := uint64(now.Unix()) & (1<<48 - 1)
	apart := max(now48, signature.Time) - min(now48, signature.Time)
	if apart > permitted {
		return Verdict{Key: key, Err: BadTime}
	}

	if len(signature.MAC) < full { // policy: whole MACs only
		return Verdict{Key: key, Err: BadTrunc}
	}
	return Verdict{Key: key}
}
