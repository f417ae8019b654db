// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// S6.11: whatever a server answers in place of the zone's data at the zone's serial differs, but for signatures
// (S6.14). A server that refuses transfers is not compared, and counts by its serial.
func TestVerify_comparesTheData_S6_11(t *testing.T) {
	for what, test := range map[string]struct {
		change          func(lines []string) []string
		refuses         bool
		soa             string
		content         delivery.Content
		differs, others string // RRsets
	}{
		"equal":            {},
		"in another order": {change: func(lines []string) []string { slices.Reverse(lines); return lines }},
		"another value":    {change: replaceIn(2, "first", "other"), content: delivery.ContentDiffers, differs: "h0.example.org. TXT"},
		"another ttl":      {change: replaceIn(2, " 300 ", " 301 "), content: delivery.ContentDiffers, differs: "h0.example.org. TXT"},
		"an RRset is absent": {change: func(lines []string) []string { return lines[:3] }, content: delivery.ContentDiffers,
			differs: "h1.example.org. TXT"},
		"a foreign RRset": {change: func(lines []string) []string { return append(lines, "x.example.org. 60 IN A 192.0.2.1") },
			content: delivery.ContentDiffers, others: "x.example.org. A"},
		"another DS of a child's kind": {change: replaceIn(1, "1 13 2", "2 13 2"), content: delivery.ContentDiffers,
			differs: "example.org. DS"},
		"another SOA": {soa: "1 2 3 4", content: delivery.ContentDiffers},
		"far more": {change: func(lines []string) []string {
			for i := range 900 {
				lines = append(lines, fmt.Sprintf("x%d.example.org. 60 IN TXT %q", i, strings.Repeat("x", 50)))
			}
			return lines
		}, content: delivery.ContentDiffers},
		"refused": {refuses: true, change: replaceIn(2, "first", "other"), content: delivery.ContentNotCompared},
	} {
		t.Run(what, func(t *testing.T) {
			w := beginWorld(t)
			w.OpenClass(t)
			s := newSigningServer(t)
			plan, lines := zoneAt(10, "first", "second")
			w.PutZone(t, plan)
			if test.change != nil {
				lines = test.change(lines)
			}
			s.signZone(10, lines...)
			s.changeServer(func() { s.refuses, s.soa = test.refuses, cmp.Or(test.soa, s.soa) })
			p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr})
			drift := must.Get(p.Verify(t.Context(), plan))(t)
			row := drift.Servers[0]
			if row.Content != test.content || row.Serial != 10 {
				t.Fatalf("%+v (%v)", row, row.Err)
			}
			if got := namesOf(drift.Differing); got != test.differs {
				t.Errorf("it differs in %q, want %q", got, test.differs)
			}
			if got := namesOf(drift.Foreign); what != "far more" && got != test.others {
				t.Errorf("it has %q besides, want %q", got, test.others)
			}
			differs := test.content == delivery.ContentDiffers
			if differs && (row.Err == nil || row.Err.Reason != delivery.ReasonContentDiffers || row.Err.Code != "" ||
				row.DiffersSince != 10) {
				t.Errorf("%+v: %+v", row, row.Err)
			}
			if test.refuses && (row.Err != nil || !strings.Contains(row.Note, "not compared")) {
				t.Errorf("%+v (%v)", row, row.Err)
			}
			plan.Servers = drift.Servers
			if report, err := p.Deliver(t.Context(), plan, passFence); err != nil || differs != (report.Confirmed == 0) ||
				!report.Servers[0].Alike(row) || report.Servers[0].Note != row.Note {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}

func replaceIn(line int, from, to string) func([]string) []string {
	return func(lines []string) []string {
		lines[line] = strings.Replace(lines[line], from, to, 1)
		return lines
	}
}

func namesOf(sets []delivery.RRset) string {
	var names []string
	for _, set := range sets {
		names = append(names, set.Key().String())
	}
	return strings.Join(names, ", ")
}

// S6.11: a server that differs counts again when its data are the zone's. If it differs although it transferred the
// zone whole, no serial follows: also after a restart.
func TestDeliver_countsAServerAgainByItsData_S6_11(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		for _, raised := range []bool{false, true} {
			w := beginWorld(t)
			w.OpenClass(t)
			s := newSigningServer(t)
			first, lines := zoneAt(10, "first")
			w.PutZone(t, first)
			s.signZone(10, replaceIn(2, "first", "other")(slices.Clone(lines))...)
			start := func() stored {
				secondaries := []Secondary{{Name: "one", Addr: s.addr}}
				return w.configureProvider(t, Config{Secondaries: secondaries, Dial: dial.New(true).DialContext,
					NeedsFullTransfer: func(_ string, since, until serial.Serial) bool {
						if since != 10 || until != 11 {
							t.Errorf("asked for serials %d to %d", since, until)
						}
						return raised
					}})
			}
			p := start()
			rows := must.Get(p.Verify(t.Context(), first))(t).Servers
			if rows[0].Content != delivery.ContentDiffers {
				t.Fatalf("%+v", rows[0])
			}
			if restarts {
				p = start()
			}
			second, _ := zoneAt(11, "first")
			w.PutZone(t, second)
			compare := func(want func(delivery.Report) bool) {
				t.Helper()
				for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
					second.Servers = rows
					report := must.Get(p.Deliver(t.Context(), second, passFence))(t)
					if rows = report.Servers; want(report) {
						return
					}
					if time.Now().After(deadline) {
						t.Fatalf("restarts %v, raised %v: %+v (%v)", restarts, raised, report, rows[0].Err)
					}
					if report.Confirmed != 0 {
						t.Fatalf("confirmed before the data are compared: %+v", report)
					}
				}
			}
			s.signZone(11, replaceIn(2, "first", "again")(slices.Clone(lines))...)
			compare(func(report delivery.Report) bool {
				row := report.Servers[0]
				return row.Err != nil && row.Err.Reason == delivery.ReasonContentDiffers && row.DiffersSince == 10 &&
					row.AwaitsSerial != raised
			})
			s.signZone(12, lines...)
			second, _ = zoneAt(12, "first")
			w.PutZone(t, second)
			compare(func(report delivery.Report) bool {
				return report.Confirmed == 12 && rows[0].Content == "" && rows[0].DiffersSince == 0 && rows[0].Err == nil
			})
		}
	}
}

// Only a few comparisons at a time may collect the names that differ. A comparison without a free place still finds
// that the data differs, but not which names. At a secondary that signs, other data is not reported (S6.14).
func TestVerify_withoutNames(t *testing.T) {
	for range cap(naming) {
		naming <- struct{}{}
		defer func() { <-naming }()
	}
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	for _, other := range []bool{false, true} {
		for _, signs := range []bool{false, true} {
			if other {
				lines = replaceIn(2, "first", "other")(lines)
			}
			s.signZone(10, lines...)
			p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Signs: signs})
			drift := must.Get(p.Verify(t.Context(), plan))(t)
			row := drift.Servers[0]
			differs := row.Content == delivery.ContentDiffers
			if differs != (other && !signs) || !drift.Empty() || signs && row.Err != nil {
				t.Errorf("other data %v, signs %v: %+v (%v), %+v", other, signs, row, row.Err, drift)
			}
		}
	}
}

// To compare a server's data, the provider transfers zones as samples: at most one from a server in a second, and one
// of each zone in the interval.
func TestVerify_paceOfSamples(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	s.signZone(10, lines...)
	p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr})
	other := plan
	other.UID = "another"
	begun := time.Now()
	taken := 0
	for time.Since(begun) < 2500*time.Millisecond {
		before := taken
		for _, each := range []delivery.Plan{plan, other} {
			must.Get(p.Verify(t.Context(), each))(t)
			if taken, _ = s.countTransfers(); taken > before+1 {
				t.Fatalf("%d samples at once", taken-before)
			}
		}
		if most := 1 + int(time.Since(begun)/samplePause); taken > most {
			t.Fatalf("%d samples in %s", taken, time.Since(begun))
		}
	}
	if taken != 2 {
		t.Errorf("%d samples of two zones", taken)
	}
}

// A server may accept the TCP connection for a transfer and send nothing. This takes the time of the deadline only
// once, and the server's row says that nothing was compared.
func TestVerify_silenceOverTCP(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	at := must.Get(rig.FreePort())(t)
	listener := must.Get(net.Listen("tcp", at.String()))(t)
	t.Cleanup(func() { listener.Close() })
	packets := must.Get(net.ListenPacket("udp", at.String()))(t)
	signing := newSigningServer(t)
	started := make(chan struct{})
	server := &mdns.Server{PacketConn: packets, Handler: signing, NotifyStartedFunc: func() { close(started) }}
	go server.ActivateAndServe()
	<-started
	t.Cleanup(func() { server.Shutdown() })
	plan, lines := zoneAt(10, "first")
	w.PutZone(t, plan)
	signing.signZone(10, lines...)
	p := w.makeProvider(t, Secondary{Name: "one", Addr: at})
	plan.CallTimeout = 500 * time.Millisecond
	begun := time.Now()
	for range 2 {
		row := must.Get(p.Verify(t.Context(), plan))(t).Servers[0]
		if plan.Servers = []delivery.Server{row}; row.Content != delivery.ContentNotCompared || row.Err != nil || row.Serial != 10 ||
			!strings.Contains(row.Note, "not transferred the zone in 500ms") {
			t.Errorf("%+v (%v)", row, row.Err)
		}
	}
	if elapsed := time.Since(begun); elapsed > 20*time.Second {
		t.Errorf("it took %s", elapsed)
	}
}

// A zone of more than 100,000 entries would be too large a sample. So the server is asked for the SOA and 100 RRsets,
// and nothing is transferred.
func TestVerify_asksALargeZone(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSigningServer(t)
	plan, lines := zoneAt(10, slices.Repeat([]string{"same"}, maxTransferred)...)
	w.PutZone(t, plan)
	for _, other := range []bool{false, true} {
		if other {
			for i := range lines {
				lines[i] = strings.Replace(lines[i], "same", "other", 1)
			}
		}
		s.signZone(10, lines...)
		p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr})
		drift := must.Get(p.Verify(t.Context(), plan))(t)
		row := drift.Servers[0]
		if differs := row.Content == delivery.ContentDiffers; differs != other || row.Note != "" ||
			other && len(drift.Differing) < askedRRsets-2 {
			t.Errorf("other data %v: %+v (%v), %d RRsets", other, row, row.Err, len(drift.Differing))
		}
	}
	if whole, _ := s.countTransfers(); whole > 0 {
		t.Errorf("%d transfers", whole)
	}
}

func TestSample_isDue(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration, at serial.Serial) sample { return sample{takenAt: now.Add(-d), serial: at} }
	for what, test := range map[string]struct {
		last                    sample
		differs, routine, asked bool
		want                    bool
	}{
		"never, in a comparison":           {sample{}, false, true, false, true},
		"never, in a delivery":             {sample{}, false, false, false, false},
		"after a restart, it differed":     {sample{}, true, false, false, true},
		"within a day":                     {ago(23*time.Hour, 9), false, true, false, false},
		"after a day":                      {ago(24*time.Hour, 9), false, true, false, true},
		"after a day, in a delivery":       {ago(24*time.Hour, 9), false, false, false, false},
		"asked for":                        {ago(time.Minute, 10), false, true, true, true},
		"asked for twice in a minute":      {ago(59*time.Second, 10), false, true, true, false},
		"asked for, in a delivery":         {ago(time.Hour, 10), false, false, true, false},
		"it differs, a second ago":         {ago(time.Second, 10), true, false, false, false},
		"it differs, a minute ago":         {ago(time.Minute, 10), true, false, false, true},
		"it differs, at an earlier serial": {ago(time.Second, 9), true, false, false, true},
	} {
		plan := delivery.Plan{Serial: 10, Requested: test.asked}
		if got := test.last.isDue(now, plan, test.differs, test.routine); got != test.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
