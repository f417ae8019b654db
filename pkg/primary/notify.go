// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary/tsig"
)

type notification struct {
	fqdn   name.Name
	serial serial.Serial
	soa    content.Packed
	traces []string
}

func (n *notification) sendTo(ctx context.Context, config *Config, served netip.Addr, target Target, key *tsig.SigningKey) error {
	conn, err := dialFrom(served, target.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	conn.SetDeadline(time.Now().Add(config.NotifyTimeout))

	msg, mac, err := n.packNotify(key, config.Clock())
	if err != nil {
		return err
	}
	if _, err := conn.Write(msg); err != nil {
		return err
	}

	buf := make([]byte, 4096)
	doubt := errors.New("no answer") // why no answer has counted so far

	for {
		size, err := conn.Read(buf)
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) {
				return fmt.Errorf("nothing listens there: %w", err)
			}
			return fmt.Errorf("%w: %w", doubt, err)
		}

		answered, err := readNotifyAnswer(buf[:size], binary.BigEndian.Uint16(msg), key, mac, config.Clock())
		if answered {
			return err
		}
		if err != nil { // untrusted; reported if no better answer comes
			doubt = err
		}
	}
}

// dialFrom returns a UDP socket for a NOTIFY, from the listener's address if possible, because secondaries accept
// NOTIFYs only from their primaries.
func dialFrom(served netip.Addr, to netip.AddrPort) (*net.UDPConn, error) {
	target := net.UDPAddrFromAddrPort(to)
	sameFamily := served.Is4() == to.Addr().Is4()
	sameScope := served.IsLoopback() == to.Addr().IsLoopback()
	if !served.IsUnspecified() && sameFamily && sameScope {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: served.AsSlice(), Zone: served.Zone()}, target)
		if err == nil {
			return conn, nil
		}
	}
	return net.DialUDP("udp", nil, target)
}

func (n *notification) packNotify(key *tsig.SigningKey, now time.Time) (msg, mac []byte, err error) {
	var id [2]byte
	rand.Read(id[:])
	zone, err := packName(n.fqdn.String())
	if err != nil {
		return nil, nil, err
	}
	question := append(zone, 0, typeSOA, 0, classIN)

	m := newSmallMessage()
	m.beginMessage(binary.BigEndian.Uint16(id[:]), opcodeNotify<<11|flagAA, question, n.fqdn, udpLimit)
	if len(n.soa.Rdata) > 0 { // a hint (RFC 1996 §3.7), left out if too large
		if _, err := m.addAnswer(n.soa.Owner, n.soa.Type, n.soa.TTL, n.soa.Rdata[0]); err != nil && !errors.Is(err, errTooLarge) {
			return nil, nil, err
		}
	}

	msg = m.finishMessage()
	if key != nil {
		msg, mac = key.Sign(msg, nil, tsig.StampAt(now), false)
	}
	return msg, mac, nil
}

// readNotifyAnswer reports whether msg answers the NOTIFY with the given ID. The error is not nil if the target refused
// the NOTIFY. If key is not nil, an answer without a valid signature does not count, and the error describes it.
func readNotifyAnswer(msg []byte, id uint16, key *tsig.SigningKey, mac []byte, now time.Time) (answered bool, err error) {
	isResponse := len(msg) >= headerLen && msg[2]&0x80 != 0
	if !isResponse {
		return false, nil
	}

	answer, state := readMessage(msg)
	isToNotify := state == readable && answer.id == id && answer.opcode == opcodeNotify
	if !isToNotify {
		return false, nil
	}

	rcode := answer.flags & 0xF
	if key != nil {
		if answer.signature == nil {
			return false, fmt.Errorf("unsigned answer with rcode %d", rcode)
		}
		verdict := (tsig.Keyring{key.Name: key}).Verify(msg, answer.signature, mac, now)
		isValid := !verdict.Malformed && verdict.Err == 0 && verdict.Key == key
		if !isValid {
			return false, fmt.Errorf("answer with rcode %d, TSIG error %d and a signature that does not hold", rcode, answer.signature.Err)
		}
	}

	if rcode != rcodeSuccess {
		return true, fmt.Errorf("answered with rcode %d (%s)", rcode, cmp.Or(notifyRefusals[rcode], rcodeText(rcode), "unexpected"))
	}
	return true, nil
}

var notifyRefusals = map[uint16]string{
	rcodeRefused: "REFUSED: the target does not accept this server as its primary",
	rcodeNotAuth: "NOTAUTH: the target does not have the zone",
}
