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
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	defaultWait = 30 * time.Second
	maxOctets   = 1 << 30
)

// Source is a zone on a server, to be transferred (AXFR).
type Source struct {
	// Server is HOST:PORT.
	Server string
	Zone   name.Name
	// Key is the TSIG key for the request and the answer, or nil for none.
	Key *Key
	// Dial connects to Server. Nil means net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Wait limits the time to connect, and the time for each message. Zero means 30 s.
	Wait time.Duration
	// Limit is the maximum size of the transfer in octets. Zero means 1 GiB.
	Limit int
}

const Scheme = "axfr://"

// ParseSource parses axfr://SERVER[:PORT]/ZONE. The default port is 53.
func ParseSource(text string) (Source, error) {
	rest, found := strings.CutPrefix(text, Scheme)
	server, zone, slash := strings.Cut(rest, "/")
	if !found || server == "" || !slash || zone == "" {
		return Source{}, fmt.Errorf("%q: write %sSERVER[:PORT]/ZONE, like %s192.0.2.53/example.org or %s[2001:db8::53]:5353/example.org",
			text, Scheme, Scheme, Scheme)
	}
	fqdn, err := name.Parse(strings.TrimSuffix(zone, ".") + ".")
	if err != nil {
		return Source{}, fmt.Errorf("%q: zone: %w", text, err)
	}
	return Source{Server: AddPort(server), Zone: fqdn}, nil
}

// Receive transfers a zone and returns it as a master file with a record per line. The SOA is the first record and is
// not repeated.
func Receive(ctx context.Context, source Source) ([]byte, error) {
	var text bytes.Buffer
	if _, err := Fetch(ctx, source, nil, func(rr mdns.RR, _ bool) {
		text.WriteString(rr.String())
		text.WriteByte('\n')
	}); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// Fetched describes a finished or failed transfer.
type Fetched struct {
	Serial serial.Serial // the serial on the server, or 0 if unknown
	// Whole is true if the server sent the whole zone instead of differences.
	Whole bool
	// Octets is the number of octets received, also after a failure.
	Octets int
}

// Fetch transfers a zone or, if since is not nil, the changes after that serial (IXFR). It calls handle for each
// arriving record, but for no SOA except the newest. A server whose serial is older than since is an error. After an
// error the records may be incomplete or forged.
func Fetch(ctx context.Context, source Source, since *serial.Serial, handle func(rr mdns.RR, removed bool)) (Fetched, error) {
	z := &receiver{source: source, since: since, handle: handle}
	err := z.receiveZone(ctx)
	if err != nil {
		err = fmt.Errorf("transfer of %s from %s: %w", source.Zone, source.Server, err)
	}
	return z.Fetched, err
}

// receiveZone connects to the server and transfers the zone, until ctx ends.
func (z *receiver) receiveZone(ctx context.Context) error {
	source := &z.source
	source.Wait = cmp.Or(source.Wait, defaultWait)
	if source.Dial == nil {
		source.Dial = new(net.Dialer).DialContext
	}

	dialing, cancel := context.WithTimeout(ctx, source.Wait)
	conn, err := source.Dial(dialing, "tcp", source.Server)
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()

	// Reads know no context: closing the connection ends them.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	err = z.askForZone(conn)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// askForZone sends the question over conn, and reads messages until the end of the zone. z.Octets counts from here on.
func (z *receiver) askForZone(conn net.Conn) error {
	question, source := new(mdns.Msg), z.source
	if z.since != nil {
		question.SetIxfr(source.Zone.String(), uint32(*z.since), ".", ".")
	} else {
		question.SetAxfr(source.Zone.String())
	}

	var signatures *verifier
	packed, err := question.Pack()
	if source.Key != nil {
		packed, signatures, err = sign(question, *source.Key)
	}
	if err != nil {
		return err
	}

	if err := conn.SetDeadline(time.Now().Add(source.Wait)); err != nil {
		return err
	}
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)); err != nil {
		return err
	}

	// A broken or hostile server could send records without end.
	most := cmp.Or(source.Limit, maxOctets)
	for {
		raw, err := readMessage(conn, source.Wait)
		if err != nil {
			return fmt.Errorf("after %d records: %w", z.records, err)
		}
		if z.Octets += len(raw); z.Octets > most {
			return fmt.Errorf("more than %d octets; is this the zone you mean?", most)
		}
		if done, err := z.handleMessage(raw, question.Id, signatures); err != nil || done {
			return err
		}
	}
}

// readMessage reads one message with its length (RFC 1035 §4.2.2), within wait.
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

type receiver struct {
	Fetched
	source  Source
	since   *serial.Serial
	handle  func(rr mdns.RR, removed bool)
	begun   bool
	records int
	// step is the position in a transfer of differences. reachedSerial is the serial after the differences received so
	// far.
	step          step
	reachedSerial serial.Serial
}

type step uint8

const (
	stepWhole   step = iota
	stepUnknown      // until the record after the first SOA
	stepRemoving
	stepAdding
)

// handleMessage verifies one message of the transfer, and passes its records on. done is true at the end of the zone.
func (z *receiver) handleMessage(raw []byte, id uint16, signatures *verifier) (done bool, err error) {
	m := new(mdns.Msg)
	if err := m.Unpack(raw); err != nil {
		return false, fmt.Errorf("a message that cannot be read: %w", err)
	}
	if m.Id != id || !m.Response {
		return false, errors.New("a message that answers another question")
	}

	// Verify the message before any use, even of an error answer.
	verifyErr := signatures.verifyMessage(raw, m)
	if m.Rcode != mdns.RcodeSuccess {
		return false, refusalOfZone(m, z.source.Key, verifyErr)
	}
	if verifyErr != nil {
		return false, verifyErr
	}

	for _, rr := range m.Answer {
		// The sender does not follow the protocol, so the zone before may be wrong, too.
		if done {
			return false, errors.New("records after the SOA that ends the zone")
		}
		if done, err = z.handleRecord(rr); err != nil {
			return false, err
		}
	}

	// Some servers answer NOERROR without records for a zone that they do not have.
	if !z.begun {
		return false, errors.New("an answer without records; the server may not have the zone, or not hand it out to us")
	}

	if done {
		return true, signatures.verifyEnd()
	}
	return false, nil
}

// handleRecord passes a record to z.handle, and follows the order of a transfer: AXFR ends with the SOA of the begin
// (RFC 5936 §2.2); IXFR is a row of differences, each with the old SOA, removed, the new SOA and added records (RFC
// 1995 §4).
func (z *receiver) handleRecord(rr mdns.RR) (done bool, err error) {
	soa, isSOA := rr.(*mdns.SOA)
	if !z.begun {
		return z.beginZone(rr)
	}

	if z.step == stepUnknown {
		// A second SOA with another serial begins differences. Any other record belongs to a whole zone.
		if z.step = stepWhole; isSOA && z.Serial != serial.Serial(soa.Serial) {
			z.step, z.reachedSerial = stepAdding, *z.since // as after changes that end at since
		}
		z.Whole = z.step == stepWhole
	}

	if !isSOA {
		z.records++
		z.handle(rr, z.step == stepRemoving)
		return false, nil
	}

	at := serial.Serial(soa.Serial)
	switch {
	// The zone changed during the transfer.
	case z.step == stepWhole && at != z.Serial:
		return false, fmt.Errorf("it began with serial %d and ends with %d; try again", z.Serial, at)
	case z.step == stepWhole, z.step == stepAdding && at == z.Serial && z.reachedSerial == z.Serial:
		return true, nil
	// The SOA to which the difference leads. The added records follow.
	case z.step == stepRemoving:
		z.step, z.reachedSerial = stepAdding, at
	// A difference is missing in the row, so the sum would be wrong.
	case at != z.reachedSerial:
		return false, fmt.Errorf("a difference since serial %d where one since %d was to follow", at, z.reachedSerial)
	default:
		z.step = stepRemoving
	}
	return false, nil
}

// beginZone handles the first record, the newest SOA, and decides how the transfer goes on. done is true if the zone
// has not changed since z.since.
func (z *receiver) beginZone(rr mdns.RR) (done bool, err error) {
	soa, isSOA := rr.(*mdns.SOA)
	if !isSOA || mdns.CanonicalName(soa.Hdr.Name) != z.source.Zone.String() {
		return false, fmt.Errorf("it begins with %s %s, not with the SOA of the zone", rr.Header().Name,
			mdns.TypeToString[rr.Header().Rrtype])
	}
	z.begun, z.Serial, z.records = true, serial.Serial(soa.Serial), 1
	switch {
	case z.since == nil:
		z.Whole = true
	// Nothing changed: the server sends a single SOA (RFC 1995 §4).
	case z.Serial == *z.since:
		done = true
	// The next record shows whether differences or the whole zone follow.
	case z.Serial.Ahead(*z.since):
		z.step = stepUnknown
	default:
		return false, fmt.Errorf("it has serial %d, which is not ahead of %d", z.Serial, *z.since)
	}
	z.handle(rr, false)
	return done, nil
}
