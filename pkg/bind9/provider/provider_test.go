// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/transport"

	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	shown "kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/bindcartest"
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

func passFence(context.Context) error { return nil }

type server struct {
	*bindcartest.Server
	instance Instance
}

func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	return must.Get(rig.FreePort())(t)
}

// kind is "kubizone", a version of bindcar, or "" for a consumer of the catalog.
func (w world) startServer(t *testing.T, called, kind string, listen netip.AddrPort) *server {
	t.Helper()
	controlKey := rig.TSIGKey{Name: "control", Algorithm: transfertest.Key.Algorithm, Secret: transfertest.Key.Secret}
	config := rig.BINDConfig{Addr: listen, Keys: []rig.TSIGKey{transfertest.Key}, Options: "allow-new-zones yes; serial-query-rate 1000;\n"}
	if kind == "" {
		config.Catalogs = []rig.SecondaryZone{{Zone: transfertest.Catalog.String(), Primary: w.Addr, Key: transfertest.Key.Name}}
	}
	s := &server{Server: bindcartest.Start(t, kind, config, controlKey, transfertest.Key)}
	s.instance = Instance{Name: "dns/" + called, DNS: s.Addr, Key: w.ReadKey(), Primary: true}
	if kind != "" {
		s.instance.Agent = must.Get(client.New(s.URL, transport.NewBearerAuthRoundTripper(bindcartest.Token, http.DefaultTransport)))(t)
	}
	return s
}

const byCatalog, byAgents = false, true

func ofNone(string) bool { return false }

func (w world) makeProvider(t *testing.T, mode bool, instances func() []Instance) stored {
	t.Helper()
	var primaries []netip.AddrPort
	if mode == byAgents {
		primaries = append(primaries, w.Addr)
	}
	p := must.Get(New(Config{
		Primaries: primaries, Instances: func([]string) ([]Instance, error) { return instances(), nil }, Signed: ofNone, Signing: ofNone,
		Transfer: shown.Config{Members: w, Catalog: transfertest.Catalog, ServedSerial: w.ServedSerial, Dial: dial.New(true).DialContext,
			LatestSerial: w.LatestSerial},
	}))(t)
	return stored{p, w}
}

// Provider in each of its modes passes the test suite that every delivery provider has to pass, both with Kubizone's
// agent and with the agent bindcar.
func TestProvider_passesTheExam(t *testing.T) {
	for exam, kinds := range map[string][]string{
		"Catalog": {"", ""}, "Transfer": {"kubizone", "0.9.0"}, "Transfer by the real bindcar": {"bindcar", "kubizone"},
	} {
		mode := byCatalog
		if kinds[0] != "" {
			mode = byAgents
		}
		t.Run(exam, func(t *testing.T) {
			t.Parallel()
			w := beginWorld(t)
			var instances []Instance
			var first *server
			listen := []netip.AddrPort{freePort(t), freePort(t)}
			w.OpenClass(t, listen...) // before a server asks for the catalog
			for i, kind := range kinds {
				s := w.startServer(t, "ns"+string(rune('1'+i)), kind, listen[i])
				if first == nil {
					first = s
				}
				instances = append(instances, s.instance)
			}
			used := 0
			deliverytest.Run(t, deliverytest.Subject{
				New: func(t *testing.T) delivery.Provider {
					return w.makeProvider(t, mode, func() []Instance { return instances })
				},
				Zone: func(*testing.T) name.Name {
					used++
					return name.MustParse(strings.Repeat("z", used) + ".example.")
				},
				Offer: func(t *testing.T, plan delivery.Plan) { w.PutZone(t, plan) },
				Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
					text, err := rig.Dig{Server: first.Addr}.Run(t.Context(), "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", zone.String())
					if err != nil {
						t.Fatalf("%v\n%s", err, first.Log())
					}
					return deliverytest.ReadRRsets(t, strings.NewReader(text), zone)
				},
				Timeout: 30 * time.Second,
			})
		})
	}
}

// deliverPlan repeats Deliver until the serial is confirmed.
func deliverPlan(t *testing.T, p delivery.Provider, plan delivery.Plan) delivery.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		report := must.Get(p.Deliver(ctx, plan, passFence))(t)
		if report.Confirmed == plan.Serial {
			return report
		}
		if ctx.Err() != nil {
			t.Fatalf("not confirmed in time: %+v", report)
		}
	}
}

// A new instance gets the zone, a leaving instance loses the zone and the row, and no agent is asked if all have the
// zone (promises 1, 3 and 5).
func TestDeliver_followsTheInstances(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	one, two := w.startServer(t, "one", "0.7.3", freePort(t)), w.startServer(t, "two", "kubizone", freePort(t))
	w.OpenClass(t, one.Addr, two.Addr)
	instances := []Instance{one.instance}
	p := w.makeProvider(t, byAgents, func() []Instance { return instances })
	plan := transfertest.PlanOf("u", "example.org.", 7)
	w.PutZone(t, plan)
	if report := deliverPlan(t, p, plan); len(report.Servers) != 1 || report.Servers[0].Name != "dns/one" || report.Servers[0].Serial != 7 {
		t.Errorf("%+v", report.Servers)
	}
	asked := len(one.Bindcar.Requests())
	deliverPlan(t, p, plan)
	if again := len(one.Bindcar.Requests()); again != asked {
		t.Errorf("%d requests for a zone that is there: %v", again-asked, one.Bindcar.Requests()[asked:])
	}

	instances = append(instances, two.instance, Instance{Name: "dns/new"})
	report, err := p.Deliver(t.Context(), plan, passFence)
	if err != nil || report.Confirmed != 0 || len(report.Servers) != 3 || report.Servers[2].Err != nil || report.Servers[2].Note == "" ||
		!two.HasZone(t, "example.org.") {
		t.Errorf("with an instance that has no address yet: %+v, %v", report, err)
	}
	instances[0].Leaving = true
	instances = instances[:2]
	if report := deliverPlan(t, p, plan); len(report.Servers) != 1 || report.Servers[0].Name != "dns/two" ||
		one.HasZone(t, "example.org.") {
		t.Errorf("with an instance that leaves: %+v; it has the zone: %v", report.Servers, one.HasZone(t, "example.org."))
	}

	// A leaving instance without an answer keeps a row, and delays the removal of the zone.
	one.StopAgent()
	report, err = p.Deliver(t.Context(), plan, passFence)
	if err != nil || report.Confirmed != 0 || len(report.Servers) != 2 || report.Servers[1].Name != "dns/one" || report.Servers[1].Err.Reason != delivery.ReasonServerUnreachable {
		t.Errorf("with an instance that leaves and does not answer: %+v, %v", report, err)
	}
	if _, err := p.Remove(t.Context(), plan, passFence); err == nil || w.Name("u").IsZero() {
		t.Errorf("withdrawn without dns/one: %v", err)
	}
	instances = instances[1:]
	if _, err := p.Remove(t.Context(), plan, passFence); err != nil || two.HasZone(t, "example.org.") || !w.Name("u").IsZero() {
		t.Errorf("withdrawn: %v; dns/two has it: %v", err, two.HasZone(t, "example.org."))
	}
	instances = make([]Instance, maxInstances+1)
	if _, err := p.Deliver(t.Context(), plan, passFence); err == nil || !strings.Contains(err.Error(), "selects 1001 instances") {
		t.Errorf("with more instances than there are rows: %v", err)
	}
	// Without instances the rows are empty, not nil: nil would keep the former rows.
	for _, left := range [][]Instance{nil, {{Name: "dns/one", Leaving: true}}} {
		instances = left
		report, err := p.Deliver(t.Context(), plan, passFence)
		if err == nil || !strings.Contains(err.Error(), "selects no instance") || report.Servers == nil || len(report.Servers) != len(left) || report.Confirmed != 0 {
			t.Errorf("without an instance: %+v, %v", report, err)
		}
		drift, err := p.Verify(t.Context(), plan)
		if err == nil || !strings.Contains(err.Error(), "selects no instance") || drift.Servers == nil || len(drift.Servers) != len(left) {
			t.Errorf("compared without an instance: %+v, %v", drift, err)
		}
	}
	instances = nil
	if err := p.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "selects no instance") {
		t.Errorf("health without an instance: %v", err)
	}
}

// A class may have several BIND servers. If the agent of one (bindcar, here) refuses requests for their rate, its row
// of the report has the reason, and the other server still gets the zone. It gets the zone beside an agent that never
// answers, too, because all agents are asked at the same time (promise 4).
func TestDeliver_aSlowAgentDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	slow, fast := w.startServer(t, "slow", "0.7.3", freePort(t)), w.startServer(t, "fast", "kubizone", freePort(t))
	slow.Bindcar.Limit = rate.NewLimiter(0, 0)
	w.OpenClass(t, slow.Addr, fast.Addr)
	p := w.makeProvider(t, byAgents, func() []Instance { return []Instance{slow.instance, fast.instance} })
	for _, zone := range []string{"a.example.", "b.example."} {
		plan := transfertest.PlanOf(zone, zone, 3)
		w.PutZone(t, plan)
		// On a busy machine a DNS answer may be late.
		must.Eventually(t, zone+" at the fast one, and the slow one's row", func() bool {
			began := time.Now()
			report, err := p.Deliver(t.Context(), plan, passFence)
			if err != nil || report.Confirmed != 0 || time.Since(began) > agentTime+10*time.Second {
				t.Fatalf("%s after %s: %+v, %v", zone, time.Since(began), report, err)
			}
			failure := report.Servers[0].Err
			return report.Servers[1].Serial == 3 && failure != nil && failure.Reason == delivery.ReasonRateLimited && failure.RetryAfter > 0
		})
	}
	if len(slow.Bindcar.Requests()) != 0 {
		t.Errorf("let in: %v", slow.Bindcar.Requests())
	}

	asked := make(chan struct{}, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	never := Instance{Name: "dns/never", DNS: slow.Addr, Key: w.ReadKey(), Agent: must.Get(client.New(silent.URL, nil))(t)}
	p = w.makeProvider(t, byAgents, func() []Instance { return []Instance{never, fast.instance} })
	plan := transfertest.PlanOf("c.example.", "c.example.", 3)
	w.PutZone(t, plan)
	if report, err := p.Deliver(t.Context(), plan, passFence); err != nil || len(asked) == 0 || !fast.HasZone(t, "c.example.") {
		t.Errorf("beside an agent that never answers: %+v, %v", report, err)
	}
}

// If named has lost a zone, an unchanged catalog does not bring the zone back. The row of that server then names an
// rndc command, and this command brings the zone back.
func TestDeliver_saysHowALostZoneComesBack(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	listen := freePort(t)
	w.OpenClass(t, listen)
	s := w.startServer(t, "one", "", listen)
	p := w.makeProvider(t, byCatalog, func() []Instance { return []Instance{s.instance} })
	plan := transfertest.PlanOf("u", "example.org.", 7)
	w.PutZone(t, plan)
	deliverPlan(t, p, plan)
	must.Get(s.Control.Call(t.Context(), "delzone example.org"))(t)
	var remedy []string
	must.Eventually(t, "a row that says that the zone is lost", func() bool {
		report, err := p.Deliver(t.Context(), plan, passFence)
		if err != nil || len(report.Servers) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		failure := report.Servers[0].Err
		if failure == nil || failure.Reason != delivery.ReasonZoneNotFound {
			return false
		}
		if remedy = regexp.MustCompile(`BIND: rndc ([^)]+)`).FindStringSubmatch(failure.Message); remedy == nil {
			t.Fatalf("no command in %q", failure.Message)
		}
		return true
	})
	must.Get(s.Control.Call(t.Context(), remedy[1]))(t)
	deliverPlan(t, p, plan)
}

func TestDeliver_isFenced(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	s := w.startServer(t, "one", "kubizone", freePort(t))
	w.OpenClass(t, s.Addr)
	p := w.makeProvider(t, byAgents, func() []Instance { return []Instance{s.instance} })
	plan := transfertest.PlanOf("u", "example.org.", 1)
	w.PutZone(t, plan)
	lost := errors.New("lost")
	for after := range 2 { // before the zone is published, and before the agent is asked
		calls := 0
		_, err := p.Deliver(t.Context(), plan, func(context.Context) error {
			if calls++; calls > after {
				return lost
			}
			return nil
		})
		if !errors.Is(err, lost) || s.HasZone(t, "example.org.") {
			t.Errorf("after %d: %v", after, err)
		}
	}
	deliverPlan(t, p, plan)
	if _, err := p.Remove(t.Context(), plan, func(context.Context) error { return lost }); !errors.Is(err, lost) ||
		!s.HasZone(t, "example.org.") {
		t.Errorf("withdrawn: %v", err)
	}
}

// When a class no longer delivers a Zone, its provider removes the zone from the class's servers but not from the
// signer: meanwhile another Zone, of another class, may have this zone at the signer. This holds whether or not the
// Delivery has a row for the signer (S12.9).
func TestWithdraw_leavesTheSigner_S12_9(t *testing.T) {
	t.Parallel()
	w := beginWorld(t)
	s := w.startServer(t, "signer", "kubizone", freePort(t))
	w.OpenClass(t, s.Addr)
	s.instance.Signer, s.instance.Primary = true, false
	p := must.Get(New(Config{
		Instances: func([]string) ([]Instance, error) { return []Instance{s.instance}, nil },
		Signed:    func(string) bool { return true }, Signing: ofNone,
		Transfer: shown.Config{Members: w, Catalog: transfertest.Catalog, ServedSerial: w.ServedSerial, Dial: dial.New(true).DialContext},
	}))(t)
	plan := transfertest.PlanOf("u", "example.org.", 7)
	w.PutZone(t, plan)
	must.Succeed(t, s.instance.Agent.Ensure(t.Context(), plan.Zone, protocol.CreateZone{
		ZoneType: protocol.Secondary, ZoneConfig: protocol.ZoneConfig{Primaries: []string{w.Addr.String() + " key " + transfertest.Key.Name}},
	}, passFence))
	for _, rows := range [][]delivery.Server{nil, {{Name: s.instance.Name}}} {
		w.StoreMember("u", name.Name{}) // no class has the zone
		plan.Servers = rows
		if _, err := p.Remove(t.Context(), plan, passFence); err != nil || !s.HasZone(t, "example.org.") {
			t.Errorf("rows %v: the signer has the zone: %v; %v", rows, s.HasZone(t, "example.org."), err)
		}
	}
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	w := beginWorld(t)
	if _, err := New(Config{Transfer: shown.Config{Members: w}}); err == nil || !strings.Contains(err.Error(), "catalog zone") ||
		!strings.Contains(err.Error(), "address of a primary") {
		t.Error(err)
	}
	broken := errors.New("watch has ended")
	p, err := New(Config{Instances: func([]string) ([]Instance, error) { return nil, broken }, Signed: ofNone, Signing: ofNone, Transfer: shown.Config{Members: w, Catalog: transfertest.Catalog}})
	must.Succeed(t, err)
	if _, err := p.Deliver(t.Context(), transfertest.PlanOf("u", "example.org.", 1), passFence); !errors.Is(err, broken) {
		t.Errorf("without its instances: %v", err)
	}
}
