// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// hostile contains markup, a script, terminal escapes and characters that reverse the text's direction.
const hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202eowned\u2066\x1b[31m\x07\u0085"

// api is an API server whose zone is hostile. Requests are refused while forbidden.
type api struct {
	forbidden bool
	// unfollowed has the verbs refused to lists by their namespace, "" for all.
	unfollowed map[string]string
	// values is the number of additional values in each step. If masked, the user may not read users of all namespaces.
	values   int
	masked   bool
	fqdn     string // of the zone, the entry and the Record, by default hostile
	mu       sync.Mutex
	requests []string
	serial   int64
	changed  chan struct{}
}

func (a *api) makeZone() *v1alpha1.Zone {
	a.mu.Lock()
	defer a.mu.Unlock()
	zone := &v1alpha1.Zone{TypeMeta: metav1.TypeMeta{Kind: "Zone", APIVersion: "kubi.zone/v1alpha1"}}
	zone.Namespace, zone.Name, zone.UID = "team", "zone", "u"
	zone.Spec.DomainName = hostile
	zone.Spec.Delegations = []v1alpha1.DelegationRule{{Namespace: "other", Records: []v1alpha1.RecordDelegation{{Pattern: hostile,
		Types: []string{hostile}}}, Zones: []string{hostile}}}
	zone.Status.FQDN, zone.Status.View, zone.Status.Serial, zone.Status.SettledSerial = cmp.Or(a.fqdn, hostile), hostile, a.serial, a.serial
	zone.Status.DNSSEC = &v1alpha1.ZoneDNSSECStatus{Phase: v1alpha1.DNSSECSigned, Message: hostile, Policy: hostile,
		DS: []v1alpha1.DelegationSigner{{Digest: hostile}}}
	zone.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: hostile,
		Message: hostile}}
	return zone
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests = append(a.requests, r.Method+" "+r.URL.String())
	serial := a.serial
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(code int, object any) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(object)
	}
	refuse := func(code int, reason metav1.StatusReason) {
		answer(code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Message: hostile, Reason: reason, Code: int32(code)})
	}
	list := func(kind string, items ...any) {
		answer(http.StatusOK, map[string]any{"kind": kind + "List", "apiVersion": "kubi.zone/v1alpha1", "items": items,
			"metadata": map[string]any{"resourceVersion": fmt.Sprint(serial)}})
	}
	entry := v1alpha1.Entry{FQDN: cmp.Or(a.fqdn, hostile), Type: "TXT", TTL: 60, RData: hostile + strings.Repeat("x", 64<<10),
		Sources: []v1alpha1.RecordReference{{Namespace: "team", Name: hostile}}}
	record := &v1alpha1.Record{}
	record.Namespace, record.Name, record.Status.FQDN = "other", "record", cmp.Or(a.fqdn, hostile)
	record.Spec.Type, record.Spec.Values = hostile, slices.Repeat([]string{hostile + strings.Repeat("x", 64<<10)}, 5)
	record.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAdopted, Status: metav1.ConditionFalse, Reason: hostile,
		Message: hostile}}
	delivery := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Zone: v1alpha1.DeliveredZone{Name: "zone", UID: "u"},
		ClassRef: v1alpha1.DNSClassReference{Name: hostile}}, Status: v1alpha1.DeliveryStatus{Error: &v1alpha1.DeliveryError{
		Message: hostile}, Servers: []v1alpha1.DeliveryServer{{Name: hostile, Message: hostile, State: v1alpha1.ServerFailed}}}}
	delegation := &v1alpha1.Delegation{Spec: v1alpha1.DelegationSpec{Namespaces: []string{hostile}}}
	switch path := strings.TrimPrefix(r.URL.Path, "/apis/kubi.zone/v1alpha1"); {
	case a.forbidden:
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case a.unfollowed != nil && strings.HasSuffix(path, "/zones") && a.unfollowed[cutBetween(path, "/namespaces/", "/")] == verbOf(r):
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case r.URL.Query().Get("watch") == "true":
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-a.changed:
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "MODIFIED", "object": a.makeZone()})
		}
	case strings.HasSuffix(path, "/entries"):
		answer(http.StatusOK, &v1alpha1.ZoneEntries{TypeMeta: metav1.TypeMeta{Kind: "ZoneEntries", APIVersion: "kubi.zone/v1alpha1"},
			Serial: serial, Entries: []v1alpha1.Entry{entry}})
	case strings.HasSuffix(path, "/changes"):
		a.serveHistory(w, r)
	case strings.HasSuffix(path, "/zones/zone"):
		answer(http.StatusOK, a.makeZone())
	case strings.HasSuffix(path, "/zones"):
		list("Zone", a.makeZone())
	case strings.HasSuffix(path, "/records") && r.Method == http.MethodPost:
		w.Header().Set("Warning", `299 - "owned`+"\u202e"+`"`)
		refuse(http.StatusForbidden, metav1.StatusReasonForbidden)
	case strings.HasSuffix(path, "/records/record"):
		answer(http.StatusOK, record)
	case strings.HasSuffix(path, "/records"):
		list("Record", record)
	case strings.HasSuffix(path, "/deliveries"):
		list("Delivery", delivery)
	case strings.HasSuffix(path, "/delegations"):
		list("Delegation", delegation)
	case strings.HasSuffix(path, "/dnsclasses"):
		list("DNSClass", &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: hostile}, Spec: v1alpha1.DNSClassSpec{Paused: true}})
	case strings.HasSuffix(path, "/namereviews"):
		answer(http.StatusCreated, &v1alpha1.NameReview{TypeMeta: metav1.TypeMeta{Kind: "NameReview", APIVersion: "kubi.zone/v1alpha1"},
			Status: v1alpha1.NameReviewStatus{Allowed: true, Zone: hostile, Rule: hostile, Contact: hostile, Warnings: []string{hostile}}})
	default:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

type browser struct {
	*http.Client
	t        *testing.T
	api      *api
	door     *door
	origin   string
	cookie   *http.Cookie
	reported func() string
}

func startConsole(t *testing.T) *browser {
	t.Helper()
	served := &api{serial: 7, changed: make(chan struct{}, 1)}
	server := httptest.NewServer(served)
	t.Cleanup(server.Close)
	r := must.Get(newReading(&rest.Config{Host: server.URL}, "", "team"))(t)
	listener := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(t)
	var mu sync.Mutex
	var reports strings.Builder
	d := newDoor(listener.Addr().String(), filepath.Join(t.TempDir(), "open.html"), func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&reports, format+"\n", args...)
	})
	console := &http.Server{Handler: d.guardPages(newSite(r, d).serveRequest)}
	go func() { _ = console.Serve(listener) }()
	t.Cleanup(func() { _ = console.Close() })
	b := &browser{Client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		t: t, api: served, door: d, origin: "http://" + d.host, reported: func() string {
			mu.Lock()
			defer mu.Unlock()
			return reports.String()
		}}
	response := must.Get(b.Get(must.Get(d.renew())(t)))(t)
	response.Body.Close()
	if cookies := response.Cookies(); len(cookies) == 1 {
		b.cookie = cookies[0]
	} else {
		t.Fatalf("the address that opens the console: %s, %d cookies", response.Status, len(cookies))
	}
	return b
}

// sendRequest sends a request with the cookie, changed by change. A stream without an end fails it after a minute.
func (b *browser) sendRequest(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	request := must.Get(http.NewRequestWithContext(ctx, method, b.origin+path, strings.NewReader(body)))(b.t)
	request.AddCookie(b.cookie)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if change != nil {
		change(request)
	}
	response := must.Get(b.Do(request))(b.t)
	defer response.Body.Close()
	return response, string(must.Get(io.ReadAll(response.Body))(b.t))
}

func (b *browser) readPage(path string) string {
	b.t.Helper()
	response, text := b.sendRequest(http.MethodGet, b.door.base+path, "", nil)
	if response.StatusCode != http.StatusOK {
		b.t.Fatalf("%s: %s\n%s", path, response.Status, text)
	}
	return text
}

func (b *browser) formToken() string {
	return b.door.session(&http.Request{Header: http.Header{"Cookie": {b.cookie.String()}}})
}

// The console opens a browser session by a token in its address. A token is valid for one use and about a minute; a
// second or late use is refused, and the console reports it on the terminal, since the address may have leaked (C2).
func TestDoor_admitsOnceAndForAMinute(t *testing.T) {
	b := startConsole(t)
	if c := b.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != b.door.base+"/" || c.Domain != "" {
		t.Errorf("the cookie: %s", c)
	}
	open := func(address string) int {
		response := must.Get(b.Get(address))(t)
		defer response.Body.Close()
		if body := must.Get(io.ReadAll(response.Body))(t); response.StatusCode != http.StatusOK && len(body) > 0 {
			t.Errorf("%s: %s with a body of %d octets", address, response.Status, len(body))
		}
		return response.StatusCode
	}
	fresh := must.Get(b.door.renew())(t)
	if got := open(fresh); got != http.StatusOK {
		t.Fatalf("a fresh token: %d", got)
	}
	if said := b.reported(); said != "" {
		t.Errorf("the first use told %q", said)
	}
	if got := open(fresh); got != http.StatusUnauthorized || !strings.Contains(b.reported(), "a second time") {
		t.Errorf("the second use: %d, told %q", got, b.reported())
	}
	late := must.Get(b.door.renew())(t)
	b.door.mu.Lock()
	b.door.tokenTime = time.Now().Add(-tokenAge)
	b.door.mu.Unlock()
	if got := open(late); got != http.StatusUnauthorized {
		t.Errorf("after a minute: %d", got)
	}
	if got := open(b.origin + b.door.base + "/open?token="); got != http.StatusUnauthorized {
		t.Errorf("no token: %d", got)
	}
	// The file has the token in force, for its user alone.
	must.Get(b.door.renew())(t)
	info := must.Get(os.Stat(b.door.file))(t)
	text := string(must.Get(os.ReadFile(b.door.file))(t))
	if at := regexp.MustCompile(`url=(http://[^"]+)"`).FindStringSubmatch(text); info.Mode().Perm() != 0o600 || at == nil ||
		open(at[1]) != http.StatusOK {
		t.Errorf("the file of mode %s:\n%s", info.Mode(), text)
	}
}

// Each address of the console that the command prints opens it.
func TestRun_printsAddressesThatOpen(t *testing.T) {
	server := httptest.NewServer(&api{serial: 7, changed: make(chan struct{}, 1)})
	t.Cleanup(server.Close)
	kubeconfig := must.WriteKubeconfig(t, server.URL)
	r, w := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, r) }()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	command := NewCommand()
	command.SetArgs([]string{"--no-browser", "--kubeconfig", kubeconfig})
	command.SetIn(strings.NewReader(""))
	command.SetOut(w)
	go func() { ended <- command.ExecuteContext(ctx); _ = w.Close() }()
	var printed strings.Builder // the console answers after its last line
	for lines := bufio.NewScanner(r); lines.Scan() && !strings.HasPrefix(lines.Text(), "or at any time"); {
		printed.WriteString(strings.ReplaceAll(lines.Text(), server.URL, "") + "\n")
	}
	addresses := regexp.MustCompile(`http://\S+`).FindAllString(printed.String(), -1)
	for _, address := range addresses {
		response := must.Get(http.Get(address))(t)
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", address, response.Status)
		}
	}
	if len(addresses) == 0 {
		t.Errorf("no address is printed:\n%s", printed.String())
	}
}

// The console writes the address into a file, and later replaces and removes this file. So only a new file is accepted:
// an existing file or link would be lost.
func TestOpenFile_isNew(t *testing.T) {
	dir := t.TempDir()
	kept, link, fresh := filepath.Join(dir, "kept"), filepath.Join(dir, "link"), filepath.Join(dir, "fresh")
	must.Succeed(t, errors.Join(os.WriteFile(kept, []byte("precious"), 0o600), os.Symlink(filepath.Join(dir, "nowhere"), link)))
	for path, want := range map[string]string{kept: "remove it, or name another", link: "remove it, or name another",
		filepath.Join(dir, "none", "file"): "name a new file in a directory"} {
		if _, err := (&options{file: path}).placeFile(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if text := must.Get(os.ReadFile(kept))(t); string(text) != "precious" {
		t.Errorf("the file has %q", text)
	}
	at := must.Get((&options{file: fresh}).placeFile())(t)
	if info := must.Get(os.Stat(at))(t); at != fresh || info.Mode().Perm() != 0o600 {
		t.Errorf("%s of mode %s", at, info.Mode())
	}
}

// C2, C3
func TestDoor_answersNobodyElse(t *testing.T) {
	b := startConsole(t)
	base := b.door.base
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	stranger := header("Cookie", cookieName+"=guess")
	other := "http://127.0.0.1:1"
	address := must.Get(b.door.renew())(t)
	opening := strings.TrimPrefix(address, b.origin)
	form := url.Values{"form": {b.formToken()}, "namespace": {"team"}, "name": {"a"}, "type": {"A"}}.Encode()
	for _, one := range []struct {
		what, method, path, body string
		change                   func(*http.Request)
		want                     int
	}{
		{"the root without a cookie", "GET", "/", "", stranger, 401},
		{"the overview without a cookie", "GET", base + "/", "", stranger, 401},
		{"a path of nobody", "GET", "/nowhere", "", stranger, 401},
		{"a file without a cookie", "GET", base + "/files/style.css", "", stranger, 401},
		{"a stream without a cookie", "GET", base + "/live/", "", stranger, 401},
		{"a form without a cookie", "POST", base + "/may", form, stranger, 401},
		{"a rebound host", "GET", base + "/", "", func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"a rebound host without a cookie", "GET", base + "/", "", func(r *http.Request) { r.Host = "evil.example"; stranger(r) }, 401},
		{"another name of the machine", "GET", base + "/", "", func(r *http.Request) {
			r.Host = strings.Replace(b.door.host, "127.0.0.1", "localhost", 1)
		}, 403},
		{"another site", "GET", base + "/", "", header("Sec-Fetch-Site", "cross-site"), 403},
		{"a page on another port", "GET", base + "/", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"the stream to another port", "GET", base + "/live/", "", header("Sec-Fetch-Site", "same-site"), 403},
		{"the stream to another origin", "GET", base + "/live/", "", header("Origin", other), 403},
		{"a form of another port", "POST", base + "/may", form, header("Origin", other), 403},
		{"a form of a sandbox", "POST", base + "/may", form, header("Origin", "null"), 403},
		{"a form without its token", "POST", base + "/may", "namespace=team", nil, 403},
		{"a form with another token", "POST", base + "/may", "form=x&namespace=team", nil, 403},
		{"another method", "DELETE", base + "/", "", nil, 405},
		{"the token in a frame", "GET", opening, "", func(r *http.Request) { stranger(r); r.Header.Set("Sec-Fetch-Dest", "iframe") }, 401},
		{"the token by a script", "GET", opening, "", func(r *http.Request) { stranger(r); r.Header.Set("Sec-Fetch-Mode", "cors") }, 401},
		{"the token in a prefetch", "GET", opening, "", func(r *http.Request) {
			stranger(r)
			r.Header.Set("Sec-Purpose", "prefetch")
		}, 401},
		{"the token with another host", "GET", opening, "", func(r *http.Request) { stranger(r); r.Host = "evil.example" }, 401},
		{"the token by a form", "POST", opening, "", stranger, 401},
	} {
		response, body := b.sendRequest(one.method, one.path, one.body, one.change)
		if response.StatusCode != one.want || body != "" {
			t.Errorf("%s: %s, want %d; a body of %d octets: %.80s", one.what, response.Status, one.want, len(body), body)
		}
	}
	// None of these has used the token.
	if response, _ := b.sendRequest(http.MethodGet, opening, "", stranger); response.StatusCode != http.StatusOK || b.reported() != "" {
		t.Errorf("the token afterwards: %s, told %q", response.Status, b.reported())
	}
	own := func(r *http.Request) {
		r.Header.Set("Origin", "null")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if response, _ := b.sendRequest(http.MethodPost, base+"/may", form, own); response.StatusCode != http.StatusOK {
		t.Errorf("a form of a page without a referrer: %s", response.Status)
	}
	if response, _ := b.sendRequest(http.MethodGet, "/", "", nil); response.Header.Get("Location") != base+"/" {
		t.Errorf("the root with the cookie: %s", response.Status)
	}
}

var (
	scripts   = regexp.MustCompile(`<script[^>]*>`)
	ours      = regexp.MustCompile(`^<script src="/[\w-]{22}/files/[\w.-]+\.js" defer>$`)
	dangerous = regexp.MustCompile(`(?i)<img|onerror=[^&]*alert\(2\)>|<style|style="|\son\w+="|javascript:|src="http|href="http`)
)

// Data in objects is written by tenants and may contain markup or scripts. Every page and form of the console shows
// such hostile data as plain text, and loads nothing from elsewhere (C4, C6).
func TestPages_takeNoTextAsMarkup(t *testing.T) {
	b := startConsole(t)
	for _, path := range []string{"/", "/zones", "/zones?name=" + url.QueryEscape("<b>"), "/zones/team/zone", "/zones/team/zone?search=" +
		url.QueryEscape(hostile), "/zones/team/zone/history", "/zones/team/zone/history?from=1&to=7", "/zones/team/zone/delivery",
		"/zones/team/zone/rules", "/zones/team/zone/dnssec",
		"/records", "/records?state=waiting&namespace=" + url.QueryEscape(hostile), "/records?list=0&continue=" + url.QueryEscape(hostile),
		"/name", "/name?text=record/record&namespace=other", "/name?text=zone/zone&namespace=" + url.QueryEscape(hostile),
		"/name?text=" + url.QueryEscape(hostile), "/may",
		"/plan"} {
		response, text := b.sendRequest(http.MethodGet, b.door.base+path, "", nil)
		b.expectTame(path, response, text)
	}
	for path, fields := range map[string]url.Values{
		"/may": {"namespace": {"team"}, "name": {hostile}, "type": {"TXT"}, "data": {hostile}, "view": {hostile}},
		"/plan": {"text": {"apiVersion: kubi.zone/v1alpha1\r\nkind: Record\r\nmetadata: {name: \"" + "<b>" + "\"}\r\nspec: {}\r\n"},
			"zone": {""}},
	} {
		fields.Set("form", b.formToken())
		response, text := b.sendRequest(http.MethodPost, b.door.base+path, fields.Encode(), nil)
		b.expectTame("POST "+path, response, text)
		if strings.Contains(text, `\r`) || strings.Contains(text, "did not find expected key") {
			t.Errorf("%s shows the line ends that browsers send:\n%s", path, text)
		}
	}
}

func (b *browser) expectTame(what string, response *http.Response, text string) {
	b.t.Helper()
	if response.StatusCode != http.StatusOK {
		b.t.Errorf("%s: %s\n%s", what, response.Status, text)
		return
	}
	if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); at >= 0 {
		b.t.Errorf("%s: octet %d is not escaped: %q", what, at, text[max(0, at-60):min(len(text), at+20)])
	}
	for _, tag := range scripts.FindAllString(text, -1) {
		if !ours.MatchString(tag) {
			b.t.Errorf("%s: a script of others: %s", what, tag)
		}
	}
	if found := dangerous.FindString(text); found != "" {
		b.t.Errorf("%s: %q", what, found)
	}
	if len(text) > 200<<10 {
		b.t.Errorf("%s has %d octets", what, len(text))
	}
	h := response.Header
	if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'; ") || strings.Contains(h.Get("Content-Security-Policy"),
		"unsafe") || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
		b.t.Errorf("%s: headers %v", what, h)
	}
}

// C5: the right is named, and nothing of objects.
func TestPages_nameTheMissingRight(t *testing.T) {
	b := startConsole(t)
	b.api.forbidden = true
	for path, want := range map[string]string{
		"/zones/search?search=www":                   "you lack the right to list zones in namespace team",
		"/zones":                                     "you lack the right to list zones in namespace team",
		"/zones/team/zone":                           "you lack the right to get zones in namespace team",
		"/zones/team/nothing":                        "you lack the right to get zones in namespace team",
		"/zones/team/zone/delivery":                  "you lack the right to get zones in namespace team",
		"/zones/elsewhere/zone/rules":                "you lack the right to get zones in namespace elsewhere",
		"/records":                                   "you lack the right to list records in namespace team",
		"/records?namespace=elsewhere&state=waiting": "you lack the right to list records in namespace elsewhere",
	} {
		response, text := b.sendRequest(http.MethodGet, b.door.base+path, "", nil)
		if response.StatusCode != http.StatusForbidden || !strings.Contains(text, want) || strings.Contains(text, "owned") {
			t.Errorf("%s: %s\n%s", path, response.Status, text)
		}
	}
	_, here := b.sendRequest(http.MethodGet, b.door.base+"/zones/team/zone", "", nil)
	_, absent := b.sendRequest(http.MethodGet, b.door.base+"/zones/team/nothing", "", nil)
	if here != absent {
		t.Errorf("a zone that exists and one that does not differ:\n%s\n%s", here, absent)
	}
	if text := b.readPage("/"); !strings.Contains(text, "you lack the right to list zones.kubi.zone") {
		t.Errorf("the overview:\n%s", text)
	}
}

// C1
func TestReadOnly_sendsNoWrite(t *testing.T) {
	b := startConsole(t)
	for _, path := range []string{"/", "/zones", "/zones/team/zone", "/zones/team/zone/history", "/zones/team/zone/rules", "/records",
		"/name?text=record/record"} {
		b.readPage(path)
	}
	form := url.Values{"form": {b.formToken()}, "namespace": {"team"}, "name": {"www.example.org"}, "type": {"A"}, "data": {"192.0.2.1"}}
	b.sendRequest(http.MethodPost, b.door.base+"/may", form.Encode(), nil)
	for _, request := range b.api.requests {
		if !strings.HasPrefix(request, "GET ") && !strings.HasSuffix(request, "/namereviews") && !strings.Contains(request, "dryRun=All") {
			t.Errorf("sent: %s", request)
		}
	}
	sent := len(b.api.requests)
	s := must.Get(newReading(&rest.Config{Host: "http://127.0.0.1:1"}, "", "team"))(t)
	err := s.api.Zones("team").Delete(t.Context(), "zone", metav1.DeleteOptions{})
	if err == nil || !strings.Contains(err.Error(), "the console writes nothing") || len(b.api.requests) != sent {
		t.Errorf("a deletion: %v", err)
	}
}

// An open page of the console shows a change of the object within a second, because the server follows a watch and
// streams the new content to the page (C6).
func TestStream_followsTheWatch(t *testing.T) {
	b := startConsole(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, b.origin+b.door.base+"/live/zones/team/zone", nil))(t)
	request.AddCookie(b.cookie)
	response := must.Get(b.Do(request))(t)
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("%s, a stream of %s", response.Status, kind)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	until := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return
			}
			if line := lines.Text(); line != "" && line[0] != ':' && !strings.HasPrefix(line, "data: ") {
				t.Fatalf("a line that is no data: %q", line)
			}
		}
		t.Fatalf("the stream ended without %q: %v", text, lines.Err())
	}
	until("<dd>7</dd>")
	time.Sleep(2 * shortRest) // the page is at rest
	b.api.mu.Lock()
	b.api.serial = 8
	b.api.mu.Unlock()
	began := time.Now()
	b.api.changed <- struct{}{}
	until("<dd>8</dd>")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the change took %s", took)
	}
}
