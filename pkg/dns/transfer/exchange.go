// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Refusal is returned if a server answers with an error, or if the TSIG signature of an answer is not valid.
type Refusal struct {
	// Rcode is the RCODE of the answer, for example 5 for REFUSED. TSIG is the error in its signature (RFC 8945 §3),
	// for example 17 for BADKEY, or 0 for none.
	Rcode, TSIG int
	// Signed is true if the answer's signature is valid. Any host on the path can forge an unsigned answer.
	Signed    bool
	verifyErr error  // why the signature is not valid, or nil
	hint      string // advice for the reader, or ""
}

func (r *Refusal) Error() string {
	code := mdns.RcodeToString[r.Rcode]
	switch {
	// The TSIG error names the cause: the RCODE is NOTAUTH for each of them (RFC 8945 §5.2).
	case r.TSIG != 0:
		return fmt.Sprintf("%s, TSIG error %s: %s", code, mdns.RcodeToString[r.TSIG], explainTSIG(r.TSIG))
	case r.hint != "":
		return code + ": " + r.hint
	}
	if r.verifyErr != nil {
		return fmt.Sprintf("the server answers %s: %v", code, r.verifyErr)
	}
	return "the server answers " + code
}

func explainTSIG(code int) string {
	switch code {
	case mdns.RcodeBadKey:
		return "the server has no key of this name and algorithm; add the key there, or correct name and algorithm"
	case mdns.RcodeBadSig:
		return "the server's key of this name has another secret; give both ends the same secret"
	case mdns.RcodeBadTime:
		return "the clocks are too far apart; set the wrong clock"
	}
	return "the server does not take the key; compare name, algorithm and secret"
}

func (r *Refusal) Unwrap() error { return r.verifyErr }

func newRefusal(m *mdns.Msg, key *Key, verifyErr error) *Refusal {
	r := &Refusal{Rcode: m.Rcode, Signed: key != nil && verifyErr == nil, verifyErr: verifyErr}
	if t := m.IsTsig(); t != nil {
		r.TSIG = int(t.Error)
	}
	return r
}

func refusalOfZone(m *mdns.Msg, key *Key, verifyErr error) error {
	r := newRefusal(m, key, verifyErr)
	switch m.Rcode {
	case mdns.RcodeRefused:
		r.hint = "the server does not hand the zone out to us; allow transfers to this address, or to a key that we have"
	case mdns.RcodeNotAuth:
		r.hint = "the server does not have the zone, or not the key"
	}
	return r
}

// Exchange sends a question over conn and returns the answer, with any RCODE. If key is not nil, the question is signed
// in place, and an answer without a valid signature is a *Refusal. The caller sets the deadline of conn. When ctx ends,
// Exchange closes conn.
func Exchange(ctx context.Context, conn net.Conn, question *mdns.Msg, key *Key) (*mdns.Msg, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	answer, err := exchangeMessage(conn, question, key)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return answer, err
}

// ReadSerial asks for the zone's SOA over TCP and returns the serial. The error is a *Refusal if the server does not
// serve the zone.
func ReadSerial(ctx context.Context, source Source) (serial.Serial, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(source.Wait, defaultWait))
	defer cancel()
	dial := source.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", source.Server)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	answer, err := Exchange(ctx, conn, NewQuestion(source.Zone, mdns.TypeSOA), source.Key)
	if err != nil {
		return 0, err
	}
	if at, ok := SerialIn(answer, source.Zone); ok {
		return at, nil
	}
	return 0, refusalOfZone(answer, source.Key, nil)
}

func NewQuestion(owner name.Name, of uint16) *mdns.Msg {
	question := new(mdns.Msg).SetQuestion(owner.String(), of)
	question.RecursionDesired = false
	return question
}

func SerialIn(answer *mdns.Msg, zone name.Name) (serial.Serial, bool) {
	if answer.Rcode != mdns.RcodeSuccess || !answer.Authoritative {
		return 0, false
	}
	for _, rr := range answer.Answer {
		if soa, is := rr.(*mdns.SOA); is && mdns.CanonicalName(soa.Hdr.Name) == zone.String() {
			return serial.Serial(soa.Serial), true
		}
	}
	return 0, false
}

// leastPacket is the minimum size of the receive buffer in octets, because an answer over UDP may be longer than
// requested.
const leastPacket = 4096

func packetSize(question *mdns.Msg) uint16 {
	if options := question.IsEdns0(); options != nil {
		return max(leastPacket, options.UDPSize())
	}
	return leastPacket
}

// exchangeMessage is Exchange without ctx. An answer with a TSIG error is a *Refusal even if key is nil.
func exchangeMessage(conn net.Conn, question *mdns.Msg, key *Key) (*mdns.Msg, error) {
	packed, err := question.Pack()
	var signatures *verifier
	if key != nil {
		packed, signatures, err = sign(question, *key)
	}
	if err != nil {
		return nil, err
	}

	wire := mdns.Conn{Conn: conn, UDPSize: packetSize(question)}
	if _, err := wire.Write(packed); err != nil {
		return nil, err
	}

	raw, m, err := readAnswer(&wire, question)
	if err != nil {
		return nil, err
	}

	// Without a key, signatures is nil and accepts the answer.
	verifyErr := signatures.verifyMessage(raw, m)
	if verifyErr == nil {
		verifyErr = signatures.verifyEnd()
	}

	if t := m.IsTsig(); verifyErr != nil || t != nil && t.Error != 0 {
		return nil, newRefusal(m, key, verifyErr)
	}
	return m, nil
}

// readAnswer reads the answer to a question, and its octets for the signature. Over UDP it skips packets that are no
// answer, because any host may send them. Over TCP these are errors.
func readAnswer(wire *mdns.Conn, question *mdns.Msg) ([]byte, *mdns.Msg, error) {
	_, packets := wire.Conn.(net.PacketConn)
	for {
		raw, err := wire.ReadMsgHeader(nil)
		// A packet shorter than a header: the answer may still come.
		if errors.Is(err, mdns.ErrShortRead) && packets {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		m := new(mdns.Msg)
		switch err := m.Unpack(raw); {
		case err == nil && m.Id == question.Id && m.Response:
			return raw, m, nil
		case packets:
			// a forged or late packet; the deadline ends the wait
		case err != nil:
			return nil, nil, fmt.Errorf("a message that cannot be read: %w", err)
		default:
			return nil, nil, errors.New("a message that answers another question")
		}
	}
}
