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
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/law/content"
)

type notification struct {
	fqdn   name.Name
	serial serial.Serial
	soa    content.Packed
	traces []string
}

// unconfirmed is the error of a NOTIFY without the answer NOERROR. answer is a short name for operators: the RCODE
// (REFUSED), the TSIG error (BADKEY), NoAnswer or Unsigned.
type unconfirmed struct {
	answer string
	err    error
}

func (e *unconfirmed) Error() string { return e.err.Error() }

func (e *unconfirmed) Unwrap() error { return e.err }

// sendTo sends the NOTIFY once, and returns nil if the target confirms it, else mostly an *unconfirmed. from is the
// local address of the socket, which the target compares with its list of primaries; invalid if no socket was opened.
func (n *notification) sendTo(ctx context.Context, config *Config, served netip.Addr, target Target, key *tsig.SigningKey) (
	from netip.Addr, err error) {
	conn, err := dialFrom(served, target.Addr)
	if err != nil {
		return netip.Addr{}, err
	}
	defer conn.Close()
	if at, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		from = at.AddrPort().Addr().Unmap()
	}
	return from, n.exchangeOn(ctx, conn, config, key)
}

// exchangeOn sends the NOTIFY on a socket and waits for the answer, at most NotifyTimeout. Datagrams of strangers do
// not end the wait.
func (n *notification) exchangeOn(ctx context.Context, conn *net.UDPConn, config *Config, key *tsig.SigningKey) error {
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
	doubt := error(&unconfirmed{answerNone, errors.New("no answer")}) // why no answer has counted so far

	for {
		size, err := conn.Read(buf)
		if err != nil {
			// The kernel got an ICMP message: the machine is there, without a DNS server.
			if errors.Is(err, syscall.ECONNREFUSED) {
				return &unconfirmed{answerNone, fmt.Errorf("nothing listens there: %w", err)}
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
	// From ::1 no socket reaches 192.0.2.53, and from 192.0.2.1 none reaches ::1.
	if !served.IsUnspecified() && sameFamily && sameScope {
		conn, err := net.DialUDP("udp", &net.UDPAddr{IP: served.AsSlice(), Zone: served.Zone()}, target)
		if err == nil {
			return conn, nil
		}
	}
	return net.DialUDP("udp", nil, target)
}

// packNotify returns a NOTIFY with the zone's SOA as a hint, and the MAC if key is not nil. The MAC is needed to verify
// the answer.
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
			return false, &unconfirmed{"Unsigned", fmt.Errorf("unsigned answer with rcode %d", rcode)}
		}
		// Only the key of the NOTIFY counts. Another key of the same server could belong to another tenant.
		verdict := (tsig.Keyring{key.Name: key}).Verify(msg, answer.signature, mac, now)
		isValid := !verdict.Malformed && verdict.Err == 0 && verdict.Key == key
		if !isValid {
			return false, &unconfirmed{cmp.Or(tsigErrors[answer.signature.Err], "BADSIG"),
				fmt.Errorf("answer with rcode %d, TSIG error %d and a signature that does not hold", rcode, answer.signature.Err)}
		}
	}

	// Even a refusal is an answer: no other datagram can be a better one.
	if rcode != rcodeSuccess {
		return true, &unconfirmed{cmp.Or(rcodeText(rcode), fmt.Sprintf("RCODE%d", rcode)),
			fmt.Errorf("answered with rcode %d (%s)", rcode, cmp.Or(notifyRefusals[rcode], rcodeText(rcode), "unexpected"))}
	}
	return true, nil
}

// answerNone is the answer of a target that is silent.
const answerNone = "NoAnswer"

// tsigErrors are those of RFC 8945 §5.
var tsigErrors = map[uint16]string{16: "BADSIG", 17: "BADKEY", 18: "BADTIME"}

var notifyRefusals = map[uint16]string{
	rcodeRefused: "REFUSED: the target does not accept this server as its primary",
	rcodeNotAuth: "NOTAUTH: the target does not have the zone",
}
