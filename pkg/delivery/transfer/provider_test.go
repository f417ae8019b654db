// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/transfertest"
)

type world struct{ *transfertest.World }

func beginWorld(t testing.TB) world { return world{transfertest.Begin(t)} }

// stored updates the members whenever the fence passes.
type stored struct {
	*Provider
	w world
}

func (s stored) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	return s.Provider.Deliver(ctx, plan, s.w.StoringFence(plan, fence))
}

func (s stored) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	report, err := s.Provider.Remove(ctx, plan, fence)
	if err == nil {
		s.w.StoreMember(plan.UID, name.Name{})
	}
	return report, err
}

func (w world) makeProvider(t *testing.T, secondaries ...Secondary) stored {
	t.Helper()
	return w.configureProvider(t, Config{Secondaries: secondaries, Dial: dial.New(true).DialContext})
}

func (w world) configureProvider(t testing.TB, config Config) stored {
	t.Helper()
	config.Members, config.Catalog, config.ServedSerial = w, transfertest.Catalog, w.ServedSerial
	if config.LatestSerial == nil {
		config.LatestSerial = w.LatestSerial
	}
	return stored{must.Get(New(config))(t), w}
}

func passFence(context.Context) error { return nil }

// BIND and Knot consume the catalog.
func TestProvider_passesTheExam(t *testing.T) {
	w := beginWorld(t)
	catalogs := []rig.SecondaryZone{{Zone: transfertest.Catalog.String(), Primary: w.Addr, Key: transfertest.Key.Name}}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{transfertest.Key}, Catalogs: catalogs, Options: "serial-query-rate 1000;"}))(t)
	knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &transfertest.Key, Catalogs: catalogs}))(t)
	w.OpenClass(t, bind.Addr, knot.Addr)
	used := 0
	deliverytest.Run(t, deliverytest.Subject{
		New: func(t *testing.T) delivery.Provider {
			return w.makeProvider(t, Secondary{Name: "bind", Addr: bind.Addr, Key: w.ReadKey()}, Secondary{Name: "knot", Addr: knot.Addr})
		},
		Zone: func(t *testing.T) name.Name {
			used++
			return name.MustParse(strings.Repeat("z", used) + ".example.")
		},
		Offer: func(t *testing.T, plan delivery.Plan) { w.PutZone(t, plan) },
		Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
			text, err := rig.Dig{Server: bind.Addr}.Run(t.Context(), "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", zone.String())
			if err != nil {
				t.Fatalf("%v\n%s", err, bind.Log())
			}
			return deliverytest.ReadRRsets(t, strings.NewReader(text), zone)
		},
		Timeout: 30 * time.Second,
	})
}

type secondary struct {
	addr   netip.AddrPort
	serial atomic.Uint32 // 0: REFUSED
	asked  atomic.Int32
	silent atomic.Bool
	lame   atomic.Bool
	rcode  atomic.Int32 // 0: by the serial
}

func newSecondary(t *testing.T, key *rig.TSIGKey) *secondary {
	t.Helper()
	s := &secondary{}
	server := &mdns.Server{Addr: "127.0.0.1:0", Net: "udp", Handler: mdns.HandlerFunc(func(out mdns.ResponseWriter, m *mdns.Msg) {
		s.asked.Add(1)
		if s.silent.Load() {
			return
		}
		answer := new(mdns.Msg).SetReply(m)
		if at := s.serial.Load(); at == 0 {
			answer.Rcode = mdns.RcodeRefused
		} else if rcode := s.rcode.Load(); rcode != 0 {
			answer.Rcode = int(rcode)
		} else {
			answer.Authoritative = !s.lame.Load()
			answer.Answer = []mdns.RR{&mdns.SOA{Hdr: mdns.RR_Header{Name: m.Question[0].Name, Rrtype: mdns.TypeSOA, Class: mdns.ClassINET}, Ns: ".", Mbox: ".", Serial: at}}
		}
		if m.IsTsig() != nil && out.TsigStatus() == nil {
			answer.SetTsig(m.IsTsig().Hdr.Name, m.IsTsig().Algorithm, 300, time.Now().Unix())
		}
		out.WriteMsg(answer)
	})}
	if key != nil {
		server.TsigSecret = map[string]string{mdns.CanonicalName(key.Name): key.Secret}
	}
	started := make(chan struct{})
	server.NotifyStartedFunc = func() { close(started) }
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Shutdown() })
	s.addr = netip.MustParseAddrPort(server.PacketConn.LocalAddr().String())
	return s
}

// Promises 1 and 3: every secondary has a confirmed serial, and a row in the report.
func TestDeliver_confirmsWhatEverySecondaryHas(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	here, behind, silent := newSecondary(t, nil), newSecondary(t, nil), newSecondary(t, nil)
	here.serial.Store(10)
	silent.silent.Store(true)
	p := w.makeProvider(t, Secondary{Name: "here", Addr: here.addr}, Secondary{Name: "behind", Addr: behind.addr},
		Secondary{Name: "silent", Addr: silent.addr})
	plan := transfertest.PlanOf("u", "example.org.", 10)
	plan.CallTimeout = 3 * time.Second
	w.PutZone(t, plan)
	begun := time.Now()
	report, err := p.Deliver(t.Context(), plan, passFence)
	if elapsed := time.Since(begun); elapsed > 20*time.Second {
		t.Errorf("it took %s", elapsed)
	}
	if err != nil || report.Confirmed != 0 || len(report.Servers) != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, want := range []struct {
		at     serial.Serial
		reason delivery.Reason
	}{{10, ""}, {0, delivery.ReasonZoneNotFound}, {0, delivery.ReasonServerUnreachable}} {
		row := report.Servers[i]
		if row.Serial != want.at || row.Err != nil && row.Err.Reason != want.reason || row.Err == nil && want.reason != "" || row.At.Before(begun) {
			t.Errorf("%+v (%v), want %d %s", row, row.Err, want.at, want.reason)
		}
		if row.Err != nil && strings.Count(row.Err.Message, row.Name) != 1 {
			t.Errorf("%q does not name %s once: Ready says it without the row", row.Err.Message, row.Name)
		}
	}
	// Deliver returns as soon as the last secondary has the serial.
	behind.serial.Store(9)
	silent.silent.Store(false)
	silent.serial.Store(10)
	time.AfterFunc(300*time.Millisecond, func() { behind.serial.Store(10) })
	plan.CallTimeout = 2 * time.Minute
	begun = time.Now()
	if report, err = p.Deliver(t.Context(), plan, func(context.Context) error { t.Error("the fence is asked for nothing"); return nil }); err != nil || report.Confirmed != 10 {
		t.Errorf("%+v, %v", report, err)
	}
	if elapsed := time.Since(begun); elapsed < 250*time.Millisecond || elapsed > time.Minute {
		t.Errorf("it took %s", elapsed)
	}
	// A non-authoritative answer proves no serial.
	behind.lame.Store(true)
	drift, err := p.Verify(t.Context(), plan)
	if err != nil || drift.Servers[0].Err != nil || drift.Servers[1].Err == nil || drift.Servers[1].Err.Reason != delivery.ReasonZoneNotFound {
		t.Errorf("%+v, %v", drift, err)
	}
	behind.lame.Store(false)
	if err := p.Health(t.Context()); err != nil {
		t.Errorf("Health: %v", err)
	}
	if !report.Proven {
		t.Error("all of them have the serial, and nothing is proven")
	}
	// Found 7: an error code proves no access.
	for rcode, want := range map[int]delivery.Reason{mdns.RcodeServerFailure: delivery.ReasonServerError, mdns.RcodeNotImplemented: delivery.ReasonServerError, mdns.RcodeRefused: "?"} {
		silent.rcode.Store(int32(rcode))
		var e *delivery.Error
		if err := p.Health(t.Context()); want == "?" && !errors.Is(err, delivery.ErrNotProven) || want != "?" && (!errors.As(err, &e) || e.Reason != want) {
			t.Errorf("Health with one that answers %d: %v", rcode, err)
		}
	}
	if err := w.makeProvider(t).Health(t.Context()); !errors.Is(err, delivery.ErrNotProven) {
		t.Errorf("Health of a class without secondaries: %v", err)
	}
	silent.silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var e *delivery.Error
	if err := p.Health(ctx); !errors.As(err, &e) || e.Reason != delivery.ReasonServerUnreachable {
		t.Errorf("Health with one that does not answer: %v", err)
	}
}

// S6.11: a secondary is ahead only after two signed answers, and not if the primary has reached that serial
// meanwhile.
func TestDeliver_findsSecondariesThatAreAhead(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	s := newSecondary(t, &transfertest.Key)
	s.serial.Store(12)
	plan := transfertest.PlanOf("u", "example.org.", 10)
	w.PutZone(t, plan)
	for _, key := range []*transfer.Key{w.ReadKey(), nil} {
		p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: key})
		before := s.asked.Load()
		report, err := p.Deliver(t.Context(), plan, passFence)
		var e *delivery.Error
		if !errors.As(err, &e) || e.Reason != delivery.ReasonSerialBehind || report.Confirmed != 0 || report.Servers[0].AwaitsSerial != (key != nil) || report.Servers[0].Serial != 12 || s.asked.Load() != before+2 {
			t.Errorf("%+v, %v after %d questions", report, err, s.asked.Load()-before)
		}
		drift, err := p.Verify(t.Context(), plan)
		if err != nil || drift.Servers[0].Err == nil || drift.Servers[0].Err.Reason != delivery.ReasonSerialBehind {
			t.Errorf("%+v, %v", drift, err)
		}
	}
	// Another worker has reached the serial, or the latest serial is unknown.
	latest := serial.Serial(12)
	var away error
	elsewhere := w.configureProvider(t, Config{Secondaries: []Secondary{{Name: "one", Addr: s.addr, Key: w.ReadKey()}},
		Dial: dial.New(true).DialContext, LatestSerial: func(context.Context, string) (serial.Serial, error) { return latest, away }})
	if report, err := elsewhere.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 10 {
		t.Errorf("the zone has gone on where it is kept: %+v, %v", report, err)
	}
	latest, away = 0, errors.New("away")
	if report, err := elsewhere.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 0 || report.Servers[0].Err == nil {
		t.Errorf("no source says how far it is: %+v, %v", report, err)
	}
	w.PutZone(t, transfertest.PlanOf("u", "example.org.", 12))
	if report, err := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: w.ReadKey()}).Deliver(t.Context(), plan,
		passFence); err != nil || report.Confirmed != 10 {
		t.Errorf("the zone has gone on: %+v, %v", report, err)
	}
	guarded := w.configureProvider(t, Config{Secondaries: []Secondary{{Name: "one", Addr: s.addr}}})
	// Attack 51: a loopback address needs the class's permission.
	if report, err := guarded.Deliver(t.Context(), plan, passFence); err != nil || report.Servers[0].Err == nil ||
		report.Servers[0].Err.Reason != delivery.ReasonInvalidConfiguration {
		t.Errorf("a loopback address: %+v, %v", report, err)
	}
	other := *w.ReadKey()
	other.Name = "unknown.example."
	report, err := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: &other}).Deliver(t.Context(), plan, passFence)
	if err != nil || report.Confirmed != 0 || report.Servers[0].Err == nil || report.Servers[0].Err.Reason != delivery.ReasonAuthenticationFailed {
		t.Errorf("with a key it does not know: %+v, %v", report.Servers, err)
	}
}

// The fence is called before a zone is published and before its removal. A name in use is a Conflict.
func TestDeliver_isFencedWhereItShows(t *testing.T) {
	w := beginWorld(t)
	w.OpenClass(t)
	p := w.makeProvider(t)
	plan := transfertest.PlanOf("u", "example.org.", 10)
	w.PutZone(t, plan)
	lost := errors.New("lost")
	closed := func(context.Context) error { return lost }
	if _, err := p.Deliver(t.Context(), plan, closed); err != lost {
		t.Errorf("%v", err)
	}
	if zone := w.Name("u"); !zone.IsZero() {
		t.Error("it is in the class without its fence")
	}
	if report, err := p.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 10 {
		t.Errorf("without secondaries: %+v, %v", report, err)
	}
	var e *delivery.Error
	if _, err := p.Deliver(t.Context(), transfertest.PlanOf("other", "example.org.", 3), passFence); !errors.As(err, &e) ||
		e.Reason != delivery.ReasonConflict {
		t.Errorf("another zone of the name: %v", err)
	}
	if _, err := p.Deliver(t.Context(), transfertest.PlanOf("other", transfertest.Catalog.String(), 3), passFence); !errors.As(err, &e) ||
		e.Reason != delivery.ReasonConflict {
		t.Errorf("a zone named as the catalog: %v", err)
	}
	if _, err := New(Config{Members: w, Catalog: plan.Zone}); err == nil || !strings.Contains(err.Error(), "transfer.catalogZone") {
		t.Errorf("a catalog named as a zone: %v", err)
	}
	if _, err := p.Remove(t.Context(), transfertest.PlanOf("other", "example.org.", 3), closed); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := p.Remove(t.Context(), plan, closed); err != lost {
		t.Errorf("%v", err)
	}
	if zone := w.Name("u"); zone != plan.Zone {
		t.Errorf("%s", zone)
	}
	if _, err := p.Remove(t.Context(), plan, passFence); err != nil {
		t.Error(err)
	}
	if zone := w.Name("u"); !zone.IsZero() {
		t.Errorf("%s", zone)
	}
	if _, err := p.Verify(t.Context(), plan); !errors.Is(err, delivery.ErrCannotList) {
		t.Errorf("no secondary to ask: %v", err)
	}
}

func TestNew_namesAWrongAddress(t *testing.T) {
	if _, err := New(Config{Members: &transfertest.World{}, Secondaries: []Secondary{{Name: "ns.example.org"}}}); err == nil || !strings.Contains(err.Error(), "transfer.secondaries[0].address") {
		t.Errorf("%v", err)
	}
}

// Each refusal of a question for the SOA has its own cause and next step. SERVFAIL is the answer of a server whose
// transfers fail: to follow the catalog would be no help.
func TestProbe_namesEachRefusal_S7_12(t *testing.T) {
	w := beginWorld(t)
	key := rig.TSIGKey{Name: "k.example.", Algorithm: "hmac-sha256", Secret: "c2VjcmV0IG9mIHRoZSB0ZXN0IG9mIHJlZnVzYWxz"}
	for _, test := range []struct {
		name       string
		rcode      int
		silent     bool
		noCatalog  bool
		key        *transfer.Key
		reason     delivery.Reason
		code, says string
	}{
		{name: "absent", rcode: mdns.RcodeRefused, reason: delivery.ReasonZoneNotFound, code: "REFUSED", says: "follow the catalog zone"},
		{name: "absent, without a catalog", rcode: mdns.RcodeNotAuth, noCatalog: true, reason: delivery.ReasonZoneNotFound, code: "NOTAUTH",
			says: "make the zone there"},
		{name: "no data", rcode: mdns.RcodeServerFailure, reason: delivery.ReasonZoneNotFound, code: "SERVFAIL",
			says: "see its log for transfers"},
		{name: "silent", silent: true, reason: delivery.ReasonServerUnreachable, says: "no answer"},
		{name: "unsigned", key: &transfer.Key{Name: key.Name, Algorithm: key.Algorithm + ".",
			MAC: func(...[]byte) []byte { return make([]byte, 32) }}, reason: delivery.ReasonAuthenticationFailed, says: "key"},
	} {
		s := newSecondary(t, nil)
		if test.rcode == 0 || test.rcode != mdns.RcodeRefused {
			s.serial.Store(7)
		}
		s.rcode.Store(int32(test.rcode))
		s.silent.Store(test.silent)
		one := Secondary{Name: "a", Addr: netip.AddrPortFrom(s.addr.Addr(), s.addr.Port()), NoCatalog: test.noCatalog, Key: test.key}
		got := w.makeProvider(t, one).probeSOA(t.Context(), one, name.MustParse("example.org."), packetTimeout)
		if got.err == nil || got.err.Reason != test.reason || got.err.Code != test.code || !strings.Contains(got.err.Message, test.says) {
			t.Errorf("%s: %+v", test.name, got.err)
		}
	}
}
