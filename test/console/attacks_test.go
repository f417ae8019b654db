// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

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
	b := s.newTab(t)
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
	b := s.newTab(t)
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
	b.runActions(chromedp.Navigate("http://" + listener.Addr().String() + "/"))
	b.waitFor("each attempt has its answer", func() bool {
		b.runActions(chromedp.Evaluate("window.got", &got))
		return len(got) >= 4
	})
	for _, one := range got {
		if strings.HasPrefix(one, "fetch: ") || strings.HasPrefix(one, "stream: ") {
			t.Errorf("the other port has read %q", one)
		}
	}
	var framed string
	b.runActions(chromedp.Evaluate(`(() => {
		try { return document.querySelector("iframe").contentDocument?.body.textContent || ""; } catch (e) { return ""; }
	})()`, &framed))
	if framed != "" {
		t.Errorf("a frame shows %q", framed)
	}
	for len(cookies) > 0 {
		if cookie := <-cookies; cookie != "" {
			t.Errorf("the other port got the cookie %q", cookie)
		}
	}
}
