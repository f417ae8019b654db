// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/must"
)

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
