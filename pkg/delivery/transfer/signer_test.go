// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/transfertest"
)

type signingServer struct {
	addr netip.AddrPort

	mu      sync.Mutex
	serial  uint32
	lines   []string            // of the zone, without the SOA
	history map[uint32][]string // lines by former serial
	soa     string              // timers of the SOA
	refuses bool                // transfers
	noIXFR  bool
	whole   int // AXFR answers
	partial int // IXFR answers
}

const signerSOA = "86400 7200 3600000 360"

func newSigningServer(t *testing.T) *signingServer {
	t.Helper()
	s := &signingServer{history: map[uint32][]string{}, soa: signerSOA}
	s.addr = must.Get(rig.FreePort())(t)
	listener := must.Get(net.Listen("tcp", s.addr.String()))(t)
	packets := must.Get(net.ListenPacket("udp", s.addr.String()))(t)
	for _, server := range []*mdns.Server{{Listener: listener, Handler: s}, {PacketConn: packets, Handler: s}} {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go server.ActivateAndServe()
		<-started
		t.Cleanup(func() { server.Shutdown() })
	}
	return s
}

func (s *signingServer) changeServer(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *signingServer) countTransfers() (whole, partial int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.whole, s.partial
}

// signZone publishes lines plus signatures at a serial, 0 for the next.
func (s *signingServer) signZone(at uint32, lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at == 0 {
		at = s.serial + 1
	}
	if s.serial != 0 {
		s.history[s.serial] = s.lines
	}
	s.serial = at
	s.lines = append(slices.Clone(lines), fmt.Sprintf("example.org. 3600 IN DNSKEY 257 3 13 %s", strings.Repeat("A", 84)+"AA=="),
		fmt.Sprintf("example.org. 3600 IN RRSIG NS 13 2 3600 20300101000000 20200101000000 %d example.org. AAAA", at%60000),
		"example.org. 0 IN TYPE65534 \\# 5 0D041F0001", "example.org. 3600 IN CDS 1 13 2 00")
}

func (s *signingServer) ServeDNS(out mdns.ResponseWriter, m *mdns.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := func(lines ...string) (all []mdns.RR) {
		for _, line := range lines {
			rr, err := mdns.NewRR(line)
			if err != nil {
				panic(err)
			}
			all = append(all, rr)
		}
		return all
	}
	soa := func(at uint32) string {
		return fmt.Sprintf("example.org. 3600 IN SOA ns1.provider.example. hostmaster.example.org. %d %s", at, s.soa)
	}
	answer := new(mdns.Msg).SetReply(m)
	answer.Authoritative = true
	switch q := m.Question[0].Qtype; {
	case s.serial == 0:
		answer.Rcode = mdns.RcodeRefused
	case q == mdns.TypeSOA:
		answer.Answer = read(soa(s.serial))
	case s.refuses:
		answer.Rcode = mdns.RcodeRefused
	case q != mdns.TypeIXFR && q != mdns.TypeAXFR:
		of := strings.ToUpper(m.Question[0].Name) + " "
		answer.Answer = read(slices.DeleteFunc(slices.Clone(s.lines), func(line string) bool {
			return !strings.HasPrefix(line, of) || !strings.Contains(line, " IN "+mdns.TypeToString[q]+" ")
		})...)
	case q == mdns.TypeIXFR && s.noIXFR:
		answer.Rcode = mdns.RcodeNotImplemented
	case q == mdns.TypeIXFR && s.history[m.Ns[0].(*mdns.SOA).Serial] != nil:
		s.partial++
		since := m.Ns[0].(*mdns.SOA).Serial
		lines := []string{soa(s.serial)}
		from := since
		for _, to := range append(slices.DeleteFunc(slices.Sorted(maps.Keys(s.history)), func(at uint32) bool { return at <= since }), s.serial) {
			before, after := s.history[from], s.history[to]
			if to == s.serial {
				after = s.lines
			}
			stays := func(line string) bool { return slices.Contains(after, line) }
			former := func(line string) bool { return slices.Contains(before, line) }
			lines = append(append(lines, soa(from)), slices.DeleteFunc(slices.Clone(before), stays)...)
			lines = append(append(lines, soa(to)), slices.DeleteFunc(slices.Clone(after), former)...)
			from = to
		}
		answer.Answer = read(append(lines, soa(s.serial))...)
	default:
		s.whole++
		lines := slices.Concat([]string{soa(s.serial)}, s.lines, []string{soa(s.serial)})
		for len(lines) > 500 {
			answer.Answer, lines = read(lines[:500]...), lines[500:]
			out.WriteMsg(answer)
		}
		answer.Answer = read(lines...)
	}
	out.WriteMsg(answer)
}

// zoneAt returns a zone of TXT records as a plan and as a signer's lines.
func zoneAt(at serial.Serial, texts ...string) (delivery.Plan, []string) {
	plan := transfertest.PlanOf("u", "example.org.", at)
	plan.SOA = delivery.RRset{Name: plan.Zone, Type: rdata.SOA, TTL: 3600, Data: []string{"ns1.provider.example. hostmaster.example.org. " + at.String() + " " + signerSOA}}
	sets := []delivery.RRset{{Name: plan.Zone, Type: rdata.NS, TTL: 3600, Data: []string{"ns1.provider.example."}}, {Name: plan.Zone, Type: rdata.DS, TTL: 60, Data: []string{"1 13 2 " + strings.Repeat("0", 64)}}}
	for i, text := range texts {
		sets = append(sets, delivery.RRset{Name: name.MustParse(fmt.Sprintf("h%d.example.org.", i)), Type: rdata.TXT, TTL: 300, Data: []string{fmt.Sprintf("%q", text)}})
	}
	plan.All = slices.Values(sets)
	var lines []string
	for _, set := range sets {
		lines = append(lines, fmt.Sprintf("%s %d IN %s %s", strings.ToUpper(set.Name.String()), set.TTL, set.Type, set.Data[0]))
	}
	return plan, lines
}

// When signing begins, a secondary has either the primary's serial or already the much later serial of the signer. The
// later serial must not be taken for a sign that the zone lost its serials (S12.5).
func TestDeliver_whileASignerBegins_S12_5(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	public := newSecondary(t, nil)
	p := w.configureProvider(t, Config{
		Secondaries: []Secondary{{Name: "public", Addr: public.addr, Signer: "signer", Unsigned: true}}, Dial: dial.New(true).DialContext,
		LatestSerial: func(context.Context, string) (serial.Serial, error) {
			t.Error("a serial is compared with that of the zone")
			return 0, errors.New("not to be asked")
		},
	})
	plan, _ := zoneAt(10, "first")
	w.PutZone(t, plan)
	plan.CallTimeout = time.Second
	for _, test := range []struct {
		foreign           uint32
		serial, confirmed serial.Serial
	}{{9, 9, 0}, {10, 10, 10}, {1000, 0, 0}} {
		public.serial.Store(test.foreign)
		report, err := p.Deliver(t.Context(), plan, passFence)
		if err != nil || report.Confirmed != test.confirmed || report.Servers[0].Serial != test.serial || report.Servers[0].Err != nil {
			t.Errorf("a secondary with serial %d: %+v, %v", test.foreign, report, err)
		}
	}
}

// S6.14: a signer confirms the serial of the data served, at any serial of its own. A re-signing is no change,
// altered data confirms nothing, servers behind the signer are compared with the signer, and none is ahead of the
// zone.
func TestDeliver_findsWhatSignersHave_S6_14(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s, public := newSigningServer(t), newSecondary(t, nil)
	var changes []dns.Change
	p := w.configureProvider(t, Config{
		Secondaries: []Secondary{{Name: "public", Addr: public.addr, Signer: "signer"}, {Name: "signer", Addr: s.addr, Signs: true}}, Dial: dial.New(true).DialContext,
		LatestSerial: func(context.Context, string) (serial.Serial, error) {
			t.Error("a serial is compared with that of the zone")
			return 0, errors.New("not to be asked")
		},
		Changes: func(_ string, since, until serial.Serial) ([]dns.Change, error) {
			var found []dns.Change
			for _, change := range changes {
				if change.From >= since && change.To <= until {
					found = append(found, change)
				}
			}
			return found, nil
		},
	})
	txt := func(text string) dns.Entry {
		return dns.Entry{Name: name.MustParse("h0.example.org."), Type: rdata.TXT, TTL: 300, Data: fmt.Sprintf("%q", text)}
	}
	change := func(at serial.Serial, before, after string) {
		changes = append(changes, dns.Change{From: at - 1, To: at, Removed: []dns.Entry{txt(before)}, Added: []dns.Entry{txt(after)}})
	}
	check := func(what string, plan delivery.Plan, confirmed serial.Serial, rows ...serial.Serial) {
		t.Helper()
		if confirmed == 0 {
			plan.CallTimeout = time.Second // waits the full timeout
		}
		report, err := p.Deliver(t.Context(), plan, passFence)
		if err != nil || report.Confirmed != confirmed || report.Servers[0].Serial != rows[0] || report.Servers[1].Serial != rows[1] {
			t.Fatalf("%s: %+v, %v; want %d, %d", what, report, err, confirmed, rows)
		}
		for _, row := range report.Servers {
			if row.Err != nil || row.Note == "" {
				t.Fatalf("%s: %+v (%v)", what, row, row.Err)
			}
		}
	}
	ten, lines := zoneAt(10, "first")
	w.PutZone(t, ten)
	s.signZone(1000, lines...)
	public.serial.Store(999)
	check("a server behind has another serial of its signer", ten, 0, 0, 10)
	public.serial.Store(1000)
	check("both have it", ten, 10, 10, 10)
	for at := range uint32(10) {
		s.signZone(1001+at, lines...)
		check("signed anew", ten, 10, 10, 10)
		public.serial.Store(1001 + at)
	}
	if whole, partial := s.countTransfers(); whole != 1 || partial != 10 {
		t.Errorf("%d transfers of the whole zone, %d differences", whole, partial)
	}
	eleven, next := zoneAt(11, "second")
	change(11, "first", "second")
	check("the signer is behind", eleven, 0, 10, 10)
	s.signZone(1020, next...)
	check("the one behind it is", eleven, 0, 10, 11)
	public.serial.Store(1020)
	check("both have it", eleven, 11, 11, 11)
	change(12, "second", "third")
	change(13, "third", "fourth")
	twelve, _ := zoneAt(12, "third")
	thirteen, fourth := zoneAt(13, "fourth")
	w.PutZone(t, thirteen)
	s.signZone(1021, fourth...)
	public.serial.Store(1021)
	check("they have a later one than the plan", twelve, 12, 13, 13)
	for what, altered := range map[string]func(line string) string{
		"data": func(line string) string { return strings.Replace(line, "fourth", "forged", 1) },
		"TTL":  func(line string) string { return strings.Replace(line, " 300 ", " 301 ", 1) },
		"DS":   func(line string) string { return strings.Replace(line, " DS 1 ", " DS 2 ", 1) },
	} {
		var lines []string
		for _, line := range fourth {
			lines = append(lines, altered(line))
		}
		s.signZone(0, lines...)
		check("altered: "+what, thirteen, 0, 13, 0)
		s.signZone(0, fourth...)
		check("mended: "+what, thirteen, 13, 13, 13)
	}
	s.changeServer(func() { s.soa = "1 2 3 4" })
	s.signZone(0, fourth...)
	check("an altered SOA", thirteen, 0, 13, 0)
	s.changeServer(func() { s.soa = signerSOA })
	// The signer loses first the journal, then the store, then IXFR.
	s.signZone(0, fourth...)
	s.changeServer(func() { clear(s.history) })
	check("no differences", thirteen, 13, 13, 13)
	s.signZone(5, fourth...)
	check("begun anew", thirteen, 13, 13, 13)
	s.changeServer(func() { s.noIXFR = true })
	s.signZone(6, fourth...)
	check("no IXFR", thirteen, 13, 13, 13)
	if whole, _ := s.countTransfers(); whole != 8 { // the first, one for each altered zone, and the last three
		t.Errorf("%d transfers of the whole zone", whole)
	}
	// After a restart a single comparison suffices for a server behind the signer, although the signer is transferred
	// first.
	s.changeServer(func() { public.serial.Store(s.serial) })
	p = w.makeProvider(t, Secondary{Name: "public", Addr: public.addr, Signer: "signer"}, Secondary{Name: "signer", Addr: s.addr,
		Signs: true})
	drift, err := p.Verify(t.Context(), thirteen)
	if err != nil || drift.Servers[0].Serial != 13 || drift.Servers[1].Serial != 13 || drift.Servers[0].Err != nil || drift.Servers[1].Err != nil {
		t.Errorf("%+v, %v", drift, err)
	}
	for _, c := range []struct {
		has, want serial.Serial
		reaches   bool
	}{{0, 10, false}, {0, 3_000_000_000, false}, {9, 10, false}, {10, 10, true}, {11, 10, true}} {
		if got := reaches(c.has, c.want); got != c.reaches {
			t.Errorf("%d reaches %d: %v", c.has, c.want, got)
		}
	}
	// A new provider confirms the same from an empty memory.
	if report, err := w.makeProvider(t, Secondary{Name: "signer", Addr: s.addr, Signs: true}).Deliver(t.Context(), thirteen,
		passFence); err != nil || report.Confirmed != 13 || !report.Proven {
		t.Errorf("%+v, %v", report, err)
	}
}

// A signer's data is compared by a transfer. If the signer refuses transfers, its row says so and names the remedy: to
// allow them (S6.14).
func TestDeliver_saysWhySignersCannotBeCompared_S6_14(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	s.signZone(1000, lines...)
	s.changeServer(func() { s.refuses = true })
	p := w.makeProvider(t, Secondary{Name: "signer", Addr: s.addr, Signs: true})
	for range 2 {
		report, err := p.Deliver(t.Context(), plan, passFence)
		row := report.Servers[0]
		if err != nil || report.Confirmed != 0 || row.Serial != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		if row.Err == nil || row.Err.Reason != delivery.ReasonAuthenticationFailed || !strings.Contains(row.Err.Message, "allow transfers") {
			t.Fatalf("%+v", row)
		}
	}
}

// A secondary with a serial ahead of the zone's shows that the zone lost its serials. A signer beside it has a far
// higher serial of its own, which is normal and does not hide the secondary (S6.11, S6.14).
func TestDeliver_findsLostStoresBesideSigners_S6_14(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s, one := newSigningServer(t), newSecondary(t, &transfertest.Key)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	s.signZone(1000, lines...)
	one.serial.Store(12)
	p := w.makeProvider(t, Secondary{Name: "signer", Addr: s.addr, Signs: true}, Secondary{Name: "one", Addr: one.addr, Key: w.ReadKey()})
	report, err := p.Deliver(t.Context(), plan, passFence)
	var e *delivery.Error
	if !errors.As(err, &e) || e.Reason != delivery.ReasonSerialBehind || !report.Servers[1].AwaitsSerial ||
		report.Servers[0].Err != nil || report.Servers[0].Serial != 10 || report.Servers[1].Serial != 12 {
		t.Errorf("%+v, %v", report, err)
	}
}

// S6.14: the next transfer waits in proportion to the last. A zone's first transfer waits at most five minutes for
// others.
func TestPace_boundsOctetsAndTime_S6_14(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		elapsed time.Duration
		octets  int
		want    time.Duration
	}{{0, 0, 0}, {time.Millisecond, 1000, 4 * time.Millisecond}, {time.Second, 1 << 20, 4 * time.Second}, {time.Second, 64 << 20, 64 * time.Second}} {
		var p pace
		p.charge(at, c.elapsed, c.octets, zonePace, zoneShare)
		if got := p.free.Sub(at); got != c.want {
			t.Errorf("%s and %d octets: %s, want %s", c.elapsed, c.octets, got, c.want)
		}
		p.charge(at, c.elapsed, c.octets, zonePace, zoneShare)
		if got := p.free.Sub(at); got != 2*c.want {
			t.Errorf("twice %s and %d octets: %s, want %s", c.elapsed, c.octets, got, 2*c.want)
		}
	}
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	s.signZone(1000, lines...)
	p := w.makeProvider(t, Secondary{Name: "signer", Addr: s.addr, Signs: true})
	p.pace.free = time.Now().Add(time.Hour) // spent on other zones of the class
	verify := func(want serial.Serial, note string) {
		t.Helper()
		drift, err := p.Verify(t.Context(), plan)
		if row := drift.Servers[0]; err != nil || row.Err != nil || row.Serial != want || !strings.Contains(row.Note, note) {
			t.Errorf("%+v, %v; want %d, %q", row, err, want, note)
		}
	}
	verify(0, "its serial 1000 is compared in 55m0s")
	verify(0, "its serial 1000 is compared in 55m0s")
	p.pace.free = time.Now().Add(4 * time.Minute)
	verify(10, "its serial 1000 has the data of 10")
	p.pace.free = time.Now().Add(time.Hour)
	s.signZone(1001, strings.Replace(strings.Join(lines, "\n"), "first", "forged", 1))
	s.changeServer(func() { s.lines = strings.Split(s.lines[0], "\n") })
	verify(10, "its serial 1001 is compared in 1h0m0s")
	p.pace.free = time.Time{}
	p.zones[signedKey{"u", plan.Zone}].signers["signer"].pace.free = time.Now().Add(time.Hour)
	verify(10, "its serial 1001 is compared in 1h0m0s")
	p.zones[signedKey{"u", plan.Zone}].signers["signer"].pace.free = time.Time{}
	verify(0, "its serial 1001 does not have the data of 10")
	if whole, partial := s.countTransfers(); whole+partial != 2 {
		t.Errorf("%d transfers, want 2", whole+partial)
	}
}

// The provider remembers the zones of its class that are signed. Zones that left the class or were removed are
// forgotten, so that the memory is bounded (S6.14).
func TestSigned_forgetsZones(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	p := w.makeProvider(t)
	w.StoreMember("stays", name.MustParse("stays.example."))
	p.ensureSignedZone(transfertest.PlanOf("stays", "stays.example.", 1))
	for i := range 3000 {
		p.ensureSignedZone(transfertest.PlanOf(fmt.Sprint(i), "gone.example.", 1))
	}
	if n := len(p.zones); n > 1500 {
		t.Errorf("%d zones are known", n)
	}
	if p.zones[signedKey{"stays", name.MustParse("stays.example.")}] == nil {
		t.Error("what is known of a zone of the class is gone")
	}
	plan := transfertest.PlanOf("stays", "stays.example.", 1)
	if _, err := p.Remove(t.Context(), plan, passFence); err != nil || p.zones[signedKey{"stays", plan.Zone}] != nil {
		t.Errorf("a withdrawn zone is known: %v", err)
	}
}

// S6.14: two zones have the same digest exactly if they differ only in a signer's records, in any order and by any
// path of changes. The oracle is the sorted list of lines.
func FuzzDigest_isThatOfTheUnsignedZone_S6_14(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, one, two uint64) {
		random := rand.New(rand.NewPCG(one, two))
		samples := []string{
			"A 192.0.2.%d", "AAAA 2001:db8::%d", "TXT \"t%d\" \"x\"", "MX %d Mail.Example.ORG.", "CNAME c%d.example.org.", "SRV %d 1 2 srv.example.org.", "CAA %d issue \"ca.example\"", "TYPE65280 \\# 1 0%d",
			"HTTPS %d . alpn=h2", "DS %d 13 2 " + strings.Repeat("AB", 32), "TLSA 3 1 0 %d0",
			// records of a signer
			"DNSKEY 256 3 13 AAA%d", "RRSIG A 13 2 300 20300101000000 20200101000000 %d example.org. AAAA", "NSEC n%d.example.org. A RRSIG", "NSEC3PARAM 1 0 %d -", "CDS %d 13 2 AB", "CDNSKEY 257 3 13 AAA%d",
			"ZONEMD %d 1 1 " + strings.Repeat("AB", 48), "TYPE65534 \\# 1 0%d", "NSEC3 1 0 %d - 0000000000000000000000000000000A A",
		}
		const unsigned = 11
		record := func() (line string, counts bool) {
			kind := random.IntN(len(samples))
			return fmt.Sprintf("h%d.Example.org. %d IN "+samples[kind], random.IntN(3), 60*random.IntN(2), 1+random.IntN(3)), kind < unsigned
		}
		hash := func(line string) digest {
			rr, err := mdns.NewRR(line)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			packed := make([]byte, 1024)
			off, err := mdns.PackRR(rr, packed, 0, nil, false)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if rr, _, err = mdns.UnpackRR(packed[:off], 0); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return hashTransferred(rr)
		}
		type zone struct {
			lines map[string]bool
			sum   digest
		}
		zones := [2]zone{{lines: map[string]bool{}}, {lines: map[string]bool{}}}
		for range 60 {
			z := &zones[random.IntN(2)]
			line, counts := record()
			d := hash(line)
			if counts == (d == digest{}) {
				t.Fatalf("%s: counts %v, digest %v", line, counts, d)
			}
			if !counts {
				z.sum.add(d)
				continue
			}
			if z.lines[line] {
				delete(z.lines, line)
				z.sum.subtract(d)
			} else {
				z.lines[line] = true
				z.sum.add(d)
			}
			if same := maps.Equal(zones[0].lines, zones[1].lines); same != (zones[0].sum == zones[1].sum) {
				t.Fatalf("the same: %v, by digest %v\n%v\n%v", same, !same, zones[0].lines, zones[1].lines)
			}
		}
		var sets []delivery.RRset
		for line := range zones[0].lines {
			rr := must.Get(mdns.NewRR(line))(t)
			data, err := readData(rr)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			value, err := rdata.Parse(rdata.Type(rr.Header().Rrtype), data)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			sets = append(sets, delivery.RRset{Name: name.MustParse(strings.ToLower(rr.Header().Name)), Type: value.Type, TTL: rr.Header().Ttl, Data: []string{value.Text}})
		}
		if got := hashZone(delivery.Plan{All: slices.Values(sets)}); got != zones[0].sum {
			t.Fatalf("a plan of %v has another digest", zones[0].lines)
		}
	})
}
