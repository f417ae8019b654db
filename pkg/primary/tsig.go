// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	mdns "github.com/miekg/dns"
)

// TSIG errors, RFC 8945 §3 and §5.2.
const (
	tsigBadSig   = 16
	tsigBadKey   = 17
	tsigBadTime  = 18
	tsigBadTrunc = 22
)

var tsigErrors = map[uint16]string{
	tsigBadSig: "BADSIG", tsigBadKey: "BADKEY", tsigBadTime: "BADTIME", tsigBadTrunc: "BADTRUNC",
}

// fudge is the clock difference that signatures allow: ours, and at most those of peers. RFC 8945 §10 recommends the
// value. The answer to an update is kept no longer.
const fudge = 300 * time.Second

// wire forms the digest needs, computed once a key.
type signingKey struct {
	Key
	nameWire      []byte
	algorithmWire []byte
}

func newSigningKey(k Key) (*signingKey, error) {
	s := &signingKey{Key: k}
	var err error
	if s.nameWire, err = wireName(k.Name); err != nil {
		return nil, err
	}
	s.algorithmWire, err = wireName(string(k.Algorithm))
	return s, err
}

// sameAs reports whether both sign alike.
func (k *signingKey) sameAs(other *signingKey) bool {
	return k.Name == other.Name && k.Algorithm == other.Algorithm && hmac.Equal(k.secret, other.secret)
}

func wireName(text string) ([]byte, error) {
	buf := make([]byte, 256)
	n, err := mdns.PackDomainName(text, buf, 0, nil, false)
	return buf[:n:n], err
}

func (k *signingKey) newMAC() hash.Hash { return hmac.New(k.Algorithm.hash(), k.secret) }

func (k *signingKey) macLen() int { return k.Algorithm.hash()().Size() }

// tsigLen is the size of a TSIG record of this key with a full MAC and no other data.
func (k *signingKey) tsigLen() int {
	return len(k.nameWire) + 10 + len(k.algorithmWire) + 16 + k.macLen()
}

// stamp is what a TSIG record says beside key and MAC.
type stamp struct {
	time  uint64
	fudge uint16
	err   uint16
	other []byte
}

func (p stamp) appendTimers(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(p.time>>32))
	b = binary.BigEndian.AppendUint32(b, uint32(p.time))
	return binary.BigEndian.AppendUint16(b, p.fudge)
}

func stampAt(now time.Time) stamp {
	return stamp{time: uint64(now.Unix()) & (1<<48 - 1), fudge: uint16(fudge / time.Second)}
}

// computeMAC is the MAC over a message (RFC 8945 §4.3): the MAC before it if any, the message
// as its signer saw it, then all TSIG variables, or the timers alone for the second and
// later messages of a stream (§5.3.1). msg is cut before the TSIG record; its ID and
// ARCOUNT are taken from the arguments.
func (k *signingKey) computeMAC(prior []byte, msg []byte, id, arcount uint16, p stamp, timersOnly bool) []byte {
	h := k.newMAC()
	var scratch [64]byte
	if prior != nil {
		h.Write(binary.BigEndian.AppendUint16(scratch[:0], uint16(len(prior))))
		h.Write(prior)
	}
	head := append(scratch[:0], msg[:headerLen]...)
	binary.BigEndian.PutUint16(head, id)
	binary.BigEndian.PutUint16(head[10:], arcount)
	h.Write(head)
	h.Write(msg[headerLen:])
	if timersOnly {
		h.Write(p.appendTimers(scratch[:0]))
		return h.Sum(nil)
	}
	h.Write(k.nameWire)
	h.Write([]byte{0, classANY, 0, 0, 0, 0})
	h.Write(k.algorithmWire)
	b := p.appendTimers(scratch[:0])
	b = binary.BigEndian.AppendUint16(b, p.err)
	b = binary.BigEndian.AppendUint16(b, uint16(len(p.other)))
	h.Write(b)
	h.Write(p.other)
	return h.Sum(nil)
}

// signMessage appends a TSIG record to msg and returns the message and its MAC, which is the
// prior of the next message of a stream. prior is the request's MAC, the previous
// message's, or nil for a request.
func (k *signingKey) signMessage(msg, prior []byte, p stamp, timersOnly bool) (signed, mac []byte) {
	id := binary.BigEndian.Uint16(msg)
	arcount := binary.BigEndian.Uint16(msg[10:])
	mac = k.computeMAC(prior, msg, id, arcount, p, timersOnly)
	return appendTSIG(msg, k.nameWire, k.algorithmWire, mac, p), mac
}

// appendTSIG appends a TSIG record, with an empty MAC where the error forbids to sign
// (RFC 8945 §5.3.2).
func appendTSIG(msg, nameWire, algorithmWire, mac []byte, p stamp) []byte {
	id := binary.BigEndian.Uint16(msg)
	binary.BigEndian.PutUint16(msg[10:], binary.BigEndian.Uint16(msg[10:])+1)
	msg = append(msg, nameWire...)
	msg = append(msg, 0, typeTSIG, 0, classANY, 0, 0, 0, 0)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(algorithmWire)+16+len(mac)+len(p.other)))
	msg = append(msg, algorithmWire...)
	msg = p.appendTimers(msg)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(mac)))
	msg = append(msg, mac...)
	msg = binary.BigEndian.AppendUint16(msg, id)
	msg = binary.BigEndian.AppendUint16(msg, p.err)
	msg = binary.BigEndian.AppendUint16(msg, uint16(len(p.other)))
	return append(msg, p.other...)
}

// verdict is what verifying a signature found.
type verdict struct {
	key       *signingKey // nil when the key is not known
	malformed bool        // RFC 8945 §5.2.2.1 case 1 and 3: FORMERR
	// otherAlgorithm is the key that is known under the name, where the message names another algorithm.
	otherAlgorithm *signingKey
	err            uint16 // zero: the signature holds
}

// verifySignature judges the signature of a message in the order of RFC 8945 §5.2: key, MAC, time,
// truncation. prior is nil for a request and the request's MAC for a response.
func (r keyring) verifySignature(msg []byte, s *signature, prior []byte, now time.Time) verdict {
	k, ok := r[s.key]
	if !ok {
		return verdict{err: tsigBadKey}
	}
	if string(k.Algorithm) != s.algorithm {
		return verdict{err: tsigBadKey, otherAlgorithm: k}
	}
	full := k.macLen()
	if len(s.mac) > full || len(s.mac) < max(10, full/2) {
		return verdict{key: k, malformed: true}
	}
	p := stamp{time: s.time, fudge: s.fudge, err: s.err, other: s.other}
	arcount := binary.BigEndian.Uint16(msg[10:]) - 1
	want := k.computeMAC(prior, msg[:s.at], s.originID, arcount, p, false)
	if !hmac.Equal(want[:len(s.mac)], s.mac) {
		return verdict{key: k, err: tsigBadSig}
	}
	now48 := uint64(now.Unix()) & (1<<48 - 1)
	if apart := max(now48, s.time) - min(now48, s.time); apart > min(uint64(s.fudge), uint64(fudge/time.Second)) {
		return verdict{key: k, err: tsigBadTime}
	}
	if len(s.mac) < full { // our policy: a whole MAC or none
		return verdict{key: k, err: tsigBadTrunc}
	}
	return verdict{key: k}
}

// keyring finds a key by its canonical name.
type keyring map[string]*signingKey

// newKeyring checks keys and finds them by name; its error names all faults, and what is right is in it nevertheless.
func newKeyring(list []Key) (keyring, error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	keys := keyring{}
	for i, k := range list {
		if k.secret == nil {
			fault("Keys[%d]: no key; make one with NewKey, ParseKeys or ReadKeyFile", i)
			continue
		}
		if _, twice := keys[k.Name]; twice {
			fault("Keys[%d]: %q stands twice; names must differ", i, k)
		}
		signing, err := newSigningKey(k)
		if err != nil {
			fault("Keys[%d]: %w", i, err)
			continue
		}
		keys[k.Name] = signing
	}
	return keys, errors.Join(faults...)
}

// MAC is the key's whole MAC over parts, one after the other. It lets a client of other servers sign with a key from
// the same file, while the secret stays here.
func (k Key) MAC(parts ...[]byte) []byte {
	mac := (&signingKey{Key: k}).newMAC()
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
