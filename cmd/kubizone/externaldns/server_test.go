// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/test/must"
)

// existingText lists a Record of the owner default.
const existingText = `{"kind":"RecordList","apiVersion":"kubi.zone/v1alpha1","metadata":{},"items":[{"metadata":{"name":"x","namespace":"a",
	"uid":"u","resourceVersion":"1","labels":{"kubi.zone/external-dns":"default"},"managedFields":[{"manager":"kubizone-external-dns"}],
	"annotations":{"kubi.zone/external-dns-resource":"ingress/a/x"}},
	"spec":{"domainName":"x.example.org.","type":"A","values":["192.0.2.1"]},"status":{"zoneRef":{"name":"z"}}}]}`

func runBefore(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	local := &rest.Config{Host: server.URL}
	out, output := io.Pipe()
	config := &Config{Mapping: externaldns.Mapping{Owner: "default"}, Listen: netip.MustParseAddrPort("127.0.0.1:0"),
		HealthListen: netip.MustParseAddrPort("127.0.0.1:0"), Records: local, Local: local, Out: output}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	serving := regexp.MustCompile(`^ready: serving external-dns on (\S+)`)
	for lines.Scan() {
		if found := serving.FindStringSubmatch(lines.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return found[1]
		}
	}
	t.Fatal("it does not serve")
	return ""
}

// inMemory is a transport that keeps deadlines; nil refuses connections.
type inMemory http.HandlerFunc

func (serve inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if serve == nil {
		return nil, syscall.ECONNREFUSED
	}
	answer := httptest.NewRecorder()
	serve(answer, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return answer.Result(), nil
}

func serveInMemory(t *testing.T, answer http.HandlerFunc) http.Handler {
	api := &rest.Config{Host: "http://api.test", Transport: inMemory(answer)}
	config := &Config{Mapping: externaldns.Mapping{Owner: "default"}, Search: true, Records: api, Local: api}
	return newHandler(t.Context(), must.Get(config.newProvider())(t))
}

func serveRequest(t *testing.T, by http.Handler, method, path, body string) *httptest.ResponseRecorder {
	sent := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	sent.Header.Set("Content-Type", contract.MediaType)
	sent.Header.Set("Accept", contract.MediaType)
	answer := httptest.NewRecorder()
	by.ServeHTTP(answer, sent)
	return answer
}

// E3, X4: whatever an unavailable API or a proxy before it answers, external-dns gets a 5xx or a correct answer
// within ten seconds, never an answer that makes it remove records.
func TestRun_whileTheServerIsAway(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	listAlone := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/records") {
				answer(http.StatusOK, existingText)(w, r)
				return
			}
			then(w, r)
		}
	}
	hanging := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	const moved = `{"dnsName":"x.example.org","recordType":"A","targets":["192.0.2.9"],"labels":{"resource":"ingress/a/x"}}`
	for what, c := range map[string]struct {
		answer http.HandlerFunc
		lists  bool
	}{
		"nothing listens":                 {nil, false},
		"503":                             {answer(http.StatusServiceUnavailable, "service unavailable"), false},
		"429":                             {answer(http.StatusTooManyRequests, "{}"), false},
		"401":                             {answer(http.StatusUnauthorized, "{}"), false},
		"403":                             {answer(http.StatusForbidden, `{"kind":"Status","code":403,"reason":"Forbidden"}`), false},
		"404, as without an APIService":   {answer(http.StatusNotFound, "404 page not found"), false},
		"200, of something else":          {answer(http.StatusOK, "<html>"), false},
		"no answer":                       {hanging, false},
		"a list, and 503 to all else":     {listAlone(answer(http.StatusServiceUnavailable, "")), true},
		"a list, and 500 to all else":     {listAlone(answer(http.StatusInternalServerError, "")), true},
		"a list, and no answer otherwise": {listAlone(hanging), true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				serving := serveInMemory(t, c.answer)
				for _, request := range []struct{ method, path, body, lists string }{
					{"GET", "/", "", "{}"},
					{"GET", "/records", "", `"targets":["192.0.2.1"]`},
					{"POST", "/adjustendpoints", "[" + moved + "]", `"targets":["192.0.2.1"]`},
					{"POST", "/records", `{"create":[` + strings.ReplaceAll(moved, "x.", "y.") + `],"delete":[` + moved + `]}`, ""},
				} {
					began := time.Now()
					answer := serveRequest(t, serving, request.method, request.path, request.body)
					text := answer.Body.String()
					message := fmt.Sprintf("%s %s after %s: %d %s", request.method, request.path, time.Since(began), answer.Code, text)
					if time.Since(began) > 10*time.Second {
						t.Error(message)
					}
					switch {
					case request.path == "/" || c.lists && request.lists != "":
						if answer.Code != http.StatusOK || !strings.Contains(text, request.lists) {
							t.Error(message)
						}
					case answer.Code < 500 || answer.Code > 510:
						t.Error(message)
					}
				}
			})
		})
	}
}

// If several objects want the same name, external-dns joins all their targets under one object. A tenant could thus put
// an address into another's RRset. So targets that the named object does not contain are dropped, and if the object
// cannot be read, the name is left out.
func TestRun_takesJoinedTargetsAway(t *testing.T) {
	t.Parallel()
	var code atomic.Int32 // of the object
	url := runBefore(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces/a/records") && r.URL.Query().Has("dryRun"):
			_, _ = io.WriteString(w, `{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","status":{"zoneRef":{"name":"z"}}}`)
		case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/records"):
			_, _ = io.WriteString(w, `{"kind":"RecordList","apiVersion":"kubi.zone/v1alpha1","items":[]}`)
		case strings.HasSuffix(r.URL.Path, "/ingresses/x"):
			w.WriteHeader(int(code.Load()))
			_, _ = io.WriteString(w, `{"kind":"Ingress","apiVersion":"networking.k8s.io/v1",
				"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	for _, step := range []struct {
		code   int32
		wanted string
	}{{http.StatusServiceUnavailable, `[]`}, {http.StatusForbidden, `[]`}, {http.StatusOK, `"targets":["192.0.2.1"]`}} {
		code.Store(step.code)
		joined := fmt.Sprintf(`[{"dnsName":"y%d.org","recordType":"A","targets":["192.0.2.1","203.0.113.6"],
			"labels":{"resource":"ingress/a/x"}}]`, step.code) // refusals are cached by name
		code, text := sendPost(t, url+"/adjustendpoints", joined)
		if !strings.Contains(text, step.wanted) || strings.Contains(text, "203.0.113.6") {
			t.Errorf("%d: %d %s, want %s", step.code, code, text, step.wanted)
		}
	}
}

func sendPost(t *testing.T, url, body string) (code int, text string) {
	t.Helper()
	answer := must.Get(http.Post(url, contract.MediaType, strings.NewReader(body)))(t)
	defer answer.Body.Close()
	return answer.StatusCode, string(must.Get(io.ReadAll(answer.Body))(t))
}

// cluster answers Records with existingText, dry runs and changes with success.
type cluster struct {
	answer func(w http.ResponseWriter, r *http.Request) bool
	events chan *eventsv1.Event
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case c.answer(w, r):
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/records"):
		_, _ = io.WriteString(w, existingText)
	case strings.HasSuffix(r.URL.Path, "/events"):
		var event eventsv1.Event
		_ = json.NewDecoder(r.Body).Decode(&event)
		c.events <- &event
		_, _ = io.WriteString(w, `{"kind":"Event","apiVersion":"events.k8s.io/v1"}`)
	case r.Method == http.MethodPatch || r.Method == http.MethodPost:
		_, _ = io.WriteString(w, `{"kind":"Record","apiVersion":"kubi.zone/v1alpha1","status":{"zoneRef":{"name":"z"}}}`)
	default:
		_, _ = io.WriteString(w, `{"kind":"Thing","apiVersion":"v1","metadata":{"uid":"u"}}`)
	}
}

func (c *cluster) waitForEvent(t *testing.T) *eventsv1.Event {
	t.Helper()
	select {
	case event := <-c.events:
		return event
	case <-time.After(time.Minute):
		t.Fatal("there is no Event")
		return nil
	}
}

func statusOf(code int, reason string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"reason":%q,"message":"no"}`, code, reason)
}

// A Record stays while its own object wants the name, and follows that object, whichever object the joined endpoint
// names (attack: another namespace's Service that sorts first). The object gets an Event.
func TestRun_asksTheObjectOfAnExistingRecord(t *testing.T) {
	t.Parallel()
	ingress := func(host, status string) string {
		return `{"kind":"Ingress","metadata":{"uid":"u"},"spec":{"rules":[{"host":"` + host + `"}]},
			"status":{"loadBalancer":{"ingress":[{"ip":"` + status + `"}]}}}`
	}
	const applied = `{"kind":"Ingress","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"x.example.org"}},
		"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`
	const stays, moves, goes = `"targets":["192.0.2.1"]`, `"targets":["192.0.2.9"]`, `[]`
	for name, step := range map[string]struct {
		code          int
		object        string
		wanted, event string
	}{
		"it has moved":        {200, ingress("x.example.org", "192.0.2.9"), moves, "NameKept"},
		"it has not changed":  {200, ingress("x.example.org", "192.0.2.1"), stays, "NameKept"},
		"it has no address":   {200, ingress("x.example.org", ""), stays, "NameRefused"},
		"it has another name": {200, ingress("y.example.org", "192.0.2.1"), goes, ""},
		"it had the name":     {200, applied, goes, ""},
		"it is gone":          {404, statusOf(404, "NotFound"), goes, ""},
		"no such API":         {404, "404 page not found", stays, ""},
		"it may not be read":  {403, statusOf(403, "Forbidden"), stays, ""},
		"it cannot be read":   {503, "", stays, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{events: make(chan *eventsv1.Event, 10), answer: func(w http.ResponseWriter, r *http.Request) bool {
				if strings.HasSuffix(r.URL.Path, "/namespaces/a/ingresses/x") {
					w.WriteHeader(step.code)
					_, _ = io.WriteString(w, step.object)
					return true
				}
				return false
			}}
			_, text := sendPost(t, runBefore(t, c.ServeHTTP)+"/adjustendpoints", `[{"dnsName":"x.example.org","recordType":"A",
				"targets":["192.0.2.9","203.0.113.66"],"labels":{"resource":"service/a-first/x"}}]`)
			if !strings.Contains(text, step.wanted) || strings.Contains(text, "203.0.113.66") || strings.Contains(text, "a-first") {
				t.Errorf("%s, want %s", text, step.wanted)
			}
			for reported := false; step.event != "" && !reported; {
				event := c.waitForEvent(t)
				reported = event.Namespace == "a" && event.Reason == step.event && strings.HasPrefix(event.Note, "x.example.org A: ")
				if strings.Contains(event.Note, "a-first") {
					t.Errorf("a foreign object is named: %s", event.Note)
				}
			}
		})
	}
}

// E2: a refusal by the API fails no cycle, which would hide the metrics and Events of all namespaces, and the object
// gets an Event. An unavailable API fails the cycle.
func TestRun_failsForNoAnswer(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]struct {
		code  int
		body  string
		want  int
		event bool
	}{
		"refused":               {403, statusOf(403, "Forbidden"), 204, true},
		"invalid":               {422, statusOf(422, "Invalid"), 204, true},
		"the budget is used up": {429, statusOf(429, "TooManyRequests"), 204, false},
		"it has changed":        {409, statusOf(409, "Conflict"), 204, false},
		"the API is busy":       {429, "Too many requests, please try again later.", 500, false},
		"no APIService":         {404, "404 page not found", 500, false},
		"no token":              {401, statusOf(401, "Unauthorized"), 500, false},
		"an error":              {500, statusOf(500, "InternalError"), 500, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{events: make(chan *eventsv1.Event, 10), answer: func(w http.ResponseWriter, r *http.Request) bool {
				path := r.URL.Path
				if r.Method == http.MethodGet || strings.HasSuffix(path, "/events") || strings.Contains(path, "/namespaces/fine/") {
					return false
				}
				w.WriteHeader(step.code)
				_, _ = io.WriteString(w, step.body)
				return true
			}}
			url := runBefore(t, c.ServeHTTP) + "/records"
			endpoint := func(name, namespace string) string {
				return fmt.Sprintf(`[{"dnsName":"%s.example.org","recordType":"A","targets":["192.0.2.1"],
					"labels":{"resource":"service/%s/x"}}]`, name, namespace)
			}
			for what, body := range map[string]string{
				"create": `{"create":` + endpoint("y", "b") + `}`,
				"update": `{"updateOld":` + endpoint("x", "a") + `,"updateNew":` + endpoint("x", "a") + `}`,
				"delete": `{"delete":` + endpoint("x", "a") + `}`,
			} {
				send := func() {
					if code, text := sendPost(t, url, body); code != step.want {
						t.Errorf("%s: %d %s, want %d", what, code, text, step.want)
					}
				}
				send()
				for reported, end := !step.event, time.Now().Add(time.Minute); !reported; {
					select {
					case event := <-c.events:
						if reported = true; event.Reason != "NameRefused" {
							t.Errorf("%s: %+v", what, event)
						}
					case <-time.After(50 * time.Millisecond):
						if time.Now().After(end) {
							t.Fatalf("%s: there is no Event", what)
						}
						send() // the former cycle still sends Events; a later cycle continues
					}
				}
			}
			noForm := strings.Replace(endpoint("n", "fine"), "{", `{"setIdentifier":"x",`, 1)
			for _, one := range []string{endpoint("z", "fine"), noForm} {
				if code, text := sendPost(t, url, `{"create":`+one+`}`); code != http.StatusNoContent {
					t.Errorf("%s: %d %s", one, code, text)
				}
			}
		})
	}
}

// To replace a Record by a Record of another type, external-dns asks for a deletion and a creation, which go into a
// single change set. If the old Record is already gone, the set is refused, so nothing is created, and an Event reports
// it.
func TestRun_reportsAReplacementThatIsNotMade(t *testing.T) {
	t.Parallel()
	c := &cluster{events: make(chan *eventsv1.Event, 10), answer: func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/changesets") {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, statusOf(404, "NotFound"))
		return true
	}}
	code, text := sendPost(t, runBefore(t, c.ServeHTTP)+"/records", `{
		"create":[{"dnsName":"x.example.org","recordType":"CNAME","targets":["y.example.org"],"labels":{"resource":"ingress/a/x"}}],
		"delete":[{"dnsName":"x.example.org","recordType":"A","targets":["192.0.2.1"],"labels":{"resource":"ingress/a/x"}}]}`)
	if event := c.waitForEvent(t); code != http.StatusNoContent || event.Note != "x.example.org CNAME: no" {
		t.Errorf("%d %s, %+v", code, text, event)
	}
}

// The dry run may accept a name that the write then refuses: with the policy upsert-only, for example, an existing
// CNAME stays, and an address beside it is refused each time. Such a name is left out of the next cycles, and an Event
// gives the reason.
func TestRun_leavesOutWhatTheWriteRefused(t *testing.T) {
	t.Parallel()
	c := &cluster{events: make(chan *eventsv1.Event, 10), answer: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/records") || r.URL.Query().Has("dryRun") {
			return false
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, statusOf(422, "Invalid"))
		return true
	}}
	url := runBefore(t, c.ServeHTTP)
	wanted := `[{"dnsName":"y.example.org","recordType":"A","targets":["192.0.2.1"],"labels":{"resource":"service/a/y"}}]`
	if _, text := sendPost(t, url+"/adjustendpoints", wanted); !strings.Contains(text, "y.example.org") {
		t.Errorf("before: %s", text)
	}
	if code, text := sendPost(t, url+"/records", `{"create":`+wanted+`}`); code != http.StatusNoContent {
		t.Errorf("%d %s", code, text)
	}
	if _, text := sendPost(t, url+"/adjustendpoints", wanted); strings.Contains(text, "y.example.org") {
		t.Errorf("afterwards: %s", text)
	}
	if event := c.waitForEvent(t); event.Note != "y.example.org A: no" {
		t.Errorf("%+v", event)
	}
}

// In each cycle the webhook sends Events for at most fairShare refused names of a namespace, so a namespace with very
// many refused names cannot use up the Events of others. The next cycle continues with further names (E2).
func TestRun_reportsToEachNamespaceItsShare(t *testing.T) {
	t.Parallel()
	const many = 1000
	var endpoints []string
	add := func(name, namespace string) {
		endpoints = append(endpoints, fmt.Sprintf(`{"dnsName":"%s.example.org","recordType":"A","targets":["192.0.2.1"],"setIdentifier":"x",
			"labels":{"resource":"ingress/%s/x"}}`, name, namespace))
	}
	for i := range many {
		add(fmt.Sprintf("a%d", i), "mallory")
	}
	for i := range 3 {
		add(fmt.Sprintf("z%d", i), "victim")
	}
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{events: make(chan *eventsv1.Event, 3*many), answer: func(http.ResponseWriter, *http.Request) bool { return false }}
		serving := serveInMemory(t, c.ServeHTTP)
		notes := map[string]bool{}
		for cycle := 1; cycle <= 2; cycle++ {
			serveRequest(t, serving, "POST", "/adjustendpoints", "["+strings.Join(endpoints, ",")+"]")
			synctest.Wait()
			last := 0 // of the victim
			for i := 0; len(c.events) > 0; i++ {
				event := <-c.events
				notes[event.Note] = true
				if event.Namespace == "victim" {
					last = i
				}
			}
			if last > 5 {
				t.Errorf("the last Event of the victim is number %d", last+1)
			}
			if want := cycle*fairShare + 3; len(notes) != want {
				t.Errorf("cycle %d: %d Events, want %d", cycle, len(notes), want)
			}
		}
	})
}

// E2: 5,000 refused or unanswered names of a namespace keep no name of 39 others out of the answer. Refusals delay the
// answer by at most a tenth.
func TestRun_isFair(t *testing.T) {
	t.Parallel()
	const others, each, latency = 39, 25, 10 * time.Millisecond
	var endpoints, noise []string
	add := func(to *[]string, name, namespace string) {
		*to = append(*to, fmt.Sprintf(`{"dnsName":"%s.example.org","recordType":"A","targets":["192.0.2.1"],
			"labels":{"resource":"ingress/%s/x"}}`, name, namespace))
	}
	for i := range others * each {
		add(&endpoints, fmt.Sprintf("h%d", i), fmt.Sprintf("tenant-%d", i%others))
	}
	for i := range 5_000 {
		add(&noise, fmt.Sprintf("n%d", i), "noisy")
	}
	// decide returns the time until an answer has all names of the others.
	decide := func(t *testing.T, wanted []string, aboutNoise http.HandlerFunc) (elapsed time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			c := &cluster{events: make(chan *eventsv1.Event, fairShare), answer: func(w http.ResponseWriter, r *http.Request) bool {
				if !r.URL.Query().Has("dryRun") {
					return false
				}
				select {
				case <-time.After(latency):
				case <-r.Context().Done():
				}
				if strings.Contains(r.URL.Path, "/namespaces/noisy/") {
					aboutNoise(w, r)
					return true
				}
				return false
			}}
			began := time.Now()
			answer := serveRequest(t, serveInMemory(t, c.ServeHTTP), "POST", "/adjustendpoints", "["+strings.Join(wanted, ",")+"]")
			elapsed = time.Since(began)
			for i := range others * each {
				if !strings.Contains(answer.Body.String(), fmt.Sprintf(`"h%d.example.org"`, i)) {
					t.Fatalf("after %s the answer %d lacks h%d", elapsed, answer.Code, i)
				}
			}
		})
		return elapsed
	}
	alone := decide(t, endpoints, nil)
	all := append(noise, endpoints...)
	if elapsed := decide(t, all, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, statusOf(403, "Forbidden"))
	}); elapsed > alone+alone/10 {
		t.Errorf("the answer takes %s, and %s without the refusals", elapsed, alone)
	}
	decide(t, all, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

// The targets of an object are those that external-dns publishes for it, and the address of a Service in the cluster
// only if its type or the annotation says so. Those of a DNSEndpoint are of the name and type of the endpoint alone.
func TestReadTexts_targets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, object, targets string }{
		{"service", `{"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.7","externalIPs":["192.0.2.2"]},
			"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"},{"hostname":"lb.org"}]}}}`, "192.0.2.2 192.0.2.1 lb.org"},
		{"service", `{"spec":{"type":"ClusterIP","clusterIP":"10.96.0.7"}}`, "10.96.0.7"},
		{"service", `{"spec":{"type":"ExternalName","externalName":"x.org"}}`, "x.org"},
		{"service", `{"metadata":{"annotations":{"external-dns.alpha.kubernetes.io/internal-hostname":"in.org"}},
			"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.7"}}`, ""},
		{"service", `{"metadata":{"annotations":{"external-dns.alpha.kubernetes.io/internal-hostname":"in.org, A.org"}},
			"spec":{"type":"LoadBalancer","clusterIP":"10.96.0.7"}}`, "10.96.0.7"},
		{"pod", `{"spec":{"containers":[{"env":[{"value":"203.0.113.6"}]}]},"status":{"podIP":"10.0.0.9"}}`, "10.0.0.9"},
		{"ingress", `{"metadata":{"annotations":{"external-dns.kubernetes.io/target":"192.0.2.3","note":"203.0.113.6"}}}`,
			"192.0.2.3"},
		{"route", `{"status":{"ingress":[{"host":"a.org","routerCanonicalHostname":"router.org"}]}}`, "router.org"},
		{"crd", `{"spec":{"endpoints":[{"dnsName":"a.org","recordType":"A","targets":["192.0.2.1"]},
			{"dnsName":"a.org","recordType":"AAAA","targets":["2001:db8::1"]},
			{"dnsName":"other","recordType":"A","targets":["192.0.2.2"]}]}}`, "192.0.2.1"},
	} {
		api := &rest.Config{Host: "http://api.test", Transport: inMemory(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Object",`+c.object[1:])
		})}
		p := must.Get((&Config{Records: api, Local: api}).newProvider())(t)
		texts := must.Get(p.readTexts(t.Context(), &externaldns.Candidate{Endpoint: &contract.Endpoint{DNSName: "A.org.", RecordType: "A"},
			Resource: externaldns.Resource{Kind: c.kind, Namespace: "a", Name: "x"}}))(t)
		if got := strings.Join(texts.Targets, " "); got != c.targets ||
			c.kind == "crd" && (len(texts.All) != 3 || !slices.Contains(texts.Hosts, "a.org")) {
			t.Errorf("%s %s: %q, want %q", c.kind, c.object, texts, c.targets)
		}
	}
}
