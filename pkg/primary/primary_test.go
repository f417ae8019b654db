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
		case <-time.After(30 * time.Second):
			t.Error("Run does not end")
		}
	})
}

func send(t testing.TB, conn net.Conn, msg []byte) {
	t.Helper()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(msg))), msg...)); err != nil {
		t.Fatal(err)
	}
}

func receive(t testing.TB, conn net.Conn) *mdns.Msg {
	t.Helper()
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint16(length[:]))
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	return unpack(t, b)
}

// closedBy reports whether the other side ends the connection by then, without a word.
func closedBy(conn net.Conn, d time.Duration) bool {
	conn.SetReadDeadline(time.Now().Add(d))
	n, err := conn.Read(make([]byte, 1))
	return n == 0 && err != nil && !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err)
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// One port serves both transports; a client may send several questions before it reads
// (RFC 7766 §6.2.1.1) and gets whole answers in order.
func TestPrimary_servesBothTransports(t *testing.T) {
	s := snapshot(t, "u", "", "example.org.", 7, hosts(5000)...)
	p := start(t, Config{Zones: served(s)})
	at := p.Addrs()[0].String()
	m, err := mdns.Exchange(query("example.org.", mdns.TypeSOA), at)
	if err != nil || len(m.Answer) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	conn := dialTCP(t, p)
	for range 3 {
		send(t, conn, pack(t, query("example.org.", mdns.TypeSOA)))
		send(t, conn, pack(t, query("example.org.", mdns.TypeAXFR)))
	}
	want := wanted(t, s)
	for range 3 {
		if m := receive(t, conn); len(m.Answer) != 1 {
			t.Fatal(m)
		}
		var got []string
		for len(got) < len(want) {
			for _, rr := range receive(t, conn).Answer {
				got = append(got, strings.ToLower(rr.String()))
			}
		}
		same(t, "transfer", got, want)
	}
}

// A socket bound to all addresses answers from the one that was asked.
func TestPrimary_answersFromTheAddressAsked(t *testing.T) {
	p := start(t, Config{Zones: served(snapshot(t, "u", "", "example.org.", 7)), Listen: []netip.AddrPort{netip.MustParseAddrPort("0.0.0.0:0")}})
	conn, err := net.Dial("udp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.77"), p.Addrs()[0].Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	conn.Write(pack(t, query("example.org.", mdns.TypeSOA)))
	buf := make([]byte, 512)
	if _, err := conn.Read(buf); err != nil { // a connected socket takes nothing from another address
		t.Fatal(err)
	}
}

func TestNew_takenPortIsNamed(t *testing.T) {
	first := start(t, Config{Zones: served()})
	_, err := New(Config{Zones: served(), Listen: first.Addrs()})
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), first.Addrs()[0].String()+": the port is taken") {
		t.Error(err)
	}
	for range 10 {
		udp, listening := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if listening != nil {
			t.Fatal(listening)
		}
		defer udp.Close()
		_, err = New(Config{Zones: served(), Listen: []netip.AddrPort{udp.LocalAddr().(*net.UDPAddr).AddrPort()}})
		if err == nil || !strings.Contains(err.Error(), "tcp") {
			break // else another process has the number for TCP
		}
	}
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "udp") {
		t.Error(err)
	}
}

func TestNew_reportsAllFaults(t *testing.T) {
	_, err := New(Config{Notify: []Target{{Key: "k"}}, Keys: []Key{{}}})
	for _, want := range []string{"Zones: required", "Listen: at least one", "Notify[0].Addr", "Notify[0].Key", "Keys[0]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// Connections beyond a client's share are closed; another client's share is untouched, and
// outsiders have places of their own.
func TestTCP_connectionsAreBounded(t *testing.T) {
	p := start(t, Config{
		Zones: served(snapshot(t, "u", "", "example.org.", 7)), MaxConns: 4, MaxConnsPerClient: 2,
		Allow: []Rule{{Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/24"), netip.MustParsePrefix("127.0.1.0/24")}}},
	})
	from := func(source string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: time.Minute}
		conn, err := d.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	works := func(conn net.Conn, rcode int) bool {
		conn.SetDeadline(time.Now().Add(time.Minute))
		msg := pack(t, query("example.org.", mdns.TypeSOA))
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
		return unpack(t, b).Rcode == rcode
	}
	const peer, other, outsider = "127.0.0.2", "127.0.1.2", "127.0.9.9"
	first := from(peer)
	if !works(first, mdns.RcodeSuccess) || !works(from(peer), mdns.RcodeSuccess) {
		t.Fatal("the share itself is not served")
	}
	if works(from(peer), mdns.RcodeSuccess) {
		t.Error("a third connection of a client whose share is two")
	}
	// As many more wait: they are served when a place is free, and not closed.
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
	deadline := time.Now().Add(time.Minute)
	for !works(from(peer), mdns.RcodeSuccess) {
		if time.Now().After(deadline) {
			t.Fatal("a place given back is not taken again")
		}
	}
}

// Attack 78: where a key is asked for and any address may have it, connections that do not sign take no place of
// those that do: 512 connections from four addresses, kept by unsigned questions, and a signed transfer is answered.
func TestTCP_idleConnectionsTakeNoPeersPlaces(t *testing.T) {
	everywhere := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	key := testKey(t, "transfer.example.", HMACSHA256)
	p := start(t, Config{Zones: served(snapshot(t, "u", "", "example.org.", 7)), Keys: []Key{key}, Allow: Rules(everywhere, []Key{key})})
	sign := func(m *mdns.Msg) []byte {
		wire, _ := signed(t, m, key, time.Now())
		return wire
	}
	from := func(source string) net.Conn {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: time.Minute}
		conn, err := d.Dial("tcp", p.Addrs()[0].String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute))
		return conn
	}
	unsigned := pack(t, query("example.org.", mdns.TypeSOA))
	var idle []net.Conn
	for _, source := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		for range 128 {
			conn := from(source)
			send(t, conn, unsigned)
			idle = append(idle, conn)
		}
	}
	for i, conn := range idle {
		if m := receive(t, conn); m.Rcode != mdns.RcodeRefused {
			t.Fatalf("connection %d: %v", i, m)
		}
	}
	began := time.Now()
	secondary := from("127.0.0.9")
	send(t, secondary, sign(query("example.org.", mdns.TypeAXFR)))
	if m := receive(t, secondary); m.Rcode != mdns.RcodeSuccess || len(m.Answer) == 0 {
		t.Errorf("a signed transfer beside %d idle connections: %v", len(idle), m)
	}
	t.Logf("answered after %s", time.Since(began))
	if !closedBy(idle[0], time.Minute) {
		t.Error("the oldest that did not sign is not cut")
	}
	// A connection that has signed stays for IdleTimeout, and is no newcomer any more.
	for range 200 {
		send(t, from("127.0.0.6"), unsigned)
	}
	send(t, secondary, sign(query("example.org.", mdns.TypeSOA)))
	if m := receive(t, secondary); m.Rcode != mdns.RcodeSuccess {
		t.Errorf("the same connection later: %v", m)
	}
}

// Slow-loris: a connection that says nothing, and one that never ends its message.
func TestTCP_slowSendersAreCut(t *testing.T) {
	silent := dialTCP(t, start(t, Config{Zones: served(), IdleTimeout: 150 * time.Millisecond, ReadTimeout: time.Hour}))
	half := dialTCP(t, start(t, Config{Zones: served(), IdleTimeout: time.Hour, ReadTimeout: 150 * time.Millisecond}))
	half.Write([]byte{0, 40, 1})
	go func() {
		for range 20 { // an octet now and then does not extend it
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

// A reader that never reads is cut by WriteTimeout and gives its transfer's place back;
// until then the next transfer waits its turn.
func TestTCP_readerThatNeverReadsIsCut(t *testing.T) {
	s := snapshot(t, "u", "", "example.org.", 7, hosts(200000)...)
	p := start(t, Config{Zones: served(s), MaxTransfers: 1, WriteTimeout: 300 * time.Millisecond})
	stuck := dialTCP(t, p)
	stuck.(*net.TCPConn).SetReadBuffer(4096)
	send(t, stuck, pack(t, query("example.org.", mdns.TypeAXFR)))
	deadline := time.Now().Add(time.Minute)
	for {
		place, _ := p.tcp.transfers.Take(clientOf(loopback, ""), nil)
		if place == nil {
			break
		}
		place.GiveBack()
		if time.Now().After(deadline) {
			t.Fatal("the transfer does not begin")
		}
	}
	next := dialTCP(t, p)
	send(t, next, pack(t, query("example.org.", mdns.TypeAXFR)))
	if m := receive(t, next); m.Rcode != mdns.RcodeSuccess || len(m.Answer) == 0 {
		t.Error(m)
	}
}

func TestTCP_transferThatWaitsTooLongIsServfail(t *testing.T) {
	p := start(t, Config{Zones: served(snapshot(t, "u", "", "example.org.", 7)), MaxTransfers: 1, TransferWait: 50 * time.Millisecond})
	place, _ := p.tcp.transfers.Take(clientOf(outside, ""), nil)
	if place == nil {
		t.Fatal("no place")
	}
	conn := dialTCP(t, p)
	send(t, conn, pack(t, query("example.org.", mdns.TypeAXFR)))
	if m := receive(t, conn); m.Rcode != mdns.RcodeServerFailure {
		t.Error(m)
	}
	place.GiveBack()
	send(t, conn, pack(t, query("example.org.", mdns.TypeAXFR)))
	if m := receive(t, conn); m.Rcode != mdns.RcodeSuccess {
		t.Error(m)
	}
}

// Garbage on a real socket neither ends the process nor the service.
func TestPrimary_survivesGarbage(t *testing.T) {
	p := start(t, Config{Zones: served(snapshot(t, "u", "", "example.org.", 7))})
	at := p.Addrs()[0].String()
	udp, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for n := range 600 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * n)
		}
		udp.Write(b)
		if n%20 == 0 {
			conn := dialTCP(t, p)
			send(t, conn, b)
			conn.Close()
		}
	}
	conn := dialTCP(t, p)
	send(t, conn, pack(t, query("example.org.", mdns.TypeSOA)))
	if m := receive(t, conn); len(m.Answer) != 1 {
		t.Error(m)
	}
}

// Stop: idle connections end at once, a running transfer is finished, a stuck one is cut
// after StopTimeout.
func TestRun_stopsGracefully(t *testing.T) {
	s := snapshot(t, "u", "", "example.org.", 7, hosts(20000)...)
	huge := snapshot(t, "v", "", "huge.example.", 7, hosts(150000)...) // more than sockets hold
	p, err := New(Config{Zones: served(s, huge), Views: []string{""}, Listen: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0")}, Allow: Rules(local, nil), StopTimeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	idle, busy, stuck := dialTCP(t, p), dialTCP(t, p), dialTCP(t, p)
	stuck.(*net.TCPConn).SetReadBuffer(4096)
	send(t, busy, pack(t, query("example.org.", mdns.TypeAXFR)))
	send(t, stuck, pack(t, query("huge.example.", mdns.TypeAXFR)))
	got := len(receive(t, busy).Answer)
	var firstOfStuck [1]byte
	if _, err := stuck.Read(firstOfStuck[:]); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		want := len(wanted(t, s))
		for got < want {
			got += len(receive(t, busy).Answer)
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
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("stopped after %s", took)
	}
	if _, err := net.Dial("tcp", p.Addrs()[0].String()); err == nil {
		t.Error("still listening")
	}
}

// A listener that goes away ends Run with an error.
func TestRun_lostListenerIsAnError(t *testing.T) {
	p, err := New(Config{Zones: served(), Listen: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:0")}})
	if err != nil {
		t.Fatal(err)
	}
	p.pairs[0].tcp.Close()
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "closed while it served") {
		t.Errorf("%v", err)
	}
}
