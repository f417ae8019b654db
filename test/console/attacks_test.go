// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A tenant's Record with HTML, scripts and control characters is shown as text: the page runs no script of it, has no
// link or image from it, and no control character.
func TestHostileRecord_isText(t *testing.T) {
	s := needStage(t)
	hostile := `<script>alert(1)</script>'"><img src=x onerror=alert(2)><a href="http://evil.example">x</a>` + "\u202egnp.exe\x1b[31m"
	value := func(text string) string {
		var quoted strings.Builder
		for _, octet := range []byte(text) {
			if octet < ' ' || octet > '~' || octet == '"' || octet == '\\' {
				fmt.Fprintf(&quoted, `\%03d`, octet)
			} else {
				quoted.WriteByte(octet)
			}
		}
		return `"` + quoted.String() + `"`
	}
	values := []string{value(hostile)}
	for i := range 14 { // about 60,000 octets, the most of an RRset
		values = append(values, strings.TrimSpace(strings.Repeat(value(fmt.Sprintf("%0250d", i))+" ", 15)))
	}
	record := map[string]any{"metadata": map[string]any{"name": "hostile"}, "spec": map[string]any{"domainName": "hostile.example.net.",
		"type": "TXT", "values": values}}
	body, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	s.writeObject(t, http.MethodPost, "/namespaces/net/records", string(body))
	t.Cleanup(func() { s.writeObject(t, http.MethodDelete, "/namespaces/net/records/hostile", "") })
	b := s.newTab(t, true)
	for _, path := range []string{"/zones/net/example-net?search=hostile", "/zones/net/example-net/history", "/records?namespace=net"} {
		b.visitPage(path)
		b.expectText("#live", "hostile.example.net.", "<script>alert(1)</script>")
		var found []string
		b.runActions(chromedp.Evaluate(`[...document.querySelectorAll(
			"script:not([src]), main img, main a[href*=evil], main [onerror], [style*=url]")].map((e) => e.outerHTML)`, &found))
		if len(found) > 0 {
			t.Errorf("%s has made elements: %q", path, found)
		}
		var raw bool
		b.runActions(chromedp.Evaluate(`/[\u202a-\u202e\u2066-\u2069\u001b]/.test(document.documentElement.outerHTML)`, &raw))
		if raw {
			t.Errorf("%s has a control or format character", path)
		}
	}
	b.expectPeace()
}

// A page of another port, which a second user of the machine serves, gets neither the cookie nor an answer.
func TestOtherPort_getsNothing(t *testing.T) {
	s := needStage(t)
	cookies := make(chan string, 64)
	var page string
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	evil := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case cookies <- r.Header.Get("Cookie"):
		default:
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	})}
	go func() { _ = evil.Serve(listener) }()
	t.Cleanup(func() { _ = evil.Close() })
	b := s.newTab(t, true)
	page = `<!doctype html><title>evil</title><body><iframe src="` + s.base + `/"></iframe><script>
		window.got = [];
		const note = (what) => (value) => window.got.push(what + ": " + value);
		fetch("` + s.base + `/", {credentials: "include"}).then((r) => r.text()).then(note("fetch"), note("fetch refused"));
		fetch("` + s.base + `/", {credentials: "include", mode: "no-cors"})
			.then((r) => note("opaque")(r.type + r.status), note("opaque refused"));
		const stream = new EventSource("` + s.base + `/live/", {withCredentials: true});
		stream.onmessage = (e) => note("stream")(e.data);
		stream.onerror = () => note("stream refused")("");
		fetch("` + s.base + `/may", {method: "POST", credentials: "include", mode: "no-cors",
			body: new URLSearchParams({namespace: "net"})}).then((r) => note("form")(r.type + r.status), note("form refused"));
	</script>`
	var got []string
	b.runActions(chromedp.Navigate("http://"+listener.Addr().String()+"/"), chromedp.Sleep(time.Second),
		chromedp.Evaluate("window.got", &got))
	for _, one := range got {
		if strings.HasPrefix(one, "fetch: ") || strings.HasPrefix(one, "stream: ") {
			t.Errorf("the other port has read %q", one)
		}
	}
	if len(got) < 4 {
		t.Errorf("the page tried only %q", got)
	}
	var framed string
	b.runActions(chromedp.Evaluate(`(() => {
		try { return document.querySelector("iframe").contentDocument?.body.textContent || ""; } catch (e) { return ""; }
	})()`, &framed))
	if framed != "" {
		t.Errorf("a frame shows %q", framed)
	}
	close(cookies)
	for cookie := range cookies {
		if cookie != "" {
			t.Errorf("the other port got the cookie %q", cookie)
		}
	}
}

// The token in the console's first address works once. A second use, perhaps by another program that read the address,
// gets 401, and the terminal warns of it.
func TestToken_opensOnce(t *testing.T) {
	s := needStage(t)
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "console.html"))
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`url=(http://[^"]+)"`).FindSubmatch(text)
	info, err := os.Stat(filepath.Join(s.dir, "data", "console.html"))
	if address == nil || err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file of mode %v:\n%s", info.Mode(), text)
	}
	first, second := s.newTab(t, false), s.newTab(t, false)
	first.runActions(chromedp.Navigate(string(address[1])), chromedp.WaitVisible("nav a[aria-current]"))
	if err := chromedp.Run(second, chromedp.Navigate(string(address[1]))); err == nil {
		if text := second.readText("body"); text != "" && !strings.Contains(text, "401") {
			t.Errorf("the second use shows %q", text)
		}
	}
	first.waitFor("the terminal warns", func() bool { return strings.Contains(s.output(), "came a second time") })
}

// Without the cookie nothing is answered, whatever the host.
func TestStranger_getsEmptyPages(t *testing.T) {
	s := needStage(t)
	root := s.base[:strings.LastIndex(s.base, "/")]
	for _, address := range []string{root + "/", s.base + "/", s.base + "/zones", s.base + "/live/", s.base + "/files/style.css"} {
		for _, host := range []string{"", "rebound.example", "localhost"} {
			request, err := http.NewRequest(http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			if host != "" {
				request.Host = host
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusUnauthorized || response.ContentLength != 0 {
				t.Errorf("%s as %q: %s, %d octets", address, host, response.Status, response.ContentLength)
			}
		}
	}
}
