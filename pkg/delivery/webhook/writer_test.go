// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

const healthy = `{"status":"healthy","timestamp":"2025-12-30T10:00:00Z"%s}`

// answer gets the subdomain of a request.
func answerByPath(health string, answer func(subdomain string) (int, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/health" {
			fmt.Fprintf(w, healthy, health)
			return
		}
		if request.Method == http.MethodDelete {
			status, body := answer(request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:])
			answerWith(status, body)(w, request)
			return
		}
		var asked protocol.Request
		json.NewDecoder(request.Body).Decode(&asked)
		status, body := answer(asked.Record.Subdomain)
		answerWith(status, body)(w, request)
	}
}

func failedNames(report delivery.Report) []string {
	var names []string
	for _, failure := range report.Failed {
		names = append(names, failure.Name.Labels()[0]+" "+string(failure.Err.Reason))
	}
	return names
}

func TestProvider_removesBeforeItPutsAtOneName(t *testing.T) {
	server := startPeer(t, answerByPath("", func(string) (int, string) { return 200, done }))
	was, is := makeRRset("www", rdata.TXT, `"x"`), makeRRset("www", rdata.CNAME, "a.example.")
	plan := planOf(makeRRset("a", rdata.A, "192.0.2.1"), is)
	plan.Changes = append(plan.Changes, delivery.Change{Before: was, After: delivery.RRset{Name: was.Name, Type: was.Type}})
	must.Get(connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence))(t)
	if want := []string{"GET /health", "POST /records", "DELETE /records/TXT/example.com/www", "POST /records"}; !slices.Equal(
		server.describeRequests(), want) {
		t.Errorf("%q", server.describeRequests())
	}
}

func silentAbout(word string) http.HandlerFunc {
	well := answerByPath("", func(string) (int, string) { return 200, done })
	return func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil || strings.Contains(string(body), word) {
			<-request.Context().Done()
			return
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		well(w, request)
	}
}

func answerUnhealthy(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/health" {
			answerWith(503, `{"status":"unhealthy"}`)(w, request)
			return
		}
		answer(w, request)
	}
}

// Attack 8: records beyond the ability of the server, or of a proxy before it, delay no other tenant. The poison is
// first in canonical order, yet the neighbour's www is delivered in the same attempt.
func TestProvider_isHeldUpByNoRecords(t *testing.T) {
	var sets []delivery.RRset
	for n := range 40 {
		sets = append(sets, makeRRset(fmt.Sprintf("%02d", n), rdata.TXT, `"poison"`))
	}
	sets = append(sets, makeRRset("www", rdata.A, "192.0.2.1"))
	const slow = 300 * time.Millisecond
	for what, c := range map[string]struct {
		status int
		body   string
		pause  time.Duration
		most   int // attempted poison records
		reason delivery.Reason
	}{
		"a server error":                  {status: 500, body: `{"success":false,"error":{"code":"SERVER_ERROR","message":"x"}}`, most: 40, reason: delivery.ReasonServerError},
		"a code of its own":               {status: 403, body: `{"success":false,"error":{"code":"BLOCKED","message":"x"}}`, most: 40, reason: delivery.ReasonValidationFailed},
		"forbidden by a firewall":         {status: 403, body: "<html>", most: 40, reason: delivery.ReasonValidationFailed},
		"401 of a proxy":                  {status: 401, body: "<html>", most: 40, reason: delivery.ReasonValidationFailed},
		"redirected by a firewall":        {status: 302, body: "<html>", most: 40, reason: delivery.ReasonValidationFailed},
		"a firewall's page":               {status: 200, body: "<html>", most: 40, reason: delivery.ReasonServerError},
		"a gateway that fails":            {status: 502, body: "<html>", most: 40, reason: delivery.ReasonServerError},
		"an answer that is much too long": {status: 200, body: strings.Repeat("x", protocol.MaxBody+1), most: 4, reason: delivery.ReasonServerError},
		"silence":                         {status: 200, body: done, pause: slow, most: 4, reason: delivery.ReasonServerUnreachable},
	} {
		for _, features := range []string{"", `,"features":["batch"]`} {
			t.Run(what+features, func(t *testing.T) {
				server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
					if request.URL.Path != "/health" {
						var asked struct {
							Record     protocol.Record
							Operations []protocol.Request
						}
						json.NewDecoder(request.Body).Decode(&asked)
						if asked.Record.Type == "TXT" || len(asked.Operations) > 0 {
							time.Sleep(c.pause)
							answerWith(c.status, c.body)(w, request)
							return
						}
						answerWith(200, done)(w, request)
						return
					}
					fmt.Fprintf(w, healthy, features)
				})
				report, err := connectProvider(t, server.URL, func(config *webhook.Config) {
					if c.pause > 0 {
						config.Timeout = c.pause / 3
					}
				}).Deliver(t.Context(), planOf(sets[40-c.most:]...), passFence)
				if err != nil || report.Confirmed != 2 || len(report.Failed) != c.most {
					t.Fatalf("%+v, %v", report, err)
				}
				if failure := report.Failed[0].Err; failure.Reason != c.reason || failure.WholeClass {
					t.Errorf("%+v", failure)
				}
				requests := server.listRequests()
				posts := slices.DeleteFunc(slices.Clone(requests), func(s seen) bool { return s.method != "POST" })
				if last := posts[len(posts)-1]; !strings.Contains(last.body, `"www"`) {
					t.Errorf("%s", last.body)
				}
				if most := 2*c.most + 4; len(requests) > most {
					t.Errorf("%d requests for %d records", len(requests), len(sets))
				}
			})
		}
	}
}

// An attempt begins with RRsets that have not failed, for known changes as for the whole zone, and retries a bounded
// number of failed RRsets.
func TestProvider_writesLastWhatFailedLast(t *testing.T) {
	var sets []delivery.RRset
	for n := range 300 {
		sets = append(sets, makeRRset(fmt.Sprintf("%03d", n), rdata.TXT, `"poison"`))
	}
	sets = append(sets, makeRRset("www", rdata.A, "192.0.2.1"))
	choke := func(owner string) (int, string) {
		if owner == "www" {
			return 200, done
		}
		return 500, `{"success":false,"error":{"code":"SERVER_ERROR","message":"x"}}`
	}
	for what, whole := range map[string]bool{"changes": false, "the whole zone": true} {
		for _, c := range []struct {
			answer   http.HandlerFunc
			attempts int
		}{{answerByPath("", choke), 1}, {answerUnhealthy(answerByPath("", choke)), 101}} {
			server := startPeer(t, c.answer)
			provider := connectProvider(t, server.URL, nil)
			plan := planOf(sets...)
			if whole {
				plan.Changes, plan.All = nil, slices.Values(sets)
			}
			arrived := 0
			for n := 1; arrived == 0 && n <= c.attempts; n++ {
				if report, err := provider.Deliver(t.Context(), plan, passFence); err == nil &&
					(c.attempts > 1 || len(report.Failed) != 300) || err != nil && asError(t, err).Reason != delivery.ReasonServerError {
					t.Fatal(err)
				}
				for _, request := range server.listRequests() {
					if strings.Contains(request.body, `"www"`) {
						arrived = n
					}
				}
			}
			if arrived != c.attempts {
				t.Errorf("%s: the neighbour's record went out in attempt %d, not in %d", what, arrived, c.attempts)
			}
			before := len(server.describeRequests())
			provider.Deliver(t.Context(), plan, passFence)
			if asked := len(server.describeRequests()) - before; asked > 1+256+256/3+2 {
				t.Errorf("%s: %d requests in an attempt of what failed before", what, asked)
			}
		}
	}
}

// A server that supports only A and CNAME can serve a zone if the class skips the apex NS: never sent, removed or
// compared. NS below the apex are.
func TestProvider_skipsTheApexNS(t *testing.T) {
	simple := answerByPath("", func(string) (int, string) { return 200, done })
	server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		request.Body = io.NopCloser(strings.NewReader(string(body)))
		switch refused := `{"success":false,"error":{"code":"INVALID_RECORD","message":"A and CNAME alone"}}`; {
		case strings.Contains(string(body), `"type":"NS"`), strings.HasPrefix(request.URL.Path, "/records/NS/"):
			answerWith(400, refused)(w, request)
		case request.Method == http.MethodGet && strings.HasPrefix(request.URL.Path, "/records/A/"):
			answerWith(200, `{"success":true,"record":{"type":"A","domain":"example.com","subdomain":"ns","values":["192.0.2.53"],"ttl":300}}`)(w, request)
		default:
			simple(w, request)
		}
	})
	sets := []delivery.RRset{makeRRset("@", rdata.NS, "ns.example.com."), makeRRset("ns", rdata.A, "192.0.2.53")}
	for _, whole := range []bool{false, true} {
		plan := planOf(sets...)
		if whole {
			plan.Changes = nil
		}
		plan.All = slices.Values(sets)
		if report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence); err != nil ||
			!slices.Equal(failedNames(report), []string{"example ValidationFailed"}) {
			t.Errorf("delivered: %+v, %v", report, err)
		}
		skips := connectProvider(t, server.URL, func(config *webhook.Config) { config.OwnApexNS = true })
		asked := len(server.describeRequests())
		if report, err := skips.Deliver(t.Context(), plan, passFence); err != nil || report.Confirmed != 2 || len(report.Failed) > 0 {
			t.Errorf("skipped: %+v, %v", report, err)
		}
		if drift, err := skips.Verify(t.Context(), plan); err != nil || !drift.Empty() {
			t.Errorf("compared: %+v, %v", drift, err)
		}
		if report, err := skips.Remove(t.Context(), plan, passFence); err != nil || len(report.Failed) > 0 {
			t.Errorf("withdrawn: %+v, %v", report, err)
		}
		for _, request := range server.listRequests()[asked:] {
			if strings.Contains(request.body+request.uri, "NS") {
				t.Errorf("asked %s %s %s", request.method, request.uri, request.body)
			}
		}
	}
	// NS below the apex are a delegation.
	plan := planOf(makeRRset("sub", rdata.NS, "ns.example.net."))
	if report, err := connectProvider(t, server.URL, func(config *webhook.Config) { config.OwnApexNS = true }).Deliver(t.Context(), plan,
		passFence); err != nil || len(report.Failed) != 1 {
		t.Errorf("a delegation: %+v, %v", report, err)
	}
}

func TestProvider_keepsThePlansTimeout(t *testing.T) {
	server := startPeer(t, func(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() })
	plan := planOf(makeRRset("a", rdata.A, "192.0.2.1"))
	plan.CallTimeout = 50 * time.Millisecond
	began := time.Now()
	if report, _ := connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence); len(report.Failed) != 1 ||
		time.Since(began) > 20*time.Second || !strings.Contains(report.Failed[0].Err.Message, "no answer within 50ms") {
		t.Errorf("%+v after %s", report, time.Since(began))
	}
}

// When the server's quota is used up, changes and removals still work, so they continue. Further new RRsets would only
// be refused, so they are not sent singly.
func TestProvider_goesOnWithinAQuota(t *testing.T) {
	server := startPeer(t, answerByPath("", func(owner string) (int, string) {
		if strings.HasPrefix(owner, "new") {
			return 429, `{"success":false,"error":{"code":"QUOTA_EXCEEDED","message":"x"}}`
		}
		return 200, done
	}))
	plan := planOf(makeRRset("new1", rdata.A, "192.0.2.1"), makeRRset("new2", rdata.A, "192.0.2.1"), makeRRset("old", rdata.A, "192.0.2.1"))
	plan.Changes[2].Before = makeRRset("old", rdata.A, "192.0.2.9")
	plan.Changes = append(plan.Changes, delivery.Change{Before: makeRRset("x", rdata.A, "192.0.2.1"), After: makeRRset("x", rdata.A)})
	report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence)
	if want := []string{"new1 QuotaExceeded", "new2 QuotaExceeded"}; err != nil || !slices.Equal(failedNames(report), want) || report.Failed[1].Err.RetryAfter != 10*time.Minute {
		t.Errorf("%+v, %v", report, err)
	}
	if want := []string{"GET /health", "POST /records", "POST /records", "DELETE /records/A/example.com/x", "POST /records"}; !slices.Equal(
		server.describeRequests(), want) {
		t.Errorf("%q", server.describeRequests())
	}
}

// Failing removals delay the others by an attempt, too.
func TestRemove_isThroughWithAZoneOfWhichMuchFails(t *testing.T) {
	removed := false
	server := startPeer(t, answerByPath("", func(owner string) (int, string) {
		if owner != "z" {
			return 500, `{"success":false,"error":{"code":"SERVER_ERROR","message":"x"}}`
		}
		removed = true
		return 200, done
	}))
	sets := []delivery.RRset{makeRRset("z", rdata.A, "192.0.2.1")}
	for n := range 2 * 256 {
		sets = append(sets, makeRRset(fmt.Sprintf("a%03d", n), rdata.A, "192.0.2.1"))
	}
	slices.SortFunc(sets, func(a, b delivery.RRset) int { return a.Key().Compare(b.Key()) })
	p := connectProvider(t, server.URL, nil)
	for range 5 {
		plan := planOf(sets...)
		plan.Changes = nil
		if report, err := p.Remove(t.Context(), plan, passFence); err == nil && len(report.Failed) == 0 {
			t.Error("no removal fails")
		}
		if removed {
			return
		}
	}
	t.Error("the failing removals keep the other back")
}

// Removals make room within the attempt: new RRsets refused before are written after.
func TestProvider_writesAfterRemovalsWithinAQuota(t *testing.T) {
	for _, features := range []string{"", `,"features":["batch"]`} {
		held := map[string]bool{"y": true, "z": true} // as many as the quota allows
		write := func(r protocol.Request) (status int, body string) {
			owner := r.Record.Subdomain
			switch {
			case r.Operation == protocol.Delete:
				delete(held, owner)
			case len(held) == 2 && !held[owner]:
				return 429, `"success":false,"error":{"code":"QUOTA_EXCEEDED","message":"x"}`
			default:
				held[owner] = true
			}
			return 200, `"success":true`
		}
		server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
			var batch protocol.Batch
			var one protocol.Request
			switch request.URL.Path {
			case "/health":
				fmt.Fprintf(w, healthy, features)
			case "/records/batch":
				json.NewDecoder(request.Body).Decode(&batch)
				var results []string
				for _, one := range batch.Operations {
					status, body := write(one)
					results = append(results, fmt.Sprintf(`{"status":%d,%s}`, status, body))
				}
				fmt.Fprintf(w, `{"success":true,"results":[%s]}`, strings.Join(results, ","))
			default:
				if json.NewDecoder(request.Body).Decode(&one); request.Method == http.MethodDelete {
					one.Operation, one.Record.Subdomain = protocol.Delete, request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
				}
				status, body := write(one)
				answerWith(status, "{"+body+"}")(w, request)
			}
		})
		plan := planOf(makeRRset("a", rdata.A, "192.0.2.1"), makeRRset("b", rdata.A, "192.0.2.1"), makeRRset("c", rdata.A, "192.0.2.1"))
		for _, owner := range []string{"y", "z"} {
			plan.Changes = append(plan.Changes, delivery.Change{Before: makeRRset(owner, rdata.A, "192.0.2.1"),
				After: makeRRset(owner, rdata.A)})
		}
		report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence)
		if err != nil || !slices.Equal(failedNames(report), []string{"c QuotaExceeded"}) || !held["a"] || !held["b"] {
			t.Errorf("%s: %+v, %v, %v, %q", features, report, err, held, server.describeRequests())
		}
	}
}

func TestProvider_saysWhichValuesDoNotFit(t *testing.T) {
	mixed := makeRRset("@", rdata.MX, "10 mx1.example.com.", "20 mx2.example.com.")
	server := startPeer(t, answerByPath("", func(string) (int, string) { return 200, done }))
	report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(mixed), passFence)
	if err != nil || report.Skipped != 1 || len(report.Failed) != 1 || report.Failed[0].Err.Reason != delivery.ReasonValidationFailed ||
		!strings.Contains(report.Failed[0].Err.Message, `"10 mx1.example.com.", "20 mx2.example.com."`) {
		t.Errorf("%+v, %v", report, err)
	}
	if want := []string{"GET /health"}; !slices.Equal(server.describeRequests(), want) {
		t.Errorf("%q", server.describeRequests())
	}
	// If the server does not report its types, no value fails for good.
	server = startPeer(t, answerWith(500, "x"))
	report, err = connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(mixed), passFence)
	if err != nil || len(report.Failed) != 1 || report.Failed[0].Err.Reason != delivery.ReasonServerError || report.Skipped != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	server = startPeer(t, answerByPath(`,"features":["value-metadata"]`, func(string) (int, string) { return 200, done }))
	if report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(mixed), passFence); err != nil ||
		len(report.Failed) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if want := `"values":["mx1.example.com","mx2.example.com"],"ttl":300,"metadata":[{"priority":10},{"priority":20}]}`; !strings.Contains(
		server.listRequests()[1].body, want) {
		t.Errorf("%s", server.listRequests()[1].body)
	}
}

func TestProvider_fallsBackFromBatches(t *testing.T) {
	plan := planOf(makeRRset("a", rdata.A, "192.0.2.1"), makeRRset("b", rdata.A, "192.0.2.1"))
	for what, c := range map[string]struct {
		status int
		body   string
		alone  bool
		fails  bool
	}{
		"taken":                {200, `{"success":true,"results":[{"status":200,"success":true},{"status":200,"success":true}]}`, false, false},
		"not known":            {404, "404 page not found", true, false},
		"too few results":      {200, `{"success":true,"results":[{"status":200,"success":true}]}`, true, false},
		"refused as a whole":   {400, `{"success":false,"error":{"code":"INVALID_RECORD","message":"x"}}`, true, false},
		"without quota":        {429, `{"success":false,"error":{"code":"QUOTA_EXCEEDED","message":"x"}}`, true, false},
		"not let in":           {401, `{"success":false,"error":{"code":"AUTH_FAILED","message":"x"}}`, false, true},
		"limited in the midst": {200, `{"success":false,"results":[{"status":200,"success":true},{"status":429,"success":false,"error":{"code":"RATE_LIMITED","message":"x"}}]}`, false, true},
	} {
		server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
			switch request.URL.Path {
			case "/health":
				fmt.Fprintf(w, healthy, `,"features":["batch"]`)
			case "/records/batch":
				answerWith(c.status, c.body)(w, request)
			default:
				io.WriteString(w, done)
			}
		})
		report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), plan, passFence)
		want := []string{"GET /health", "POST /records/batch"}
		if c.alone {
			want = append(want, "POST /records", "POST /records")
		}
		if (err != nil) != c.fails || (report.Confirmed == 2) == c.fails || !slices.Equal(server.describeRequests(), want) {
			t.Errorf("%s: %+v, %v, %q", what, report, err, server.describeRequests())
		}
	}
}

func TestProvider_splitsWhatIsTooMuchForOneBatch(t *testing.T) {
	var sets []delivery.RRset
	for i := range 250 {
		sets = append(sets, makeRRset(fmt.Sprintf("n%03d", i), rdata.A, "192.0.2.1"))
	}
	var sizes []int
	server := startPeer(t, func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/health" {
			fmt.Fprintf(w, healthy, `,"features":["batch"]`)
			return
		}
		var batch protocol.Batch
		json.NewDecoder(request.Body).Decode(&batch)
		sizes = append(sizes, len(batch.Operations))
		fmt.Fprintf(w, `{"success":true,"results":[%s]}`, strings.TrimSuffix(strings.Repeat(`{"status":200,"success":true},`, len(batch.Operations)), ","))
	})
	fences := 0
	report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(sets...),
		func(context.Context) error { fences++; return nil })
	if err != nil || report.Confirmed != 2 || !slices.Equal(sizes, []int{100, 100, 50}) || fences != 3 {
		t.Errorf("%+v, %v, sizes %v, %d fences", report, err, sizes, fences)
	}
	// 100 values of this size exceed the body limit.
	sizes = nil
	var big []delivery.RRset
	for i := range 60 {
		s := makeRRset(fmt.Sprintf("n%03d", i), rdata.TXT)
		for j := range 100 {
			s.Data = append(s.Data, fmt.Sprintf(`"%03d%s"`, j, strings.Repeat("x", 240)))
		}
		big = append(big, s)
	}
	if report, err := connectProvider(t, server.URL, nil).Deliver(t.Context(), planOf(big...), passFence); err != nil ||
		len(report.Failed) > 0 || len(sizes) != 2 {
		t.Errorf("%+v, %v, sizes %v", report.Failed, err, sizes)
	}
	for _, s := range server.listRequests() {
		if len(s.body) > protocol.MaxBody {
			t.Errorf("a body of %d octets", len(s.body))
		}
	}
}

func TestProvider_verifyNeedsAServerThatReports(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"no such path": answerWith(404, "404 page not found"), "no such method": answerWith(405, ""),
		"a success without a record": answerWith(200, done),
	} {
		_, err := connectProvider(t, startPeer(t, answer).URL, nil).Verify(t.Context(), planOf(makeRRset("a", rdata.A, "192.0.2.1")))
		if !errors.Is(err, delivery.ErrCannotList) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, answer := range map[string]http.HandlerFunc{"a failure": answerWith(500, `{"success":false,"error":{"code":"SERVER_ERROR"}}`),
		"a foreign one": answerWith(200, "[]")} {
		drift, err := connectProvider(t, startPeer(t, answer).URL, nil).Verify(t.Context(), planOf(makeRRset("a", rdata.A, "192.0.2.1")))
		if asError(t, err).Reason != delivery.ReasonServerError || !drift.Empty() {
			t.Errorf("%s: %+v, %v", what, drift, err)
		}
	}
	server := startPeer(t, answerByPath("", nil))
	server.Config.Handler = answerWith(200,
		`{"success":true,"record":{"type":"AAAA","domain":"EXAMPLE.com","subdomain":"A","values":["2001:DB8:0::1"],"ttl":300}}`)
	drift, err := connectProvider(t, server.URL, nil).Verify(t.Context(), planOf(makeRRset("a", rdata.AAAA, "2001:db8::1")))
	if err != nil || !drift.Empty() {
		t.Errorf("%+v, %v", drift, err)
	}
	server.Config.Handler = answerWith(200,
		`{"success":true,"record":{"type":"AAAA","domain":"example.com","subdomain":"a","values":["2001:db8::1"],"ttl":60}}`)
	if drift, err = connectProvider(t, server.URL, nil).Verify(t.Context(),
		planOf(makeRRset("a", rdata.AAAA, "2001:db8::1"))); err != nil || len(drift.Differing) != 1 {
		t.Errorf("%+v, %v", drift, err)
	}
}

// The zone remains at the provider, with its mandatory name servers.
func TestProvider_withdrawLeavesWhatAZoneNeeds(t *testing.T) {
	server := startPeer(t, answerByPath("", func(owner string) (int, string) {
		return 400, `{"success":false,"error":{"code":"INVALID_RECORD","message":"x"}}`
	}))
	report, err := connectProvider(t, server.URL, nil).Remove(t.Context(),
		planOf(makeRRset("@", rdata.NS, "ns.example.", "ns.example.com."), makeRRset("ns", rdata.A, "192.0.2.53"),
			makeRRset("a", rdata.A, "192.0.2.1")), passFence)
	if want := []string{"a ValidationFailed"}; err != nil || !slices.Equal(failedNames(report), want) || report.Confirmed != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestProvider_verifyGoesOnWhereItEnded(t *testing.T) {
	server := startPeer(t, answerWith(404, `{"success":false,"error":{"code":"RECORD_NOT_FOUND","message":"x"}}`))
	provider := connectProvider(t, server.URL, func(c *webhook.Config) { c.VerifyAtMost = 2 })
	var sets []delivery.RRset
	for _, owner := range []string{"a", "b", "c", "d", "e"} {
		sets = append(sets, makeRRset(owner, rdata.A, "192.0.2.1"))
	}
	for _, want := range []string{"a b", "c d", "e", "a b"} {
		drift, err := provider.Verify(t.Context(), planOf(sets...))
		var missing []string
		for _, s := range drift.Missing {
			missing = append(missing, s.Name.Labels()[0])
		}
		if err != nil || strings.Join(missing, " ") != want {
			t.Errorf("%v, %v; expected %s", missing, err, want)
		}
	}
}

// However many records fail, all others are confirmed within a few attempts. Each attempt tries another part of the
// failing records again (attack 8).
func TestProvider_isThroughWithAZoneOfWhichMuchFails(t *testing.T) {
	poison := func(n int) string { return fmt.Sprintf("poison-%03d", n) }
	sets := func(count int) (sets []delivery.RRset) {
		for n := range count {
			sets = append(sets, makeRRset(poison(n), rdata.A, "192.0.2.66"))
		}
		return append(sets, makeRRset("www", rdata.A, "192.0.2.1"))
	}
	choking := startPeer(t, answerByPath("", func(owner string) (int, string) {
		if strings.HasPrefix(owner, "poison") {
			return 500, `{"success":false,"error":{"code":"SERVER_ERROR","message":"x"}}`
		}
		return 200, done
	}))
	provider := connectProvider(t, choking.URL, nil)
	for range 3 {
		if report, err := provider.Deliver(t.Context(), planOf(sets(600)...), passFence); err != nil || report.Confirmed != 2 ||
			len(report.Failed) != 600 {
			t.Fatalf("%d failed, confirmed %d: %v", len(report.Failed), report.Confirmed, err)
		}
	}
	silent := startPeer(t, silentAbout("poison"))
	defer webhook.SetLeast(200 * time.Millisecond)()
	const many = 13
	provider = connectProvider(t, silent.URL, func(c *webhook.Config) { c.Timeout = 800 * time.Millisecond })
	tried := map[string]bool{}
	for attempt := 0; len(tried) < many && attempt <= many/6+1; attempt++ {
		before := len(silent.describeRequests())
		report, err := provider.Deliver(t.Context(), planOf(sets(many)...), passFence)
		if err != nil || report.Confirmed != 2 || len(report.Failed) != many {
			t.Fatalf("attempt %d: %d failed, confirmed %d: %v", attempt, len(report.Failed), report.Confirmed, err)
		}
		for _, request := range silent.listRequests()[before:] {
			for n := range many {
				if attempt > 0 && strings.Contains(request.body, poison(n)) {
					tried[poison(n)] = true
				}
			}
		}
	}
	if len(tried) != many {
		t.Errorf("of %d RRsets that time out the later attempts tried %d: %v", many, len(tried), tried)
	}
}
