// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package tsig

import (
	"crypto/hmac"
	"encoding/binary"
	"hash"
	"time"

	mdns "github.com/miekg/dns"
)

// Fudge is the permitted clock difference of signatures made here, and the largest accepted (RFC 8945 §10).
const Fudge = 300 * time.Second

const (
	headerLen = 12
	typeTSIG  = 250
	classANY  = 255
)

type SigningKey struct {
	Key
	nameWire      []byte
	algorithmWire []byte
}

func NewSigningKey(k Key) (*SigningKey, error) {
	s := &SigningKey{Key: k}
	var err error
	if s.nameWire, err = packName(k.Name); err != nil {
		return nil, err
	}
	s.algorithmWire, err = packName(string(k.Algorithm))
	return s, err
}

func (k *SigningKey) SameAs(other *SigningKey) bool {
	return k.Name == other.Name && k.Algorithm == other.Algorithm && hmac.Equal(k.secret, other.secret)
}

func packName(text string) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := mdns.PackDomainName(text, buf, 0, nil, false)
	return buf[:n:n], err
}

func (k Key) newMAC() hash.Hash { return hmac.New(k.Algorithm.hash(), k.secret) }

func (k *SigningKey) macLen() int { return k.Algorithm.hash()().Size() }

func (k *SigningKey) RecordLen() int {
	return len(k.nameWire) + 10 + len(k.algorithmWire) + 16 + k.macLen()
}

type Stamp struct {
	Time      uint64 // unix seconds, 48 bits
	Fudge     uint16 // seconds
	Err       uint16
	OtherData []byte
}

func (p Stamp) appendTimers(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p.Time>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(p.Time))
	return binary.BigEndian.AppendUint16(b, p.Fudge)
}

func StampAt(now time.Time) Stamp {
	return Stamp{Time: uint64(now.Unix()) & (1<<48 - 1), Fudge: uint16(Fudge / time.Second)}
}

// computeMAC returns the HMAC of priorMAC (the previous message's MAC, or nil), msg and the TSIG variables. The values
// id and arcount replace those in the header of msg (RFC 8945 §4.3, §5.3.1). If timersOnly is true, as in later
// messages of a transfer, time and fudge are the only variables.
func (k *SigningKey) computeMAC(priorMAC []byte, msg []byte, id, arcount uint16, stamp Stamp, timersOnly bool) []byte {
	mac := k.newMAC()
	var scratch [64]byte
	if priorMAC != nil {
		mac.Write(binary.BigEndian.AppendUint16(scratch[:0], uint16(len(priorMAC))))
		mac.Write(priorMAC)
	}

	// A forwarder may have changed the ID, and the TSIG itself is not counted (RFC 8945 §4.3.2).
	header := append(scratch[:0], msg[:headerLen]...)
	binary.BigEndian.PutUint16(header, id)
	binary.BigEndian.PutUint16(header[10:], arcount)
	mac.Write(header)
	mac.Write(msg[headerLen:])

	if timersOnly {
		mac.Write(stamp.appendTimers(scratch[:0]))
		return mac.Sum(nil)
	}

	mac.Write(k.nameWire)
	mac.Write([]byte{0, classANY, 0, 0, 0, 0})
	mac.Write(k.algorithmWire)
	b := stamp.appendTimers(scratch[:0])
	b = binary.BigEndian.AppendUint16(b, stamp.Err)
	b = binary.BigEndian.AppendUint16(b, uint16(len(stamp.OtherData)))
	mac.Write(b)
	mac.Write(stamp.OtherData)
	return mac.Sum(nil)
}

// Sign appends a TSIG record to msg. priorMAC is the MAC of the request or of the stream's previous message, or nil for
// a request.
func (k *SigningKey) Sign(msg, priorMAC []byte, stamp Stamp, timersOnly bool) (signed, mac []byte) {
	id := binary.BigEndian.Uint16(msg)
	arcount := binary.BigEndian.Uint16(msg[10:])
	mac = k.computeMAC(priorMAC, msg, id, arcount, stamp, timersOnly)
	return appendRecord(msg, k.nameWire, k.algorithmWire, mac, stamp), mac
}

// AppendUnsigned appends a TSIG record without a MAC, for errors that forbid signing (RFC 8945 §5.3.2). It returns
// false if a name cannot be packed.
func AppendUnsigned(msg []byte, s *Signature, err uint16) ([]byte, bool) {
	nameWire, nameErr := packName(s.Key)
	algorithmWire, algorithmErr := packName(s.Algorithm)
	if nameErr != nil || algorithmErr != nil {
		return msg, false
	}
	return appendRecord(msg, nameWire, algorithmWire, nil, Stamp{Time: s.Time, Fudge: s.Fudge, Err: err}), true
}

// appendRecord appends a TSIG record and raises the ARCOUNT of msg, in place. A nil mac is the empty MAC of an unsigned
// error.
func appendRecord(msg, nameWire, algorithmWire, mac []byte, p Stamp) []byte {
	id := binary.BigEndian.Uint16(msg)
	binary.BigEndian.PutUint16(msg[10:], binary.BigEndian.Uint16(msg[10:])+1)
	msg = append(msg, nameWire...)
	msg = append(msg, 0, typeTSIG, 0, classANY, 0, 0, 0, 0)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(algorithmWire)+16+len(mac)+len(p.OtherData)))
	msg = append(msg, algorithmWire...)
	msg = p.appendTimers(msg)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(mac)))
	msg = append(msg, mac...)
	msg = binary.BigEndian.AppendUint16(msg, id)
	msg = binary.BigEndian.AppendUint16(msg, p.Err)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(p.OtherData)))
	return append(msg, p.OtherData...)
}

// MAC returns the MAC of the concatenated parts, for other protocols.
func (k Key) MAC(parts ...[]byte) []byte {
	mac := k.newMAC()
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
