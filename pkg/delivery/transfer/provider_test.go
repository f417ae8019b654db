// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/primary/tsig"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/pkg/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	catalog  = name.MustParse("catalog.example.")
	rigKey   = rig.TSIGKey{Name: "transfer.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
)

type world struct {
	*zoneview.Set
	primary *primary.Primary
	addr    netip.AddrPort
	class   *primary.Class
	keys    []tsig.Key

	mu      sync.Mutex
	members []primary.Member
	changes serial.Serial
}

func (w *world) Name(uid string) name.Name {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		if m.UID == uid {
			return m.Zone
		}
	}
	return name.Name{}
}

func (w *world) Holder(zone name.Name) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.members {
		if m.Zone == zone {
			return m.UID
		}
	}
	return ""
}

// storeMember removes the member if the zone is zero.
func (w *world) storeMember(uid string, zone name.Name) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.members = slices.DeleteFunc(slices.Clone(w.members), func(m primary.Member) bool { return m.UID == uid })
	if !zone.IsZero() {
		w.members = append(w.members, primary.Member{UID: uid, Zone: zone})
	}
	w.changes++
	w.class.SetMembers(primary.Membership{Members: w.members, Serial: w.changes})
}

func (w *world) readServed(uid string) serial.Serial {
	if s, ok := w.Settled(uid); ok {
		return s.Serial()
	}
	return 0
}

// stored updates the members whenever the fence passes.
type stored struct {
	*Provider
	w *world
}

func (s stored) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	return s.Provider.Deliver(ctx, plan, func(ctx context.Context) error {
		err := fence(ctx)
		if err == nil {
			s.w.storeMember(plan.UID, plan.Zone)
		}
		return err
	})
}

func (s stored) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	report, err := s.Provider.Remove(ctx, plan, fence)
	if err == nil {
		s.w.storeMember(plan.UID, name.Name{})
	}
	return report, err
}

func beginWorld(t testing.TB) *world {
	t.Helper()
	keys, err := tsig.ParseKeys(rigKey.Statement())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Set: zoneview.NewSet(zoneview.Config{}), keys: keys, changes: 1}
	w.primary, err = primary.New(primary.Config{Zones: w.Set, Listen: netip.MustParseAddrPort("127.0.0.1:0"), NotifyInterval: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w.addr = w.primary.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.primary.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w
}

// Call openClass when the secondaries have addresses.
func (w *world) openClass(t testing.TB, secondaries ...netip.AddrPort) {
	t.Helper()
	var targets []primary.Target
	for _, at := range secondaries {
		targets = append(targets, primary.Target{Addr: at})
	}
	var err error
	w.class, err = w.primary.AddClass(primary.ClassConfig{Name: "public", Catalog: catalog, Keys: w.keys, Allow: primary.Rules(loopback, nil), Notify: targets}, primary.Membership{Serial: 1})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) readKey() *transfer.Key {
	return &transfer.Key{Name: w.keys[0].Name, Algorithm: string(w.keys[0].Algorithm), MAC: w.keys[0].MAC}
}

func (w *world) makeProvider(t *testing.T, secondaries ...Secondary) stored {
	t.Helper()
	return w.configureProvider(t, Config{Secondaries: secondaries, Dial: dial.New(true).DialContext})
}

func (w *world) configureProvider(t testing.TB, config Config) stored {
	t.Helper()
	config.Members, config.Catalog, config.ServedSerial = w, catalog, w.readServed
	if config.LatestSerial == nil {
		config.LatestSerial = func(_ context.Context, uid string) (serial.Serial, error) { return w.readServed(uid), nil }
	}
	p := must.Get(New(config))(t)
	return stored{p, w}
}

func (w *world) putZone(t testing.TB, plan delivery.Plan) {
	t.Helper()
	h := content.Header{FQDN: plan.Zone, TTL: 3600, PrimaryNameServer: "ns1.provider.example.", Contact: "hostmaster", Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}
	var sets []content.RRset
	for set := range plan.All {
		owner, ok := set.Name.Rel(plan.Zone)
		if !ok {
			t.Fatalf("%s is not in %s", set.Name, plan.Zone)
		}
		one := content.RRset{Owner: owner, Type: set.Type, TTL: content.ExplicitTTL(set.TTL)}
		for _, text := range set.Data {
			v := must.Get(rdata.Parse(set.Type, text))(t)
			one.Data = append(one.Data, v.Text)
		}
		slices.Sort(one.Data)
		sets = append(sets, one)
	}
	slices.SortFunc(sets, content.RRset.Compare)
	state := content.Step{}.State

	for _, set := range sets {
		state = must.Get(state.Update(nil, set.Elements(nil)))(t)
	}
	w.Put(zoneview.NewSnapshot(zoneview.Zone{UID: plan.UID}, h, plan.Serial, uint64(plan.Serial), state, slices.Values(sets)), true)
}

func planOf(uid, zone string, at serial.Serial) delivery.Plan {
	n := name.MustParse(zone)
	ns := delivery.RRset{Name: n, Type: rdata.NS, TTL: 3600, Data: []string{"ns1.provider.example."}}
	return delivery.Plan{Zone: n, UID: uid, Serial: at, All: slices.Values([]delivery.RRset{ns}), CallTimeout: 5 * time.Second}
}

func passFence(context.Context) error { return nil }

// BIND and Knot consume the catalog.
func TestProvider_passesTheExam(t *testing.T) {
	w := beginWorld(t)
	catalogs := []rig.SecondaryZone{{Zone: catalog.String(), Primary: w.addr, Key: rigKey.Name}}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Catalogs: catalogs, Options: "serial-query-rate 1000;"}))(t)
	knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &rigKey, Catalogs: catalogs}))(t)
	w.openClass(t, bind.Addr, knot.Addr)
	used := 0
	deliverytest.Run(t, deliverytest.Subject{
		New: func(t *testing.T) delivery.Provider {
			return w.makeProvider(t, Secondary{Name: "bind", Addr: bind.Addr, Key: w.readKey()}, Secondary{Name: "knot", Addr: knot.Addr})
		},
		Zone: func(t *testing.T) name.Name {
			used++
			return name.MustParse(strings.Repeat("z", used) + ".example.")
		},
		Offer: func(t *testing.T, plan delivery.Plan) { w.putZone(t, plan) },
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
	w.openClass(t)
	here, behind, silent := newSecondary(t, nil), newSecondary(t, nil), newSecondary(t, nil)
	here.serial.Store(10)
	silent.silent.Store(true)
	p := w.makeProvider(t, Secondary{Name: "here", Addr: here.addr}, Secondary{Name: "behind", Addr: behind.addr},
		Secondary{Name: "silent", Addr: silent.addr})
	plan := planOf("u", "example.org.", 10)
	plan.CallTimeout = 3 * time.Second
	w.putZone(t, plan)
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
	w.openClass(t)
	s := newSecondary(t, &rigKey)
	s.serial.Store(12)
	plan := planOf("u", "example.org.", 10)
	w.putZone(t, plan)
	for _, key := range []*transfer.Key{w.readKey(), nil} {
		p := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: key})
		before := s.asked.Load()
		report, err := p.Deliver(t.Context(), plan, passFence)
		var e *delivery.Error
		if !errors.As(err, &e) || e.Reason != delivery.ReasonSerialBehind || (e.Code == "TSIG") != (key != nil) || report.Confirmed != 0 || report.Servers[0].Serial != 12 || s.asked.Load() != before+2 {
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
	elsewhere := w.configureProvider(t, Config{Secondaries: []Secondary{{Name: "one", Addr: s.addr, Key: w.readKey()}},
		Dial: dial.New(true).DialContext, LatestSerial: func(context.Context, string) (serial.Serial, error) { return latest, away }})
	if report, err := elsewhere.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 10 {
		t.Errorf("the zone has gone on where it is kept: %+v, %v", report, err)
	}
	latest, away = 0, errors.New("away")
	if report, err := elsewhere.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 0 || report.Servers[0].Err == nil {
		t.Errorf("no source says how far it is: %+v, %v", report, err)
	}
	w.putZone(t, planOf("u", "example.org.", 12))
	if report, err := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: w.readKey()}).Deliver(t.Context(), plan,
		passFence); err != nil || report.Confirmed != 10 {
		t.Errorf("the zone has gone on: %+v, %v", report, err)
	}
	guarded := w.configureProvider(t, Config{Secondaries: []Secondary{{Name: "one", Addr: s.addr}}})
	// Attack 51: a loopback address needs the class's permission.
	if report, err := guarded.Deliver(t.Context(), plan, passFence); err != nil || report.Servers[0].Err == nil ||
		report.Servers[0].Err.Reason != delivery.ReasonInvalidConfiguration {
		t.Errorf("a loopback address: %+v, %v", report, err)
	}
	other := *w.readKey()
	other.Name = "unknown.example."
	report, err := w.makeProvider(t, Secondary{Name: "one", Addr: s.addr, Key: &other}).Deliver(t.Context(), plan, passFence)
	if err != nil || report.Confirmed != 0 || report.Servers[0].Err == nil || report.Servers[0].Err.Reason != delivery.ReasonAuthenticationFailed {
		t.Errorf("with a key it does not know: %+v, %v", report.Servers, err)
	}
}

// The fence is called before a zone is published and before its removal. A name in use is a Conflict.
func TestDeliver_isFencedWhereItShows(t *testing.T) {
	w := beginWorld(t)
	w.openClass(t)
	p := w.makeProvider(t)
	plan := planOf("u", "example.org.", 10)
	w.putZone(t, plan)
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
	if _, err := p.Deliver(t.Context(), planOf("other", "example.org.", 3), passFence); !errors.As(err, &e) ||
		e.Reason != delivery.ReasonConflict {
		t.Errorf("another zone of the name: %v", err)
	}
	if _, err := p.Deliver(t.Context(), planOf("other", catalog.String(), 3), passFence); !errors.As(err, &e) ||
		e.Reason != delivery.ReasonConflict {
		t.Errorf("a zone named as the catalog: %v", err)
	}
	if _, err := New(Config{Members: w, Catalog: plan.Zone}); err == nil || !strings.Contains(err.Error(), "transfer.catalogZone") {
		t.Errorf("a catalog named as a zone: %v", err)
	}
	if _, err := p.Remove(t.Context(), planOf("other", "example.org.", 3), closed); err != nil {
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
	if _, err := New(Config{Members: &world{}, Secondaries: []Secondary{{Name: "ns.example.org"}}}); err == nil || !strings.Contains(err.Error(), "transfer.secondaries[0].address") {
		t.Errorf("%v", err)
	}
}
