// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"go.uber.org/goleak"

	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runUntilCleanup(t testing.TB, p *Primary) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Run does not end")
		}
	})
}

func sendMessage(t testing.TB, conn net.Conn, msg []byte) {
	t.Helper()
	must.Get(conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)))(t)
}

func receiveMessage(t testing.TB, conn net.Conn) *mdns.Msg {
	t.Helper()
	var length [2]byte
	must.Get(io.ReadFull(conn, length[:]))(t)
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	must.Get(io.ReadFull(conn, b))(t)
	return unpackMessage(t, b)
}

func dialTCPFrom(t testing.TB, p *Primary, source string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: time.Minute}
	conn := must.Get(d.Dial("tcp", p.Addr().String()))(t)
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute))
	return conn
}

// closedBy reports whether the peer closes the connection within d without data.
func closedBy(conn net.Conn, d time.Duration) bool {
	conn.SetReadDeadline(time.Now().Add(d))
	n, err := conn.Read(make([]byte, 1))
	return n == 0 && err != nil && !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// The primary serves UDP and TCP on the same port. Queries that are sent over a TCP connection without waiting for
// answers (RFC 7766 §6.2.1.1) get complete answers, in order.
func TestPrimary_servesBothTransports(t *testing.T) {
	s := makeSnapshot(t, "u", "", "example.org.", 7, makeHosts(5000)...)
	p := startPrimary(t, Config{Zones: serveZones(s)})
	at := p.Addr().String()
	m, err := mdns.Exchange(makeQuery("example.org.", mdns.TypeSOA), at)
	if err != nil || len(m.Answer) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	conn := dialTCP(t, p)
	for range 3 {
		sendMessage(t, conn, packMessage(t, makeQuery("example.org.", mdns.TypeSOA)))
		sendMessage(t, conn, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	}
	want := listWanted(t, s)
	for range 3 {
		if m := receiveMessage(t, conn); len(m.Answer) != 1 {
			t.Fatal(m)
		}
		var got []string
		for len(got) < len(want) {
			for _, rr := range receiveMessage(t, conn).Answer {
				got = append(got, strings.ToLower(rr.String()))
			}
		}
		expectSame(t, "transfer", got, want)
	}
}

func TestPrimary_answersFromTheAddressAsked(t *testing.T) {
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7)),
		Listen: netip.MustParseAddrPort("0.0.0.0:0")})
	conn := must.Get(net.Dial("udp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.77"), p.Addr().Port()).String()))(t)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	conn.Write(packMessage(t, makeQuery("example.org.", mdns.TypeSOA)))
	buf := make([]byte, 512)
	if _, err := conn.Read(buf); err != nil { // a connected socket drops other sources
		t.Fatal(err)
	}
}

func TestNew_takenPortIsNamed(t *testing.T) {
	first := startPrimary(t, Config{Zones: serveZones()})
	_, err := New(Config{Zones: serveZones(), Listen: first.Addr()})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), first.Addr().String()+": the port is taken") {
		t.Error(err)
	}
	for range 10 {
		udp, listening := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if listening != nil {
			t.Fatal(listening)
		}
		defer udp.Close()
		_, err = New(Config{Zones: serveZones(), Listen: udp.LocalAddr().(*net.UDPAddr).AddrPort()})
		if err == nil || !strings.Contains(err.Error(), "tcp") {
			break // else another process has the TCP port
		}
	}
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "udp") {
		t.Error(err)
	}
}

func TestNew_reportsAllFaults(t *testing.T) {
	_, err := New(Config{Notify: []Target{{Key: "k"}}, Keys: []tsig.Key{{}}})
	must.Say(t, err, "Zones: required", "Listen: not an address", "Notify[0].Addr", "Notify[0].Key", "Keys[0]")
}

// Connections beyond a client's limit are closed, without effect on other clients. Outsiders have separate slots.
func TestTCP_connectionsAreBounded(t *testing.T) {
	p := startPrimary(t, Config{
		Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), MaxConns: 4, MaxConnsPerClient: 2,
		Allow: []Rule{{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/24"), netip.MustParsePrefix("127.0.1.0/24")}}},
	})
	from := func(source string) net.Conn { return dialTCPFrom(t, p, source) }
	works := func(conn net.Conn, rcode int) bool {
		conn.SetDeadline(time.Now().Add(time.Minute))
		msg := packMessage(t, makeQuery("example.org.", mdns.TypeSOA))
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)); err != nil {
			return false
		}
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return false
		}
		b := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, b); err != nil {
			return false
		}
		return unpackMessage(t, b).Rcode == rcode
	}
	const peer, other, outsider = "127.0.0.2", "127.0.1.2", "127.0.9.9"
	first := from(peer)
	if !works(first, mdns.RcodeSuccess) || !works(from(peer), mdns.RcodeSuccess) {
		t.Fatal("the share itself is not served")
	}
	if works(from(peer), mdns.RcodeSuccess) {
		t.Error("a third connection of a client whose share is two")
	}
	// As many more connections wait for a slot and stay open.
	last, waits := from(peer), make(chan bool)
	if !works(from(other), mdns.RcodeSuccess) {
		t.Error("another client is not served while one waits")
	}
	go func() { waits <- works(last, mdns.RcodeSuccess) }()
	first.Close()
	if !<-waits {
		t.Error("a connection that waited is not served when there is a place")
	}
	first = last
	var outsiders []net.Conn
	for range 4 {
		outsiders = append(outsiders, from(outsider))
		if !works(outsiders[len(outsiders)-1], mdns.RcodeRefused) {
			t.Error("an outsider is not told REFUSED")
		}
	}
	if works(from(outsider), mdns.RcodeRefused) {
		t.Error("a fifth outsider's connection")
	}
	if !works(from(other), mdns.RcodeSuccess) {
		t.Error("a flood of outsiders took a peer's place")
	}
	first.Close()
	must.Eventually(t, "a place given back is taken again", func() bool { return works(from(peer), mdns.RcodeSuccess) })
}

// If every rule requires a key, unsigned connections take no slot from signed connections.
func TestTCP_idleConnectionsTakeNoPeersPlaces(t *testing.T) {
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	key := testKey(t, "transfer.example.", tsig.HMACSHA256)
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), Keys: []tsig.Key{key},
		Allow: Rules(everywhere, []tsig.Key{key})})
	sign := func(m *mdns.Msg) []byte {
		wire, _ := signQuery(t, m, key, time.Now())
		return wire
	}
	from := func(source string) net.Conn { return dialTCPFrom(t, p, source) }
	unsigned := packMessage(t, makeQuery("example.org.", mdns.TypeSOA))
	var idle []net.Conn
	for _, source := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		for range 128 {
			conn := from(source)
			sendMessage(t, conn, unsigned)
			idle = append(idle, conn)
		}
	}
	for i, conn := range idle {
		if m := receiveMessage(t, conn); m.Rcode != mdns.RcodeRefused {
			t.Fatalf("connection %d: %v", i, m)
		}
	}
	began := time.Now()
	secondary := from("127.0.0.9")
	sendMessage(t, secondary, sign(makeQuery("example.org.", mdns.TypeAXFR)))
	if m := receiveMessage(t, secondary); m.Rcode != mdns.RcodeSuccess || len(m.Answer) == 0 {
		t.Errorf("a signed transfer beside %d idle connections: %v", len(idle), m)
	}
	t.Logf("answered after %s", time.Since(began))
	if !closedBy(idle[0], time.Minute) {
		t.Error("the oldest that did not sign is not cut")
	}
	// A connection with a signed message stays open for IdleTimeout.
	for range 200 {
		sendMessage(t, from("127.0.0.6"), unsigned)
	}
	sendMessage(t, secondary, sign(makeQuery("example.org.", mdns.TypeSOA)))
	if m := receiveMessage(t, secondary); m.Rcode != mdns.RcodeSuccess {
		t.Errorf("the same connection later: %v", m)
	}
}

// A client cannot hold a connection without sending (slow loris). A silent connection ends after IdleTimeout, and an
// unfinished message after ReadTimeout, even if single octets arrive.
func TestTCP_slowSendersAreCut(t *testing.T) {
	silent := dialTCP(t, startPrimary(t, Config{Zones: serveZones(), IdleTimeout: 150 * time.Millisecond, ReadTimeout: time.Hour}))
	half := dialTCP(t, startPrimary(t, Config{Zones: serveZones(), IdleTimeout: time.Hour, ReadTimeout: 150 * time.Millisecond}))
	half.Write([]byte{0, 40, 1})
	go func() {
		for range 20 { // single octets do not extend the timeout
			if _, err := half.Write([]byte{0}); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if !closedBy(silent, time.Minute) {
		t.Error("a silent connection stays")
	}
	if !closedBy(half, time.Minute) {
		t.Error("an unfinished message is waited for")
	}
}

// A client that never reads its transfer is cut after WriteTimeout, and the next transfer gets the slot.
func TestTCP_readerThatNeverReadsIsCut(t *testing.T) {
	s := makeSnapshot(t, "u", "", "example.org.", 7, makeHosts(200000)...)
	p := startPrimary(t, Config{Zones: serveZones(s), MaxTransfers: 1, WriteTimeout: 300 * time.Millisecond})
	stuck := dialTCP(t, p)
	stuck.(*net.TCPConn).SetReadBuffer(4096)
	sendMessage(t, stuck, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	must.Eventually(t, "the transfer begins", func() bool {
		place, _ := p.tcp.transfers.Take(clientOf(loopback, ""), nil)
		if place != nil {
			place.Release()
		}
		return place == nil
	})
	next := dialTCP(t, p)
	sendMessage(t, next, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	if m := receiveMessage(t, next); m.Rcode != mdns.RcodeSuccess || len(m.Answer) == 0 {
		t.Error(m)
	}
}

func TestTCP_transferThatWaitsTooLongIsServfail(t *testing.T) {
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7)), MaxTransfers: 1,
		TransferWait: 50 * time.Millisecond})
	place, _ := p.tcp.transfers.Take(clientOf(outside, ""), nil)
	if place == nil {
		t.Fatal("no place")
	}
	conn := dialTCP(t, p)
	sendMessage(t, conn, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	if m := receiveMessage(t, conn); m.Rcode != mdns.RcodeServerFailure {
		t.Error(m)
	}
	place.Release()
	sendMessage(t, conn, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	if m := receiveMessage(t, conn); m.Rcode != mdns.RcodeSuccess {
		t.Error(m)
	}
}

func TestPrimary_survivesGarbage(t *testing.T) {
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 7))})
	at := p.Addr().String()
	udp := must.Get(net.Dial("udp", at))(t)
	defer udp.Close()
	for n := range 600 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * n)
		}
		udp.Write(b)
		if n%20 == 0 {
			conn := dialTCP(t, p)
			sendMessage(t, conn, b)
			conn.Close()
		}
	}
	conn := dialTCP(t, p)
	sendMessage(t, conn, packMessage(t, makeQuery("example.org.", mdns.TypeSOA)))
	if m := receiveMessage(t, conn); len(m.Answer) != 1 {
		t.Error(m)
	}
}

// When the context ends, the primary closes idle connections at once, lets a running transfer complete, and cuts a
// transfer that makes no progress after StopTimeout.
func TestRun_stopsGracefully(t *testing.T) {
	s := makeSnapshot(t, "u", "", "example.org.", 7, makeHosts(20000)...)
	huge := makeSnapshot(t, "v", "", "huge.example.", 7, makeHosts(150000)...) // larger than socket buffers
	p := must.Get(New(Config{Zones: serveZones(s, huge), Views: []string{""}, Listen: netip.MustParseAddrPort("127.0.0.1:0"),
		Allow: Rules(local, nil), StopTimeout: 4 * time.Second}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	idle, busy, stuck := dialTCP(t, p), dialTCP(t, p), dialTCP(t, p)
	stuck.(*net.TCPConn).SetReadBuffer(4096)
	sendMessage(t, busy, packMessage(t, makeQuery("example.org.", mdns.TypeAXFR)))
	sendMessage(t, stuck, packMessage(t, makeQuery("huge.example.", mdns.TypeAXFR)))
	got := len(receiveMessage(t, busy).Answer)
	var firstOfStuck [1]byte
	must.Get(stuck.Read(firstOfStuck[:]))(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		want := len(listWanted(t, s))
		for got < want {
			got += len(receiveMessage(t, busy).Answer)
		}
	})
	stopped := time.Now()
	cancel()
	if !closedBy(idle, time.Minute) {
		t.Error("the idle connection stays")
	}
	wg.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if elapsed := time.Since(stopped); elapsed > 10*time.Second {
		t.Errorf("stopped after %s", elapsed)
	}
	if _, err := net.Dial("tcp", p.Addr().String()); err == nil {
		t.Error("still listening")
	}
}

func TestRun_lostListenerIsAnError(t *testing.T) {
	p := must.Get(New(Config{Zones: serveZones(), Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	p.pair.tcp.Close()
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "closed while it served") {
		t.Errorf("%v", err)
	}
}
