// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/must"
)

// secondary is a scripted target that records NOTIFYs.
type secondary struct {
	conn   *net.UDPConn
	answer func(n int, m *mdns.Msg) *mdns.Msg // nil: stays silent; n counts from 1

	mu       sync.Mutex
	received []uint32 // serials
	zones    []string
	came     chan struct{}
}

func newSecondary(t testing.TB, answer func(int, *mdns.Msg) *mdns.Msg) *secondary {
	t.Helper()
	conn := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	s := &secondary{conn: conn, answer: answer, came: make(chan struct{}, 10000)}
	done := make(chan struct{})
	go func() { defer close(done); s.serveNotify(t) }()
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

func (s *secondary) addressOf() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

func (s *secondary) serveNotify(t testing.TB) {
	buf := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFromUDP(buf)
		if err != nil {
			return
		}
		m := new(mdns.Msg)
		if err := m.Unpack(buf[:n]); err != nil {
			t.Errorf("%v in %x", err, buf[:n])
			return
		}
		if m.Opcode != mdns.OpcodeNotify || !m.Authoritative || len(m.Answer) != 1 || len(m.Question) != 1 || m.Question[0].Qtype != mdns.TypeSOA {
			t.Errorf("no NOTIFY: %v", m)
			return
		}
		s.mu.Lock()
		s.received = append(s.received, m.Answer[0].(*mdns.SOA).Serial)
		s.zones = append(s.zones, m.Question[0].Name)
		count := len(s.received)
		s.mu.Unlock()
		s.came <- struct{}{}
		if reply := s.answer(count, m); reply != nil {
			b, err := reply.Pack()
			if err != nil {
				t.Error(err)
			}
			s.conn.WriteToUDP(b, from)
		}
	}
}

func (s *secondary) listSerials() []uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]uint32(nil), s.received...)
}

func (s *secondary) waitForNotifies(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for len(s.listSerials()) < n {
		select {
		case <-s.came:
		case <-deadline:
			t.Fatalf("%d NOTIFYs, want %d: %v", len(s.listSerials()), n, s.listSerials())
		}
	}
}

func confirmNotify(_ int, m *mdns.Msg) *mdns.Msg { return new(mdns.Msg).SetReply(m) }

// Hundreds of changes of a zone cause at most one NOTIFY per interval. No two NOTIFYs are in flight to a target at
// once, their serials increase, and the last has the newest serial.
func TestNotify_coalescesAndSendsOneAtATime(t *testing.T) {
	var sending sync.Mutex
	target := newSecondary(t, func(n int, m *mdns.Msg) *mdns.Msg {
		if !sending.TryLock() {
			t.Error("two in flight")
		}
		time.Sleep(5 * time.Millisecond)
		sending.Unlock()
		return confirmNotify(n, m)
	})
	const interval, last = 50 * time.Millisecond, 300
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	begin := time.Now()
	startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: target.addressOf()}}, NotifyInterval: interval})
	target.waitForNotifies(t, 1)
	for serial := uint32(2); serial <= last; serial++ {
		set.Put(makeSnapshot(t, "u", "", "example.org.", serialOf(serial)), true)
		time.Sleep(time.Millisecond) // time for many NOTIFYs without coalescing
	}
	deadline := time.After(2 * time.Minute)
	for {
		got := target.listSerials()
		if got[len(got)-1] == last {
			if most := int(time.Since(begin)/interval) + 2; len(got) > most {
				t.Errorf("%d NOTIFYs in %s, one in %s was meant", len(got), time.Since(begin), interval)
			}
			for i := 1; i < len(got); i++ {
				if got[i] <= got[i-1] {
					t.Errorf("serial %d after %d", got[i], got[i-1])
				}
			}
			return
		}
		select {
		case <-target.came:
		case <-deadline:
			t.Fatalf("the last serial is never announced: %v", got)
		}
	}
}

// A NOTIFY is repeated with backoff until the target confirms it. A refusal is no confirmation, and neither is an
// answer with another message ID (RFC 1996 §3.6).
func TestNotify_repeatsUntilConfirmed(t *testing.T) {
	target := newSecondary(t, func(n int, m *mdns.Msg) *mdns.Msg {
		switch n {
		case 1:
			return nil
		case 2:
			return new(mdns.Msg).SetRcode(m, mdns.RcodeNotAuth)
		case 3:
			reply := confirmNotify(n, m)
			reply.Id++
			return reply
		}
		return confirmNotify(n, m)
	})
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: target.addressOf()}}, NotifyTimeout: time.Second,
		NotifyBackoff: 10 * time.Millisecond, NotifyInterval: time.Millisecond})
	target.waitForNotifies(t, 4)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 2), true)
	target.waitForNotifies(t, 5)
	if got := target.listSerials(); got[3] != 1 || got[4] != 2 {
		t.Errorf("%v: serial 1 is confirmed by the fourth, then serial 2", got)
	}
}

func TestNotify_givesUpAndStartsAgainWithANewSerial(t *testing.T) {
	target := newSecondary(t, func(int, *mdns.Msg) *mdns.Msg { return nil })
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: target.addressOf()}}, NotifyTimeout: 100 * time.Millisecond,
		NotifyBackoff: time.Millisecond, NotifyInterval: time.Millisecond, NotifyAttempts: 3})
	target.waitForNotifies(t, 3)
	time.Sleep(300 * time.Millisecond) // time for a fourth
	if got := target.listSerials(); len(got) != 3 {
		t.Errorf("%v: three attempts were allowed", got)
	}
	set.Put(makeSnapshot(t, "u", "", "example.org.", 2), true)
	target.waitForNotifies(t, 6)
}

// Only a signed answer confirms a signed NOTIFY (RFC 8945 §5.3).
func TestNotify_signedNeedsSignedAnswer(t *testing.T) {
	k := testKey(t, "transfer.example.", tsig.HMACSHA256)
	other := must.Get(tsig.NewKey("transfer.example.", tsig.HMACSHA256, []byte("another secret, as long as this")))(t)
	handler := mdns.NewServeMux()
	serials := make(chan uint32, 100)
	count := 0
	handler.HandleFunc("example.org.", func(w mdns.ResponseWriter, m *mdns.Msg) {
		count++
		if m.IsTsig() == nil || w.TsigStatus() != nil {
			t.Errorf("signature: %v", w.TsigStatus())
		}
		reply := new(mdns.Msg).SetReply(m)
		if count == 2 {
			reply.SetTsig(k.Name, string(k.Algorithm), 300, time.Now().Unix())
			serials <- m.Answer[0].(*mdns.SOA).Serial
		}
		w.WriteMsg(reply)
	})
	pc := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	server := &mdns.Server{PacketConn: pc, Handler: handler, TsigProvider: macBy{k}, MsgAcceptFunc: func(mdns.Header) mdns.MsgAcceptAction { return mdns.MsgAccept }}
	ended := make(chan struct{})
	go func() { defer close(ended); server.ActivateAndServe() }()
	t.Cleanup(func() { server.Shutdown(); <-ended })
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 5))
	target := []Target{{Addr: pc.LocalAddr().(*net.UDPAddr).AddrPort(), Key: "Transfer.example"}}
	p := startPrimary(t, Config{Zones: set, Keys: []tsig.Key{k}, Notify: target, NotifyTimeout: 100 * time.Millisecond,
		NotifyBackoff: 10 * time.Millisecond})
	select {
	case got := <-serials:
		if got != 5 {
			t.Errorf("serial %d", got)
		}
	case <-time.After(time.Minute):
		t.Error("not repeated after an unsigned answer")
	}
	// An answer signed with another secret does not count.
	sk := must.Get(tsig.NewSigningKey(other))(t)
	soa := must.Get(makeSnapshot(t, "u", "", "example.org.", 5).PackedSOA())(t)
	msg, mac, err := (&notification{fqdn: name.MustParse("example.org."), serial: 5, soa: soa}).packNotify(p.classes.registry.Load().keys[k.Name], time.Now())
	must.Succeed(t, err)
	reply := packMessage(t, new(mdns.Msg).SetReply(unpackMessage(t, msg)))
	forged, _ := sk.Sign(reply, mac, tsig.StampAt(time.Now()), false)
	key := p.classes.registry.Load().keys[k.Name]
	if answered, _ := readNotifyAnswer(forged, unpackMessage(t, msg).Id, key, mac, time.Now()); answered {
		t.Error("a forged answer confirms")
	}
}

// Two views have a zone with the same name, and only the first view's zone is served. Changes of the other zone cause a
// NOTIFY only after the first is removed. A serial is announced once, although the zone is put again.
func TestNotify_followsWhatIsServed(t *testing.T) {
	target := newSecondary(t, confirmNotify)
	set := serveZones(makeSnapshot(t, "inner", "internal", "example.org.", 50), makeSnapshot(t, "outer", "", "example.org.", 10))
	startPrimary(t, Config{Zones: set, Views: []string{"internal", ""}, Notify: []Target{{Addr: target.addressOf()}},
		NotifyInterval: time.Millisecond})
	target.waitForNotifies(t, 1)
	set.Put(makeSnapshot(t, "outer", "", "example.org.", 11), true) // hidden
	set.Put(makeSnapshot(t, "inner", "internal", "example.org.", 51), true)
	target.waitForNotifies(t, 2)
	set.Remove("inner")
	target.waitForNotifies(t, 3)
	if got := target.listSerials(); got[0] != 50 || got[1] != 51 || got[2] != 11 {
		t.Errorf("%v", got)
	}
	set.Put(makeSnapshot(t, "outer", "", "renamed.example.", 12), true)
	target.waitForNotifies(t, 4)
	for range 10 {
		set.Put(makeSnapshot(t, "outer", "", "renamed.example.", 12), true)
	}
	set.Put(makeSnapshot(t, "v", "", "example.net.", 2), true)
	target.waitForNotifies(t, 5)
	target.mu.Lock()
	defer target.mu.Unlock()
	if !slices.Equal(target.zones[3:], []string{"renamed.example.", "example.net."}) {
		t.Errorf("%v", target.zones)
	}
}

// A new serial is announced at once, even if the target failed and the next attempt for the old serial waits for a long
// backoff.
func TestNotify_aNewSerialDoesNotWaitOutTheBackoff(t *testing.T) {
	target := newSecondary(t, func(n int, m *mdns.Msg) *mdns.Msg {
		if n == 1 {
			return new(mdns.Msg).SetRcode(m, mdns.RcodeServerFailure)
		}
		return confirmNotify(n, m)
	})
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: target.addressOf()}}, NotifyBackoff: time.Hour,
		NotifyInterval: time.Millisecond})
	target.waitForNotifies(t, 1)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 2), true)
	target.waitForNotifies(t, 2)
	if got := target.listSerials(); got[1] != 2 {
		t.Errorf("%v", got)
	}
}

// A catalog's NOTIFY does not wait behind those of the members, because a secondary without the catalog does not know
// the members and does not answer.
func TestNotify_aCatalogDoesNotWaitForItsMembers(t *testing.T) {
	var members []Member
	var zones []*zoneview.Snapshot
	for i := range 4 * notifiesPerTarget {
		s := makeSnapshot(t, fmt.Sprint("u", i), "", fmt.Sprintf("z%d.example.", i), 7)
		zones, members = append(zones, s), append(members, Member{UID: s.Zone().UID, Zone: s.FQDN()})
	}
	catalog := make(chan struct{})
	var once sync.Once
	follower := newSecondary(t, func(_ int, m *mdns.Msg) *mdns.Msg {
		if m.Question[0].Name != "catalog.example." {
			return nil
		}
		once.Do(func() { close(catalog) })
		return confirmNotify(0, m)
	})
	alive := newSecondary(t, confirmNotify)
	p := startPrimary(t, Config{Zones: serveZones(zones...), NotifyTimeout: time.Hour})
	must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("catalog.example."), Allow: Rules(local, nil),
		Notify: []Target{{Addr: follower.addressOf()}, {Addr: alive.addressOf()}}}, Membership{Members: members, Serial: 1}))(t)
	select {
	case <-catalog:
	case <-time.After(time.Minute):
		t.Error("the catalog's NOTIFY waits behind those of its members")
	}
	alive.waitForNotifies(t, len(members)+1) // no target waits for another
}

// A target gets NOTIFYs only for zones that it transfers from this server. A secondary that ignores catalogs gets them
// only for zones, and a secondary behind another server only for the catalog.
func TestNotify_ofWhatIsTransferred(t *testing.T) {
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 7))
	follows, ignores, behind := newSecondary(t, confirmNotify), newSecondary(t, confirmNotify), newSecondary(t, confirmNotify)
	p := startPrimary(t, Config{Zones: set, NotifyInterval: time.Millisecond})
	members := []Member{{UID: "u", Zone: name.MustParse("example.org.")}}
	class := must.Get(p.AddClass(ClassConfig{
		Name: "red", Catalog: name.MustParse("catalog.example."), Allow: Rules(local, nil),
		Notify: []Target{{Addr: ignores.addressOf(), NoCatalog: true}, {Addr: behind.addressOf(), NoZones: true},
			{Addr: follows.addressOf()}},
	}, Membership{Members: members, Serial: 101}))(t)
	follows.waitForNotifies(t, 2)
	class.SetMembers(Membership{Members: append(members, Member{UID: "other", Zone: name.MustParse("example.net.")}), Serial: 102})
	follows.waitForNotifies(t, 3)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 8), true)
	follows.waitForNotifies(t, 4)
	ignores.waitForNotifies(t, 2)
	if got := ignores.listSerials(); !slices.Equal(got, []uint32{7, 8}) {
		t.Errorf("told of the serials %d; the zone had 7 and 8", got)
	}
	behind.waitForNotifies(t, 2)
	if got := behind.listSerials(); !slices.Equal(got, []uint32{101, 102}) {
		t.Errorf("told of the serials %d; the catalog had 101 and 102", got)
	}
}

// NOTIFYs follow the signing of a zone. When signing begins, the signer gets them too. While the zone is signed, only
// the signer gets them, and after signing ends, only the others.
func TestNotify_theSignerOfWhatItSigns(t *testing.T) {
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 7))
	follows, signs := newSecondary(t, confirmNotify), newSecondary(t, confirmNotify)
	p := startPrimary(t, Config{Zones: set, NotifyInterval: time.Millisecond})
	members := []Member{{UID: "u", Zone: name.MustParse("example.org.")}}
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Allow: Rules(local, nil), Notify: []Target{{Addr: follows.addressOf()},
		{Addr: signs.addressOf(), Signs: true}}}, Membership{Members: members}))(t)
	follows.waitForNotifies(t, 1)
	class.SetMembers(Membership{Members: members, Signing: map[string]bool{"u": true}})
	signs.waitForNotifies(t, 1)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 8), true)
	follows.waitForNotifies(t, 2)
	signs.waitForNotifies(t, 2)
	class.SetMembers(Membership{Members: members, Signed: map[string]bool{"u": true}})
	set.Put(makeSnapshot(t, "u", "", "example.org.", 9), true)
	signs.waitForNotifies(t, 3)
	class.SetMembers(Membership{Members: members})
	follows.waitForNotifies(t, 3)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 10), true)
	follows.waitForNotifies(t, 4)
	if got := follows.listSerials(); !slices.Equal(got, []uint32{7, 8, 9, 10}) {
		t.Errorf("the follower is told of %d, want 7, 8 while the signing began, 9 after it ended, and 10", got)
	}
	if got := signs.listSerials(); !slices.Equal(got, []uint32{7, 8, 9}) {
		t.Errorf("the signer is told of %d, want 7, 8 and 9", got)
	}
}

// No NOTIFY is sent until Reachable returns, because targets cannot connect yet for the transfer. Then a NOTIFY is sent
// for every zone, with its current serial.
func TestNotify_waitsUntilTargetsReachUs(t *testing.T) {
	target := newSecondary(t, confirmNotify)
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1), makeSnapshot(t, "v", "", "example.net.", 1))
	begun, reached := make(chan struct{}), make(chan struct{})
	p := startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: target.addressOf()}}, Reachable: func(ctx context.Context) {
		close(begun)
		select {
		case <-reached:
		case <-ctx.Done():
		}
	}})
	<-begun
	set.Put(makeSnapshot(t, "u", "", "example.org.", 2), true)
	conn := dialTCP(t, p)
	must.Succeed(t, (&mdns.Conn{Conn: conn}).WriteMsg(makeQuery("example.org.", mdns.TypeSOA)))
	if answer := must.Get((&mdns.Conn{Conn: conn}).ReadMsg())(t); len(answer.Answer) != 1 || answer.Answer[0].(*mdns.SOA).Serial != 2 {
		t.Errorf("it answers %v meanwhile", answer)
	}
	if received := target.listSerials(); len(received) > 0 {
		t.Errorf("a target that cannot reach it was told of %v", received)
	}
	close(reached)
	target.waitForNotifies(t, 2)
	received := target.listSerials()
	slices.Sort(received)
	if !slices.Equal(received, []uint32{1, 2}) {
		t.Errorf("told of %v", received)
	}
}
