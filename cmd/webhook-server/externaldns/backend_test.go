// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// hasForm excludes CAA, and two texts of the conformance suite with unprintable octets.
func hasForm(set delivery.RRset) bool {
	return set.Type != rdata.CAA && !slices.Contains([]string{"control", "injection"}, set.Name.Labels()[0])
}

func connectClass(t *testing.T, backend server.Backend) func(t *testing.T) delivery.Provider {
	handler := must.Get(server.New(server.Config{
		Backend: backend, Algorithm: protocol.SHA256, Secrets: func() ([][]byte, error) { return [][]byte{[]byte("s")}, nil },
	}))(t)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return func(t *testing.T) delivery.Provider {
		return must.Get(webhook.New(webhook.Config{
			Server: server.URL, AllowLocalAddresses: true, OwnApexNS: true,
			HMAC: &webhook.HMAC{Algorithm: protocol.SHA256, Secret: []byte("s")},
		}))(t)
	}
}

// A foreign write shows after the listing expires.
type clock struct{ passed atomic.Int64 }

func (c *clock) readTime() time.Time           { return time.Unix(1_800_000_000, c.passed.Load()) }
func (c *clock) passTime(passed time.Duration) { c.passed.Add(int64(passed)) }

func isPoison(e endpoint) bool { return strings.HasPrefix(e.DNSName, "poison.") }

func (c changes) listWritten() []endpoint { return slices.Concat(c.Create, c.UpdateNew, c.Delete) }

// From plan to provider: client, HTTP, reference server, external-dns' webhook contract.
func TestBackend_passesTheExam(t *testing.T) {
	for _, c := range []struct {
		name         string
		notes, plain bool
		fault        func(path string, body changes) (int, bool)
		skips        func(endpoint) bool
	}{
		{name: "skips poison", skips: isPoison},
		{name: "with notes", notes: true, skips: isPoison},
		{name: "fails at poison and at more than ten", fault: func(_ string, body changes) (int, bool) {
			if len(body.listWritten()) > 10 || slices.ContainsFunc(body.listWritten(), isPoison) {
				return http.StatusInternalServerError, false
			}
			return 0, false
		}},
		{name: "plain texts", plain: true, skips: isPoison},
		{name: "answers too late", notes: true, skips: isPoison, fault: func(_ string, body changes) (int, bool) {
			if len(body.listWritten()) > 1 {
				return http.StatusInternalServerError, true
			}
			return 0, false
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			provider, url := startFake(t)
			provider.fault, provider.skips = c.fault, c.skips
			clock := new(clock)
			var backend server.Backend = openBackend(t, Config{URL: url, Types: contract.Types, PlainText: c.plain, Now: clock.readTime})
			if c.notes {
				backend = must.Get(server.NewShared(backend, filepath.Join(t.TempDir(), "notes")))(t)
			}
			var zones atomic.Int64
			deliverytest.Run(t, deliverytest.Subject{
				New: connectClass(t, backend),
				Zone: func(t *testing.T) name.Name {
					zone := fmt.Sprintf("zone%d.example", zones.Add(1))
					provider.changeLocked(func() { provider.zones = append(provider.zones, zone) })
					return name.MustParse(zone + ".")
				},
				Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
					sets := provider.inspectZone(t, zone)
					for i, set := range sets {
						for j, data := range set.Data {
							if data == `"twostrings"` && c.plain {
								sets[i].Data[j] = `"two" "strings"` // without character strings
							}
						}
					}
					return sets
				},
				Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
					provider.putEndpoint(writeEndpoint(t, set, c.plain))
					clock.passTime(listLife)
				},
				Refused: "poison", Keeps: c.notes, Unsupported: func(set delivery.RRset) bool { return !hasForm(set) },
			})
		})
	}
}

func applyOne(t *testing.T, backend server.Backend, set protocol.RRset) error {
	t.Helper()
	return backend.Apply(t.Context(), zone, []protocol.RRset{set})[0]
}

func statusOf(err error) int {
	var refusal *protocol.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refusal):
		return refusal.HTTPStatus()
	}
	return http.StatusInternalServerError
}

func expectStatus(t *testing.T, what string, err error, want int, part ...string) {
	t.Helper()
	if statusOf(err) != want {
		t.Errorf("%s: %v, want %d", what, err, want)
	}
	for _, text := range part {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want it to say %q", what, err, text)
		}
	}
}

func manySets(t *testing.T, n int) (sets []protocol.RRset) {
	for i := range n {
		sets = append(sets, makeSet(t, fmt.Sprintf("n%02d", i), rdata.A, "192.0.2.1"))
	}
	return sets
}

// A failing record costs the others nothing, and each record has its own result.
func TestApply_besideFailures(t *testing.T) {
	poison := makeSet(t, "poison", rdata.A, "192.0.2.66")
	for _, c := range []struct {
		name    string
		prepare func(*fake)
		poison  int
		posts   int // at most
	}{
		{"skipped in silence", func(f *fake) { f.skips = isPoison }, http.StatusBadRequest, 2},
		{"a failure of the batch", func(f *fake) {
			f.fault = func(_ string, body changes) (int, bool) {
				if slices.ContainsFunc(body.listWritten(), isPoison) {
					return http.StatusInternalServerError, false
				}
				return 0, false
			}
		}, http.StatusInternalServerError, 15},
		{"a failure while the provider adjusts", func(f *fake) {
			f.adjust = func(wishes []endpoint) []endpoint {
				return slices.DeleteFunc(wishes, isPoison)
			}
		}, http.StatusBadRequest, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, url := startFake(t, "example.org")
			c.prepare(f)
			backend := openBackend(t, Config{URL: url})
			sets := slices.Insert(manySets(t, 60), 20, poison)
			for at, err := range backend.Apply(t.Context(), zone, sets) {
				want := 0
				if at == 20 {
					want = c.poison
				}
				expectStatus(t, sets[at].Name.String(), err, want)
			}
			if got := len(f.inspectZone(t, zone)); got != 60 {
				t.Errorf("%d RRsets are there, want 60", got)
			}
			if n := f.countAsked("POST /records"); n > c.posts {
				t.Errorf("%d requests, want at most %d", n, c.posts)
			}
		})
	}
}

// A provider without the zone answers success. No record is blamed, and the zone is not asked per record.
func TestApply_withoutTheZone(t *testing.T) {
	f, url := startFake(t, "other.example")
	backend := openBackend(t, Config{URL: url})
	for _, err := range backend.Apply(t.Context(), zone, manySets(t, 60)) {
		expectStatus(t, "without the zone", err, http.StatusInternalServerError, "example.org.", "--domain-filter")
		if errors.As(err, new(*protocol.Error)) {
			t.Errorf("%v blames the record", err)
		}
	}
	if n := f.countAsked("POST /records"); n != 1+maxLost {
		t.Errorf("%d requests, want %d", n, 1+maxLost)
	}
}

// A provider with failures or 429 half of the time gets everything eventually, and no record is blamed.
func TestApply_whileTheProviderIsBusy(t *testing.T) {
	for _, answer := range []int{http.StatusTooManyRequests, http.StatusInternalServerError} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d after %t", answer, after), func(t *testing.T) {
				f, url := startFake(t, "example.org")
				dice := rand.New(rand.NewPCG(1, 2))
				f.fault = func(string, changes) (int, bool) {
					if dice.IntN(2) == 0 {
						return answer, after
					}
					return 0, false
				}
				backend := openBackend(t, Config{URL: url})
				sets := manySets(t, 20)
				for tries := 0; ; tries++ {
					failed := 0
					for at, err := range backend.Apply(t.Context(), zone, sets) {
						if err == nil {
							continue
						}
						failed++
						expectStatus(t, sets[at].Name.String(), err, answer)
					}
					if failed == 0 {
						break
					}
					if tries == 200 {
						t.Fatalf("%d of 20 are not there after %d tries", failed, tries)
					}
				}
				if got := len(f.inspectZone(t, zone)); got != 20 {
					t.Errorf("%d RRsets are there, want 20", got)
				}
			})
		}
	}
}

// A record that external-dns cannot express is refused with the reason, before a request; its removal succeeds.
func TestApply_withoutAForm(t *testing.T) {
	f, url := startFake(t, "example.org")
	backend := openBackend(t, Config{URL: url})
	for _, c := range []struct {
		set  protocol.RRset
		want string
	}{
		{makeSet(t, "@", rdata.CAA, `0 issue "ca.example"`), "external-dns has no form for CAA"},
		{makeSet(t, "www", rdata.HTTPS, `1 . alpn="h2"`), "external-dns has no form for HTTPS"},
		{makeSet(t, "_443._tcp", rdata.TLSA, "3 1 1 "+strings.Repeat("AB", 32)), "external-dns has no form for TLSA"},
		{makeSet(t, "1", rdata.PTR, "host.example.net."), "PTR is not among --external-dns-types"},
		{makeSet(t, "@", rdata.NS, "ns.example.net."), "apexNS: Skip"},
		{makeSet(t, "text", rdata.TXT, "\"caf\u00e9\""), "printable ASCII"},
	} {
		expectStatus(t, c.set.Type.String(), applyOne(t, backend, c.set), http.StatusBadRequest, c.want)
		c.set.Data = nil
		expectStatus(t, c.set.Type.String()+" removed", applyOne(t, backend, c.set), 0)
	}
	if n := f.countAsked("POST /records"); n > 0 {
		t.Errorf("the provider was sent %d changes", n)
	}
	_, err := backend.Read(t.Context(), zone, zone, rdata.CAA)
	expectStatus(t, "reading CAA", err, http.StatusBadRequest, "external-dns has no form for CAA")
	expectStatus(t, "NS below the apex", applyOne(t, backend, makeSet(t, "sub", rdata.NS, "ns.example.net.")), 0)
}

// A provider that would write something else, as Route 53 an alias for a CNAME, is not used.
func TestApply_whatIsAdjusted(t *testing.T) {
	f, url := startFake(t, "example.org")
	f.adjust = func(wishes []endpoint) (adjusted []endpoint) {
		for _, e := range wishes {
			e.ProviderSpecific = []contract.Property{{Name: "alias", Value: "false"}}
			e.DNSName = strings.Replace(e.DNSName, "spelled", "SPELLED", 1)
			if e.RecordType == "CNAME" && strings.HasSuffix(e.Targets[0], ".elb.example.net") {
				e.RecordType = "A"
				other := e
				other.RecordType = "AAAA"
				adjusted = append(adjusted, other)
			}
			if strings.HasPrefix(e.DNSName, "other.") {
				e.Targets = []string{"192.0.2.99"}
			}
			adjusted = append(adjusted, e)
		}
		return adjusted
	}
	backend := openBackend(t, Config{URL: url})
	results := backend.Apply(t.Context(), zone, []protocol.RRset{
		makeSet(t, "alias", rdata.CNAME, "x.elb.example.net."), makeSet(t, "other", rdata.A, "192.0.2.1"),
		makeSet(t, "www", rdata.CNAME, "www.example.net."),
	})
	expectStatus(t, "an alias", results[0], http.StatusBadRequest, `CNAME ["x.elb.example.net"]`, `A ["x.elb.`, "AAAA")
	expectStatus(t, "another target", results[1], http.StatusBadRequest, "192.0.2.1", "192.0.2.99")
	expectStatus(t, "a property more", results[2], 0)
	expectStatus(t, "another spelling", applyOne(t, backend, makeSet(t, "spelled", rdata.A, "192.0.2.1")), 0)
	if got := f.has["www.example.org CNAME "]; len(f.has) != 2 || len(got.ProviderSpecific) != 1 {
		t.Errorf("the provider has %+v", f.has)
	}
}

// Routing policies and aliases stay, and conflicting records are refused.
func TestApply_besideForeignEndpoints(t *testing.T) {
	f, url := startFake(t, "example.org")
	foreign := []endpoint{
		{DNSName: "weighted.example.org", RecordType: "A", Targets: []string{"192.0.2.1"}, SetIdentifier: "eu"},
		{DNSName: "alias.example.org", RecordType: "A", Targets: []string{"x.elb.example.net"}},
		{DNSName: "host.example.org", RecordType: "A", Targets: []string{"192.0.2.2"}, Labels: map[string]string{"owner": "x"}},
		{DNSName: "_bad name_.\\.example.org", RecordType: "A", Targets: []string{"192.0.2.2"}},
		{DNSName: "spf.example.org", RecordType: "SOMETHING", Targets: []string{"x"}},
	}
	for _, e := range foreign {
		f.putEndpoint(e)
	}
	backend := openBackend(t, Config{URL: url})
	for _, owner := range []string{"weighted", "alias"} {
		set := makeSet(t, owner, rdata.A, "192.0.2.9")
		expectStatus(t, owner, applyOne(t, backend, set), http.StatusConflict, "stay: ")
		_, err := backend.Read(t.Context(), zone, set.Name, set.Type)
		expectStatus(t, owner+" read", err, http.StatusConflict)
		set.Data = nil
		expectStatus(t, owner+" removed", applyOne(t, backend, set), http.StatusNotFound)
	}
	alias := makeSet(t, "host", rdata.CNAME, "x.example.net.")
	twice := makeSet(t, "alias", rdata.A, "192.0.2.9")
	for _, err := range backend.Apply(t.Context(), zone, []protocol.RRset{twice, twice}) {
		expectStatus(t, "twice", err, http.StatusConflict)
	}
	expectStatus(t, "a CNAME beside an address", applyOne(t, backend, alias), http.StatusConflict, "conflicts with the A")
	for _, e := range foreign {
		if got, there := f.has[idOf(e)]; !there || fmt.Sprint(got) != fmt.Sprint(e) {
			t.Errorf("%+v became %+v", e, got)
		}
	}
	// Within a request removals make room, and an RRset's last item counts.
	f.countAsked("POST /records")
	results := backend.Apply(t.Context(), zone, []protocol.RRset{
		makeSet(t, "host", rdata.A, "192.0.2.7"), makeSet(t, "host", rdata.A), alias,
	})
	if err := errors.Join(results...); err != nil || f.has["host.example.org CNAME "].Targets[0] != "x.example.net" || len(f.has) != 5 {
		t.Errorf("%v, %+v", err, f.has)
	}
	if n := f.countAsked("POST /records"); n != 2 {
		t.Errorf("%d changes, want 2: one to make room, one for the rest", n)
	}
}

// A text that begins with a quote stays a text at a provider of plain texts.
func TestApply_plainTexts(t *testing.T) {
	f, url := startFake(t, "example.org")
	backend := openBackend(t, Config{URL: url, PlainText: true})
	expectStatus(t, "a quoted text", applyOne(t, backend, makeSet(t, "text", rdata.TXT, `"\"quoted\""`)), 0)
	if got := f.has["text.example.org TXT "].Targets; len(got) != 1 || got[0] != `"quoted"` {
		t.Errorf("the provider has %q", got)
	}
}

// Neither single values nor the provider's own spelling are a difference, before a restart and, after another write,
// after.
func TestRead_inTheWordsOfTheZone(t *testing.T) {
	f, url := startFake(t, "example.org")
	f.keeps = func(e endpoint) endpoint {
		e.RecordTTL = max(e.RecordTTL, 600)
		for i, target := range e.Targets {
			e.Targets[i] = strings.Trim(strings.ReplaceAll(target, `" "`, ""), `"`)
		}
		return e
	}
	clock, notes := new(clock), filepath.Join(t.TempDir(), "notes")
	set := makeSet(t, "text", rdata.TXT, `"two" "strings"`)
	for round := range 2 {
		plain := openBackend(t, Config{URL: url, Now: clock.readTime})
		backend := must.Get(server.NewShared(plain, notes))(t)
		expectStatus(t, "written", applyOne(t, backend, set), 0)
		posts := f.countAsked("POST /records")
		if want := 1; posts != want {
			t.Errorf("round %d: %d changes, want %d", round, posts, want)
		}
		expectStatus(t, "written again", applyOne(t, backend, set), 0)
		clock.passTime(listLife)
		got := must.Get(backend.Read(t.Context(), zone, set.Name, set.Type))(t)
		if got.TTL != 300 || !slices.Equal(got.Data, set.Data) || f.countAsked("POST /records") > 0 {
			t.Errorf("round %d: %+v", round, got)
		}
	}
	backend := openBackend(t, Config{URL: url, Now: clock.readTime})
	expectStatus(t, "written", applyOne(t, backend, set), 0)
	f.putEndpoint(endpoint{DNSName: "text.example.org", RecordType: "TXT", Targets: []string{"another"}, RecordTTL: 600})
	clock.passTime(listLife)
	if got := must.Get(backend.Read(t.Context(), zone, set.Name, set.Type))(t); got.TTL != 600 || got.Data[0] != `"another"` {
		t.Errorf("drift is hidden: %+v", got)
	}
	f.changeLocked(func() {
		f.has = map[string]endpoint{
			"1": {DNSName: "a.example.org", RecordType: "A", Targets: []string{"192.0.2.2"}, RecordTTL: 300},
			"2": {DNSName: "A.example.org.", RecordType: "A", Targets: []string{"192.0.2.1"}, RecordTTL: 300},
		}
	})
	clock.passTime(listLife)
	if got := must.Get(backend.Read(t.Context(), zone, name.MustParse("a.example.org."), rdata.A))(t); len(got.Data) != 2 {
		t.Errorf("of two values: %+v", got)
	}
	var removed []string
	f.changeLocked(func() {
		f.fault = func(_ string, body changes) (int, bool) {
			for _, e := range body.Delete {
				removed = append(removed, e.Targets...)
				f.has = map[string]endpoint{}
				return http.StatusNoContent, false
			}
			return 0, false
		}
	})
	expectStatus(t, "both removed", applyOne(t, backend, makeSet(t, "a", rdata.A)), 0)
	if slices.Sort(removed); !slices.Equal(removed, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Errorf("%q are removed", removed)
	}
}

// A listing covers the account: many reads share it within its lifetime.
func TestRead_asksOnceInAWhile(t *testing.T) {
	f, url := startFake(t, "example.org")
	clock := new(clock)
	backend := openBackend(t, Config{URL: url, Now: clock.readTime})
	set := makeSet(t, "www", rdata.A, "192.0.2.1")
	read := func() protocol.RRset { return must.Get(backend.Read(t.Context(), zone, set.Name, set.Type))(t) }
	for range 100 {
		read()
	}
	if n := f.countAsked("GET /records"); n != 1 {
		t.Errorf("%d listings for 100 questions", n)
	}
	f.putEndpoint(writeEndpoint(t, delivery.RRset{Name: set.Name, Type: set.Type, TTL: 300, Data: set.Data}, false))
	clock.passTime(listLife)
	if got := read(); len(got.Data) != 1 {
		t.Errorf("what is there for %s is not seen: %+v", listLife, got)
	}
}

// While the provider hangs, callers wait as they choose, no second request is sent, and health is answered.
func TestApply_whileTheProviderHangs(t *testing.T) {
	f, url := startFake(t, "example.org")
	release := make(chan struct{})
	f.hang = release
	backend := openBackend(t, Config{URL: url})
	first := make(chan error, 1)
	gone, leave := context.WithCancel(t.Context())
	go func() { first <- backend.Apply(gone, zone, manySets(t, 1))[0] }()
	must.Eventually(t, "the provider is asked", func() bool { return f.countAsked("GET /records") > 0 })
	leave() // The pending request continues.
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			impatient, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			if err := backend.Apply(impatient, zone, manySets(t, 1))[0]; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while the provider hangs: %v", err)
			}
		})
	}
	running.Wait()
	must.Succeed(t, backend.Health(t.Context()))
	close(release)
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that is gone: %v", err)
	}
	running.Go(func() { expectStatus(t, "afterwards", applyOne(t, backend, makeSet(t, "a", rdata.A, "192.0.2.1")), 0) })
	running.Go(func() { expectStatus(t, "afterwards", applyOne(t, backend, makeSet(t, "b", rdata.A, "192.0.2.1")), 0) })
	running.Wait()
}

func TestHealth_knowsAProvider(t *testing.T) {
	f, url := startFake(t)
	backend := openBackend(t, Config{URL: url})
	must.Succeed(t, backend.Health(t.Context()))
	f.media = "text/html"
	if err := backend.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "--external-dns-url") {
		t.Errorf("a web page: %v", err)
	}
	f.media, f.fault = contract.MediaType, func(string, changes) (int, bool) { return http.StatusInternalServerError, false }
	if backend.Health(t.Context()) == nil {
		t.Error("a provider that fails is healthy")
	}
	for _, url := range []string{"", "127.0.0.1:8888", "ftp://x", "http://", "http://x/?a=b", "http://x/#y"} {
		if _, err := New(Config{URL: url}); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
	down := openBackend(t, Config{URL: "http://127.0.0.1:1"})
	expectStatus(t, "a provider that is down", applyOne(t, down, manySets(t, 1)[0]), http.StatusInternalServerError)
	if down.Health(t.Context()) == nil {
		t.Error("a provider that is down is healthy")
	}
}
