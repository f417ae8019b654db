// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	// defaultWait is how long the server may take for the connection and for each message where a Source says nothing.
	defaultWait = 30 * time.Second
	// maxOctets bounds a transfer as it comes over the wire where a Source says nothing.
	maxOctets = 1 << 30
)

// Source is where a zone comes from.
type Source struct {
	// Server is HOST:PORT.
	Server string
	Zone   name.Name
	// Key signs the request, and has to sign the answer; nil asks without.
	Key *Key
	// Dial connects; nil connects to whatever Server resolves to.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Wait bounds the connection and each message; 0: 30 s.
	Wait time.Duration
	// Most bounds the transfer as it comes over the wire, in octets; 0: 1 GiB.
	Most int
}

// Scheme begins the URL of a transfer.
const Scheme = "axfr://"

// ParseSource reads axfr://SERVER[:PORT]/ZONE; the port is 53 where none is given, and the zone "." is the root.
func ParseSource(text string) (Source, error) {
	rest, found := strings.CutPrefix(text, Scheme)
	server, zone, slash := strings.Cut(rest, "/")
	if !found || server == "" || !slash || zone == "" {
		return Source{}, fmt.Errorf("%q: write %sSERVER[:PORT]/ZONE, like %s192.0.2.53/example.org or %s[2001:db8::53]:5353/example.org", text, Scheme, Scheme, Scheme)
	}
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(strings.Trim(server, "[]"), "53")
	}
	fqdn, err := name.Parse(strings.TrimSuffix(zone, ".") + ".")
	if err != nil {
		return Source{}, fmt.Errorf("%q: zone: %w", text, err)
	}
	return Source{Server: server, Zone: fqdn}, nil
}

// Receive asks for the zone and returns it as a master file, one record a line, the SOA first and once.
func Receive(ctx context.Context, source Source) ([]byte, error) {
	text, err := receiveZone(ctx, source)
	if err != nil {
		return nil, fmt.Errorf("transfer of %s from %s: %w", source.Zone, source.Server, err)
	}
	return text, nil
}

func receiveZone(ctx context.Context, source Source) ([]byte, error) {
	if source.Wait == 0 {
		source.Wait = defaultWait
	}
	if source.Dial == nil {
		source.Dial = new(net.Dialer).DialContext
	}
	dialing, cancel := context.WithTimeout(ctx, source.Wait)
	conn, err := source.Dial(dialing, "tcp", source.Server)
	cancel()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	text, err := askForZone(conn, source)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return text, err
}

func askForZone(conn net.Conn, source Source) ([]byte, error) {
	question := new(mdns.Msg)
	question.SetAxfr(source.Zone.String())
	var judge *verifier
	packed, err := question.Pack()
	if source.Key != nil {
		packed, judge, err = sign(question, *source.Key)
	}
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(source.Wait)); err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)); err != nil {
		return nil, err
	}
	z := &received{source: source}
	most := cmp.Or(source.Most, maxOctets)
	for octets := 0; ; {
		raw, err := readMessage(conn, source.Wait)
		if err != nil {
			return nil, fmt.Errorf("after %d records: %w", z.records, err)
		}
		if octets += len(raw); octets > most {
			return nil, fmt.Errorf("more than %d octets; is this the zone you mean?", most)
		}
		done, err := z.takeMessage(raw, question.Id, judge)
		if err != nil {
			return nil, err
		}
		if done {
			return z.text.Bytes(), nil
		}
	}
}

// readMessage reads one, with the two octets of length before it (RFC 1035 §4.2.2).
func readMessage(conn net.Conn, wait time.Duration) ([]byte, error) {
	if err := conn.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the server closed the connection before the end of the zone")
		}
		return nil, err
	}
	raw := make([]byte, binary.BigEndian.Uint16(length[:]))
	_, err := io.ReadFull(conn, raw)
	return raw, err
}

// received is what came of a zone so far.
type received struct {
	source  Source
	soa     *mdns.SOA
	records int
	text    bytes.Buffer
}

// takeMessage adds one message. done is true with the second SOA.
func (z *received) takeMessage(raw []byte, id uint16, judge *verifier) (done bool, err error) {
	m := new(mdns.Msg)
	if err := m.Unpack(raw); err != nil {
		return false, fmt.Errorf("a message that cannot be read: %w", err)
	}
	if m.Id != id || !m.Response {
		return false, errors.New("a message that answers another question")
	}
	// Before anything in it is believed, its error included: an error may be signed as well.
	judged := judge.verifyMessage(raw, m)
	if m.Rcode != mdns.RcodeSuccess {
		return false, refusalOfZone(m, z.source.Key, judged)
	}
	if judged != nil {
		return false, judged
	}
	for _, rr := range m.Answer {
		if done {
			return false, errors.New("records after the SOA that ends the zone")
		}
		soa, isSOA := rr.(*mdns.SOA)
		switch {
		case z.soa == nil && (!isSOA || mdns.CanonicalName(soa.Hdr.Name) != z.source.Zone.String()):
			return false, fmt.Errorf("it begins with %s %s, not with the SOA of the zone", rr.Header().Name, mdns.TypeToString[rr.Header().Rrtype])
		case z.soa == nil:
			z.soa = soa
		case isSOA && soa.Serial != z.soa.Serial:
			return false, fmt.Errorf("it began with serial %d and ends with %d; try again", z.soa.Serial, soa.Serial)
		case isSOA:
			done = true
			continue
		}
		z.records++
		z.text.WriteString(rr.String())
		z.text.WriteByte('\n')
	}
	if z.soa == nil {
		return false, errors.New("an answer without records; the server may not have the zone, or not hand it out to us")
	}
	if done {
		return true, judge.verifyEnd()
	}
	return false, nil
}
