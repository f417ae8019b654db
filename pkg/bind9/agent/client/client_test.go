// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/time/rate"
	"k8s.io/client-go/transport"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/bindcartest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	controlKey = rig.TSIGKey{Name: "agent", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	zone       = name.MustParse("example.org.")
)

// served is an implementation of the API with a named.
type served struct {
	*Client
	*bindcartest.Server
	t     *testing.T
	agent bool
}

// eachServer runs a test with Kubizone's agent, doubles of two versions of bindcar, and the real bindcar.
func eachServer(t *testing.T, test func(t *testing.T, s *served)) {
	for _, kind := range []string{"kubizone", "0.7.3", "0.9.0", "bindcar"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newServed(t, kind)
			leave, _, err := s.acquireSlot(t.Context())
			must.Succeed(t, err)
			leave()
			s.pace = rate.NewLimiter(rate.Inf, 1) // TestPace needs the limit
			test(t, s)
		})
	}
}

func newServed(t *testing.T, kind string) *served {
	t.Helper()
	beside := bindcartest.Start(t, kind, rig.BINDConfig{Notify: true, Options: "allow-new-zones yes;\n"}, controlKey, controlKey)
	return &served{Client: newClient(t, beside.URL), Server: beside, t: t, agent: kind == "kubizone"}
}

func newClient(t *testing.T, address string) *Client {
	t.Helper()
	return must.Get(New(address, transport.NewBearerAuthRoundTripper(bindcartest.Token, http.DefaultTransport)))(t)
}

func passFence(context.Context) error { return nil }

func secondaryOf(primaries ...string) protocol.CreateZone {
	return protocol.CreateZone{ZoneType: protocol.Secondary, ZoneConfig: protocol.ZoneConfig{Primaries: primaries}}
}

func primaryOf(serial uint32) protocol.CreateZone {
	ttl := uint32(300)
	return protocol.CreateZone{ZoneType: protocol.Primary, UpdateKeyName: "agent", ZoneConfig: protocol.ZoneConfig{
		TTL: &ttl, SOA: &protocol.SOA{PrimaryNS: "ns.example.net.", AdminEmail: "h.example.net.", Serial: &serial, Refresh: &ttl,
			Retry: &ttl, Expire: &ttl, NegativeTTL: &ttl}, NameServers: []string{"ns.example.net."},
	}}
}

// bindcar is never made to destroy a zone (C2).
func TestEnsure_makesAZoneOnce(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		for _, asked := range []protocol.CreateZone{primaryOf(1), secondaryOf("192.0.2.1:5353 key agent", "[2001:db8::1]:53")} {
			for range 3 {
				if err := s.Ensure(t.Context(), zone, asked, passFence); err != nil || !s.HasZone(t, "example.org") {
					t.Fatalf("%s: %v", asked.ZoneType, err)
				}
			}
			for range 2 {
				if err := s.Remove(t.Context(), zone, passFence); err != nil || s.HasZone(t, "example.org") {
					t.Fatalf("removing the %s: %v", asked.ZoneType, err)
				}
			}
		}
		if files, err := filepath.Glob(filepath.Join(s.Dir(), "*.zone*")); err != nil || len(files) != 0 {
			t.Errorf("files are left: %v, %v", files, err)
		}
		if s.Bindcar == nil {
			return
		}
		if n := s.Bindcar.Destroyed(); n != 0 {
			t.Errorf("%d zones were destroyed", n)
		}
		for i, request := range s.Bindcar.Requests() {
			if request == "POST /zones" && s.Bindcar.Requests()[i-1] != "GET /zones/example.org/status" {
				t.Errorf("a POST after %s", s.Bindcar.Requests()[i-1])
			}
		}
	})
}

// The agent gets new primaries. bindcar keeps the old, and no second creation is sent.
func TestEnsure_changesAddresses(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		for _, at := range []string{"192.0.2.1", "192.0.2.2"} {
			must.Succeed(t, s.Ensure(t.Context(), zone, secondaryOf(at), passFence))
		}
		block, err := s.Control.Call(t.Context(), "showzone example.org")
		if want := map[bool]string{true: "192.0.2.2", false: "192.0.2.1"}[s.agent]; err != nil || !strings.Contains(block, want) {
			t.Errorf("%s, %v; want %s", block, err, want)
		}
		if err := s.Ensure(t.Context(), zone, primaryOf(1), passFence); s.agent && statusOf(err) != http.StatusConflict {
			t.Errorf("a primary in the place of a secondary: %v", err)
		}
		if s.Bindcar != nil && s.Bindcar.Destroyed() != 0 {
			t.Error("the zone was destroyed")
		}
	})
}

func TestEnsure_asksTheFenceFirst(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		lost := errors.New("lost")
		if err := s.Ensure(t.Context(), zone, primaryOf(1), func(context.Context) error { return lost }); !errors.Is(err, lost) ||
			s.HasZone(t, "example.org") {
			t.Errorf("made: %v", err)
		}
		must.Succeed(t, s.Ensure(t.Context(), zone, primaryOf(1), passFence))
		if err := s.Remove(t.Context(), zone, func(context.Context) error { return lost }); !errors.Is(err, lost) ||
			!s.HasZone(t, "example.org") {
			t.Errorf("removed: %v", err)
		}
	})
}

// Only the owner of its keys can remove a zone, and the keys stay. bindcar has no owners.
func TestRemoveOwned_S12_9(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		asked := secondaryOf("192.0.2.1")
		asked.KeyOwner = "team"
		must.Succeed(t, s.Ensure(t.Context(), zone, asked, passFence))
		ownedBy := func(owner string) func(string) bool { return func(other string) bool { return other == owner } }
		if !s.agent {
			for _, err := range []error{s.RemoveIfOwned(t.Context(), zone, ownedBy("team"), passFence),
				func() error { _, err := s.ListZones(t.Context()); return err }()} {
				if refused, ok := errors.AsType[*Error](err); !ok || !refused.Unsupported {
					t.Error(err)
				}
			}
			return
		}
		list := func(want ...name.Name) {
			t.Helper()
			if zones, err := s.ListZones(t.Context()); err != nil || !slices.Equal(zones, want) {
				t.Errorf("zones %v, %v; want %v", zones, err, want)
			}
		}
		if err := s.RemoveIfOwned(t.Context(), zone, ownedBy("other"), passFence); err != nil {
			t.Error(err)
		}
		lost := errors.New("lost")
		if err := s.RemoveIfOwned(t.Context(), zone, ownedBy("team"), func(context.Context) error { return lost }); !errors.Is(err, lost) {
			t.Error(err)
		}
		list(zone)
		for range 2 {
			if err := s.RemoveIfOwned(t.Context(), zone, ownedBy("team"), passFence); err != nil {
				t.Error(err)
			}
			list()
		}
		if owners, err := filepath.Glob(filepath.Join(s.Dir(), "K*.owner")); err != nil || len(owners) != 1 {
			t.Errorf("owners of keys: %q, %v", owners, err)
		}
	})
}

func TestNotify_notifiesSecondariesAgain(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
		reported := make(chan string, 16)
		secondary := &mdns.Server{PacketConn: conn, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, m *mdns.Msg) {
			_ = w.WriteMsg(new(mdns.Msg).SetReply(m))
			reported <- mdns.OpcodeToString[m.Opcode]
		})}
		go func() { _ = secondary.ActivateAndServe() }()
		t.Cleanup(func() { _ = secondary.Shutdown() })
		asked := primaryOf(1)
		asked.ZoneConfig.AlsoNotify = []string{conn.LocalAddr().String()}
		must.Succeed(t, s.Ensure(t.Context(), zone, asked, passFence))
		if !s.agent {
			if refused, ok := errors.AsType[*Error](s.Notify(t.Context(), zone)); !ok || !refused.Unsupported {
				t.Error(refused)
			}
			return
		}
		for range 3 { // the first is for the new zone
			select {
			case what := <-reported:
				if what != "NOTIFY" {
					t.Errorf("told %s", what)
				}
			case <-time.After(time.Minute):
				t.Fatal("not told")
			}
			must.Succeed(t, s.Notify(t.Context(), zone))
		}
	})
}

// A signer's list exceeds the limit of other answers.
func TestListZones_takesALongList(t *testing.T) {
	t.Parallel()
	list := protocol.ZoneList{Zones: slices.Repeat([]string{"a-name-of-usual-length.example"}, 100_000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any = list
		if r.URL.Path == protocol.Base+"/health" {
			answer = protocol.Health{Agent: "kubizone"}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer server.Close()
	zones, err := newClient(t, server.URL).ListZones(t.Context())
	if err != nil || len(zones) != len(list.Zones) || zones[0].String() != list.Zones[0]+"." {
		t.Errorf("%d zones, %v", len(zones), err)
	}
}

func TestSendRequest_hasTheTraceparentOfItsSpan(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("traceparent"))
		_ = json.NewEncoder(w).Encode(protocol.Health{})
	}))
	defer server.Close()
	client := must.Get(New(server.URL, nil))(t)
	ctx, span := sdktrace.NewTracerProvider().Tracer("").Start(t.Context(), "Deliver")
	defer span.End()
	for _, in := range []context.Context{t.Context(), ctx} {
		must.Succeed(t, client.sendRequest(in, http.MethodGet, "/health", nil, nil))
	}
	if id := span.SpanContext().TraceID().String(); got[0] != "" || !strings.HasPrefix(got[1], "00-"+id+"-") {
		t.Errorf("requests outside and inside of trace %s have %q", id, got)
	}
}

// bindcar's invalid names are refused with the reason, the agent accepts them (C3).
func TestEnsure_refusesWhatHasNoForm(t *testing.T) {
	eachServer(t, func(t *testing.T, s *served) {
		for _, text := range []string{"_tcp.example.org.", "0/25.2.0.192.in-addr.arpa.", "."} {
			err := s.Ensure(t.Context(), name.MustParse(text), secondaryOf("192.0.2.1"), passFence)
			refused, ok := errors.AsType[*Error](err)
			if s.agent && err != nil || !s.agent && (!ok || !refused.Unsupported) {
				t.Errorf("%s: %v", text, err)
			}
			if err := s.Remove(t.Context(), name.MustParse(text), passFence); err != nil {
				t.Errorf("removing %s: %v", text, err)
			}
		}
		if s.Bindcar != nil && len(s.Bindcar.Requests()) != 0 {
			t.Errorf("sent: %v", s.Bindcar.Requests())
		}
	})
}

// bindcar cannot express keys, so they are left to named's configuration.
func TestTranslate_leavesKeysToNamed(t *testing.T) {
	asked := primaryOf(1)
	asked.ZoneConfig.AllowTransfer = []string{"key a", "key b"}
	if got, err := bindcar09.translateZone(zone, asked); err != nil || got.ZoneConfig.AllowTransfer != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := kubizone.translateZone(zone, asked); err != nil || len(got.ZoneConfig.AllowTransfer) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A bindcar with a request a second takes a burst of ten. The next caller gets a retry time instead of a wait beyond
// the deadline, without effect on other servers (C1).
func TestPace_reportsWhenToRetry(t *testing.T) {
	slow, fast := newServed(t, "0.7.3"), newServed(t, "kubizone")
	slow.Bindcar.Limit = rate.NewLimiter(1, 10)
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	var reported *Error
	served := 0
	for range 20 {
		err := slow.Health(ctx)
		if err == nil {
			served++
			continue
		}
		if !errors.As(err, &reported) || reported.Status != 0 || reported.RetryAfter <= 0 || reported.RetryAfter > time.Second {
			t.Fatalf("%#v", err)
		}
		break
	}
	if served != 10 || reported == nil {
		t.Errorf("%d requests were served, then %v", served, reported)
	}
	if ctx.Err() != nil {
		t.Error("the caller waited until its time was over")
	}
	for range 20 {
		if err := fast.Health(ctx); err != nil {
			t.Fatalf("another server: %v", err)
		}
	}
	// A 429 from the server pauses its requests.
	slow.Bindcar.Limit = rate.NewLimiter(0, 0)
	slow.pace = rate.NewLimiter(rate.Inf, 1)
	if err := slow.Health(t.Context()); statusOf(err) != http.StatusTooManyRequests || !errors.As(err, &reported) || reported.RetryAfter != pauseTime {
		t.Errorf("%v", err)
	}
	before := len(slow.Bindcar.Requests())
	soon, end := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer end()
	if err := slow.Health(soon); !errors.As(err, &reported) || reported.Status != 0 || reported.RetryAfter < time.Second || len(slow.Bindcar.Requests()) != before {
		t.Errorf("a request within the pause: %v", err)
	}
}

// Versions from 0.7.3 on are supported; the error for older versions has the remedy.
func TestDialect_isThatOfTheVersion(t *testing.T) {
	for version, want := range map[string]*dialect{
		"0.7.3": &bindcar07, "0.8.0": &bindcar07, "v0.9.0": &bindcar09, "0.9.0-rc.1": &bindcar09, "0.12": &bindcar09, "1.0.0": &bindcar09, "0.7.4-dev": &bindcar07,
		"0.7.0": nil, "0.6.9": nil, "": nil, "main": nil, "0": nil, "0.7.x": nil,
	} {
		got, err := readDialect(protocol.Health{Version: version})
		if (err == nil) != (want != nil) || want != nil && got != *want {
			t.Errorf("%q: %+v, %v", version, got, err)
		}
	}
	if got, err := readDialect(protocol.Health{Version: "0.1.0", Agent: "kubizone"}); err != nil || got != kubizone {
		t.Errorf("%+v, %v", got, err)
	}
}

// An error about a server that redirects, floods or speaks another protocol quotes nothing (C4).
func TestSend_believesLittle(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for what, handler := range map[string]http.HandlerFunc{
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"floods": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(slices.Repeat([]byte("secret "), maxAnswer))
		},
		"is none": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>secret")) },
	} {
		server := httptest.NewServer(handler)
		err := newClient(t, server.URL).Health(t.Context())
		server.Close()
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), server.URL) {
			t.Errorf("a server that %s: %v", what, err)
		}
	}
	for what, test := range map[string]struct {
		keys, ds int
		refused  bool
	}{"has many": {maxKeys, maxKeys, false}, "has too many keys": {maxKeys + 1, 1, true}, "has too many DS": {1, maxKeys + 1, true}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var answer any
			switch {
			case strings.HasSuffix(r.URL.Path, "/health"):
				answer = protocol.Health{Agent: "kubizone"}
			case strings.HasSuffix(r.URL.Path, "/status"):
				answer = protocol.ZoneResponse{DNSSEC: &protocol.DNSSECStatus{Keys: make([]protocol.DNSSECKey, test.keys)}}
			default:
				answer = protocol.DS{Records: make([]protocol.DSRecord, test.ds)}
			}
			_ = json.NewEncoder(w).Encode(answer)
		}))
		signing, err := newClient(t, server.URL).ReadSigning(t.Context(), zone)
		server.Close()
		if (err != nil) != test.refused || !test.refused && (len(signing.Status.Keys) != test.keys || len(signing.DS) != test.ds) {
			t.Errorf("a server that %s: %d DS, %v", what, len(signing.DS), err)
		}
	}
	if reached {
		t.Error("a redirect was followed")
	}
	for _, address := range []string{"", "ftp://a", "http://", "http://a/path", "http://user@a", "http://a?x=1"} {
		if _, err := New(address, nil); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
}
