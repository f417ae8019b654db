// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"
)

const (
	serverCookieLen = 16 // version, reserved, time, MAC: the layout of RFC 9018 §4
	cookieLen       = 4 + clientCookieLen + serverCookieLen

	// cookieLife is how long one is good for, and cookieSkew how far ahead its time may be (RFC 9018 §4.3).
	cookieLife = time.Hour
	cookieSkew = 5 * time.Minute

	// unprovenLimit is the most octets of a UDP answer to a source that nothing proves, neither TSIG nor a cookie. An
	// attacker that forges an allowed address gets no more out of it than of DNS as it was before EDNS (attack 35).
	unprovenLimit = 512
)

// cookies make and verify the server cookies of this process (RFC 7873). A client that has one has received an answer
// at its address. The MAC is HMAC-SHA-256, cut, and not SipHash as in RFC 9018, which only matters to servers that
// share a secret; these do not. A restart makes them void, which costs a peer one short answer.
type cookies struct{ secret [sha256.Size]byte }

func newCookies() *cookies {
	c := new(cookies)
	_, _ = rand.Read(c.secret[:]) // never fails (crypto/rand)
	return c
}

// appendCookie appends the option for a client: its cookie and ours.
func (c *cookies) appendCookie(b, client []byte, from netip.Addr, now time.Time) []byte {
	b = binary.BigEndian.AppendUint16(b, optionCookie)
	b = binary.BigEndian.AppendUint16(b, clientCookieLen+serverCookieLen)
	b = append(b, client...)
	head := binary.BigEndian.AppendUint32([]byte{1, 0, 0, 0}, uint32(now.Unix()))
	b = append(b, head...)
	return append(b, c.computeMAC(client, head, from)...)
}

func (c *cookies) computeMAC(client, head []byte, from netip.Addr) []byte {
	h := hmac.New(sha256.New, c.secret[:])
	h.Write(client)
	h.Write(head)
	address := from.Unmap().As16()
	h.Write(address[:])
	return h.Sum(nil)[:serverCookieLen-8]
}

// provesSource reports whether a cookie, the client's part and ours, was made for this source lately.
func (c *cookies) provesSource(cookie []byte, from netip.Addr, now time.Time) bool {
	if len(cookie) != clientCookieLen+serverCookieLen {
		return false
	}
	client, head, mac := cookie[:clientCookieLen], cookie[clientCookieLen:clientCookieLen+8], cookie[clientCookieLen+8:]
	age := time.Duration(int32(uint32(now.Unix())-binary.BigEndian.Uint32(head[4:]))) * time.Second // RFC 1982
	return age >= -cookieSkew && age <= cookieLife && hmac.Equal(mac, c.computeMAC(client, head, from))
}
