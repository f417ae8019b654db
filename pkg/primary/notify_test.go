// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
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
	ignores.waitForNotifies(t, 1) // a serial that a target has not heard yet is not announced after the next
	behind.waitForNotifies(t, 1)
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

// badLine is a secondary on a network that deterministically loses, duplicates and delays messages.
type badLine struct {
	conn *net.UDPConn

	mu       sync.Mutex
	received map[string]int    // NOTIFYs of a zone
	latest   map[string]uint32 // serial
	flying   map[string]int    // unanswered NOTIFYs of a zone
	most     int               // maximum of flying for any zone
	total    int
}

func newBadLine(t *testing.T) *badLine {
	t.Helper()
	conn := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	_ = conn.SetReadBuffer(4 << 20)
	b := &badLine{conn: conn, received: map[string]int{}, latest: map[string]uint32{}, flying: map[string]int{}}
	var done sync.WaitGroup
	done.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFromUDP(buf)
			if err != nil {
				return
			}
			m := new(mdns.Msg)
			if err := m.Unpack(buf[:n]); err != nil {
				t.Errorf("%v in %x", err, buf[:n])
				return
			}
			done.Go(func() { b.takeNotify(m, from) })
		}
	})
	t.Cleanup(func() { conn.Close(); done.Wait() })
	return b
}

func (b *badLine) takeNotify(m *mdns.Msg, from *net.UDPAddr) {
	zone, serial := m.Question[0].Name, m.Answer[0].(*mdns.SOA).Serial
	b.mu.Lock()
	b.total++
	b.received[zone]++
	n := b.received[zone] + len(zone) // zones differ
	if n%8 != 0 {
		b.latest[zone] = max(b.latest[zone], serial)
	}
	if n%8 <= 1 { // the NOTIFY or its answer is lost
		b.mu.Unlock()
		return
	}
	b.flying[zone]++
	b.most = max(b.most, b.flying[zone])
	b.mu.Unlock()
	time.Sleep(time.Duration(n%3) * 10 * time.Millisecond) // answers are reordered
	b.mu.Lock()
	b.flying[zone]--
	b.mu.Unlock()
	reply, err := new(mdns.Msg).SetReply(m).Pack()
	if err != nil {
		return
	}
	for range 1 + n%2 {
		_, _ = b.conn.WriteToUDP(reply, from)
	}
}

// A thousand zones get new serials at the same time, three times, over a bad network. Each target gets the last serial
// of each zone. At most one NOTIFY is in flight for a zone, and their total is bounded. A target on a good network does
// not wait.
func TestNotify_thousandZonesOverABadLine_F21(t *testing.T) {
	const rounds = 3
	zones := 1000
	if testing.Short() {
		zones = 200
	}
	bad, good := newBadLine(t), newSecondary(t, confirmNotify)
	set := serveZones()
	put := func(serial uint32) {
		for i := range zones {
			fqdn := fmt.Sprintf("%s%d.example.", "zzzz"[:i%4], i)
			set.Put(makeSnapshot(t, fqdn, "", fqdn, serialOf(serial)), true)
		}
	}
	put(1)
	p := startPrimary(t, Config{Zones: set, Notify: []Target{{Addr: bad.conn.LocalAddr().(*net.UDPAddr).AddrPort()},
		{Addr: good.addressOf()}},
		NotifyTimeout: 500 * time.Millisecond, NotifyBackoff: 20 * time.Millisecond, NotifyInterval: 20 * time.Millisecond})
	for serial := uint32(2); serial <= rounds; serial++ {
		put(serial)
	}
	reported := func(latest map[string]uint32) (n int) {
		for _, serial := range latest {
			if serial == rounds {
				n++
			}
		}
		return n
	}
	goodLatest := func() map[string]uint32 {
		good.mu.Lock()
		defer good.mu.Unlock()
		latest := map[string]uint32{}
		for i, zone := range good.zones {
			latest[zone] = max(latest[zone], good.received[i])
		}
		return latest
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		bad.mu.Lock()
		n := reported(bad.latest)
		bad.mu.Unlock()
		if n == zones && reported(goodLatest()) == zones {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("over the bad line %d zones of %d, over the good one %d", n, zones, reported(goodLatest()))
		}
	}
	bad.mu.Lock()
	defer bad.mu.Unlock()
	if bad.most > 1 {
		t.Errorf("%d NOTIFYs of one zone in flight to one target", bad.most)
	}
	if most := zones * rounds * p.config.NotifyAttempts; bad.total > most {
		t.Errorf("%d NOTIFYs, %d serials of %d zones with %d attempts are %d", bad.total, rounds, zones, p.config.NotifyAttempts, most)
	}
	t.Logf("%d NOTIFYs over the bad line, %d over the good one", bad.total, len(good.listSerials()))
}

// waitForFault waits until the primary has an answer of a target to the NOTIFYs for a zone; "" for the confirmation.
func waitForFault(t *testing.T, p *Primary, class *Class, at *secondary, want string) (fault *NotifyFault) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		fault, known := p.NotifyFaults(class, "u")[Target{Addr: at.addressOf()}]
		switch {
		case known && fault == nil && want == "", fault != nil && fault.Answer == want:
			return fault
		case time.Now().After(deadline):
			t.Fatalf("the fault is %+v, known: %v; want %q", fault, known, want)
		}
	}
}

// A refused NOTIFY is a fault from its second try on, with the answer and the address that the target saw, though the
// zone changes before the attempts for a serial are over. It ends with the first confirmation. The log has one line for
// each.
func TestNotify_refusalIsAFaultUntilConfirmed_S7_12(t *testing.T) {
	var rcode atomic.Int64
	rcode.Store(mdns.RcodeRefused)
	target := newSecondary(t, func(_ int, m *mdns.Msg) *mdns.Msg { return new(mdns.Msg).SetRcode(m, int(rcode.Load())) })
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	var mu sync.Mutex
	var log []string
	p := startPrimary(t, Config{Zones: set, NotifyInterval: time.Millisecond, NotifyBackoff: 10 * time.Millisecond,
		NotifyFaultAfter: 20 * time.Millisecond, Logger: funcr.New(func(_, text string) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(text, "NOTIFY") {
				log = append(log, text)
			}
		}, funcr.Options{})})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Allow: Rules(local, nil), Notify: []Target{{Addr: target.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}}))(t)

	changing := make(chan struct{})
	go func() {
		defer close(changing)
		for n := uint32(2); n < 100; n++ {
			set.Put(makeSnapshot(t, "u", "", "example.org.", serialOf(n)), true)
			time.Sleep(5 * time.Millisecond)
		}
	}()
	fault := waitForFault(t, p, class, target, "REFUSED")
	if fault.From != loopback || fault.Zone != name.MustParse("example.org.") || time.Since(fault.Since) < 20*time.Millisecond {
		t.Errorf("the fault is %+v", fault)
	}
	<-changing
	if got := p.Stats().NotifyFaults[NotifyAnswer{target.addressOf().String(), "REFUSED"}]; got != 1 {
		t.Errorf("%d zones wait in the metric", got)
	}
	rcode.Store(mdns.RcodeSuccess)
	set.Put(makeSnapshot(t, "u", "", "example.org.", 100), true)
	waitForFault(t, p, class, target, "")
	if got := p.Stats().NotifyFaults; len(got) > 0 {
		t.Errorf("in the metric stays %v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(log) != 2 || !strings.Contains(log[0], "does not confirm NOTIFY") || !strings.Contains(log[0], `"from"="127.0.0.1"`) ||
		!strings.Contains(log[1], "confirms NOTIFY again") {
		t.Errorf("the log has\n%s", strings.Join(log, "\n"))
	}
}

// A server learns of a new zone from the catalog, so the catalog's refusal is the fault, although the server answers
// NOTAUTH for the zone that it lacks. A silent target has the fault NoAnswer.
func TestNotify_faultOfTheCatalogPrecedes(t *testing.T) {
	refuses := newSecondary(t, func(_ int, m *mdns.Msg) *mdns.Msg {
		rcode := mdns.RcodeNotAuth
		if m.Question[0].Name == "catalog.example." {
			rcode = mdns.RcodeRefused
		}
		return new(mdns.Msg).SetRcode(m, rcode)
	})
	silent := newSecondary(t, func(int, *mdns.Msg) *mdns.Msg { return nil })
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), NotifyInterval: time.Millisecond,
		NotifyBackoff: 10 * time.Millisecond, NotifyTimeout: 10 * time.Millisecond, NotifyFaultAfter: 20 * time.Millisecond})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Catalog: name.MustParse("catalog.example."), Allow: Rules(local, nil),
		Notify: []Target{{Addr: refuses.addressOf()}, {Addr: silent.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}, Serial: 1}))(t)
	if fault := waitForFault(t, p, class, refuses, "REFUSED"); fault.Zone != name.MustParse("catalog.example.") {
		t.Errorf("the fault is of %s", fault.Zone)
	}
	waitForFault(t, p, class, silent, "NoAnswer")
	class.Close()
	if faults := p.NotifyFaults(class, "u"); len(faults) > 0 {
		t.Errorf("after the class: %v", faults)
	}
}

// A target that refuses and is silent by turns, as one of two servers behind an address does, confirms nothing: the
// whole series is a fault, and the log has one line.
func TestNotify_alternatingAnswersAreAFault_S7_12(t *testing.T) {
	target := newSecondary(t, func(n int, m *mdns.Msg) *mdns.Msg {
		if n%2 == 0 {
			return nil
		}
		return new(mdns.Msg).SetRcode(m, mdns.RcodeRefused)
	})
	var lines atomic.Int64
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), NotifyInterval: time.Millisecond,
		NotifyBackoff: 10 * time.Millisecond, NotifyTimeout: 10 * time.Millisecond, NotifyFaultAfter: 20 * time.Millisecond,
		NotifyAttempts: 7, Logger: funcr.New(func(_, text string) {
			if strings.Contains(text, "does not confirm NOTIFY") {
				lines.Add(1)
			}
		}, funcr.Options{})})
	class := must.Get(p.AddClass(ClassConfig{Name: "red", Allow: Rules(local, nil), Notify: []Target{{Addr: target.addressOf()}}},
		Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}}))(t)
	target.waitForNotifies(t, 7)
	waitForFault(t, p, class, target, "REFUSED")
	if got := p.Stats().NotifyFaults[NotifyAnswer{target.addressOf().String(), "REFUSED"}]; got != 1 {
		t.Errorf("%d zones wait in the metric", got)
	}
	if got := lines.Load(); got != 1 {
		t.Errorf("the log has %d lines", got)
	}
}

// A tenant names other servers in each version of a class. Only the last is remembered, though none answers.
func TestNotify_forgetsFormerTargets(t *testing.T) {
	set := serveZones(makeSnapshot(t, "u", "", "example.org.", 1))
	p := startPrimary(t, Config{Zones: set, NotifyBackoff: time.Millisecond, NotifyFaultAfter: time.Nanosecond})
	silent := must.Get(rig.FreePort())(t)
	of := ClassConfig{Name: "red", Allow: Rules(local, nil)}
	class := must.Get(p.AddClass(of, Membership{Members: []Member{{UID: "u", Zone: name.MustParse("example.org.")}}}))(t)
	for i := range 100 {
		last := Target{Addr: silent, NoCatalog: i%2 == 0}
		of.Notify = []Target{last}
		must.Succeed(t, class.Update(of))
		if i%2 == 0 {
			class.Announce("u") // the class and the zone are looked at together
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			p.notifier.mu.Lock()
			n := p.notifier
			_, named := n.targets[last]
			known, failing := len(n.targets), len(n.failing)
			n.mu.Unlock()
			if named && known == 1 && failing <= 1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("of one target %d are known, and %d fail", known, failing)
			}
		}
	}
}

// A NOTIFY that was not confirmed long ago, and one that is lost now, are no series.
func TestNoteAnswer_beginsAnotherSeriesAfterAPause_S7_12(t *testing.T) {
	n := &notifier{config: &Config{NotifyFaultAfter: time.Minute}, failing: map[pendingKey]failing{},
		targets: map[Target]*targetState{{}: {}}}
	waits := &pendingNotify{notification: &notification{}}
	for age, isSeries := range map[time.Duration]bool{time.Hour: false, 2 * time.Minute: true} {
		before := time.Now().Add(-age)
		n.failing[pendingKey{}] = failing{answer: "REFUSED", since: before, last: before}
		n.noteAnswer(logr.Discard(), pendingKey{}, waits, loopback, errors.New("lost"))
		if got := n.countFaults()[NotifyAnswer{Target{}.Addr.String(), "Error"}] == 1; got != isSeries {
			t.Errorf("after %s it is a fault: %v", age, got)
		}
	}
}

// Each scrape counts the same servers, although more fail than the metric names.
func TestCountFaults_choosesTheSameServers(t *testing.T) {
	n, now := &notifier{config: &Config{NotifyFaultAfter: time.Second}, failing: map[pendingKey]failing{}}, time.Now()
	for port := range 2 * maxFaultServers {
		at := Target{Addr: netip.AddrPortFrom(loopback, uint16(10000+port))}
		for _, zone := range []string{"example.org.", "example.net."} {
			key := pendingKey{servedName{nil, name.MustParse(zone)}, at}
			n.failing[key] = failing{answer: "REFUSED", since: now.Add(-time.Minute), last: now}
		}
	}
	counts := n.countFaults()
	for port := range maxFaultServers {
		at := NotifyAnswer{netip.AddrPortFrom(loopback, uint16(10000+port)).String(), "REFUSED"}
		if counts[at] != 2 {
			t.Errorf("%d zones of %s", counts[at], at.Server)
		}
	}
	if len(counts) != maxFaultServers {
		t.Errorf("%d servers", len(counts))
	}
}

// A transfer that is refused counts by itself, so that an operator finds a secondary with a wrong key or address.
func TestTransfer_refusalIsCounted(t *testing.T) {
	key, other := testKey(t, "transfer.example.", tsig.HMACSHA256), testKey(t, "other.example.", tsig.HMACSHA256)
	p := startPrimary(t, Config{Zones: serveZones(makeSnapshot(t, "u", "", "example.org.", 1)), Keys: []tsig.Key{key},
		Allow: Rules(nil, []tsig.Key{key})})
	for _, test := range []struct {
		zone string
		key  *tsig.Key
	}{{"example.org.", nil}, {"example.org.", &other}, {"example.net.", &key}, {"example.org.", &key}} {
		m := new(mdns.Msg)
		m.SetAxfr(test.zone)
		transfer := &mdns.Transfer{}
		if test.key != nil {
			m.SetTsig(test.key.Name, string(test.key.Algorithm), 300, time.Now().Unix())
			transfer.TsigProvider = macBy{*test.key}
		}
		for range must.Get(transfer.In(m, p.Addr().String()))(t) {
		}
	}
	m := makeQuery("example.org.", mdns.TypeSOA)
	must.Get(mdns.Exchange(m, p.Addr().String()))(t)
	of := p.Stats().Transfers
	if got := of[TransferKind{KindAXFR, ResultRefused}]; got != 3 || of[TransferKind{KindIXFR, ResultRefused}] != 0 {
		t.Errorf("%v", of)
	}
}
