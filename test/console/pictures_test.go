// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tolerance is the share of pixels that may differ, each by more than step in a colour.
const (
	tolerance = 0.004
	step      = 24
)

//go:embed published/axe.min.js
var axe string

// seen are the pages, each with a picture unless it differs from run to run.
var seen = []struct {
	name, path       string
	follows, differs bool
}{
	{"overview", "/", true, false},
	{"zones", "/zones", true, false},
	{"records", "/records?state=not+Ready", true, false},
	{"search", "/zones/search?search=192.0.2.0/24", false, false},
	{"zone", "/zones/platform/example-org?search=example", true, false},
	{"history", "/zones/platform/example-org/history", true, true},
	{"delivery", "/zones/net/example-net/delivery", true, true},
	{"rules", "/zones/net/example-net/rules", true, false},
	{"dnssec", "/zones/net/example-net/dnssec", true, false},
	{"name", "/name?text=www.nowhere.example", false, false},
	{"chain", "/name?text=www.example.net", false, true},
	{"may", "/may", false, false},
	{"plan", "/plan", false, false},
}

// screens have each width and each scheme once: no rule of style.css is of both.
var screens = []struct {
	width  int64
	scheme string
}{{1280, "light"}, {420, "dark"}}

// hideChanging ends the stream, and replaces texts that differ from run to run.
const hideChanging = `(() => {
	const state = document.getElementById("live-state"), live = document.getElementById("live");
	if (state) state.id = "";
	if (live) live.replaceWith(live.cloneNode(true));
	for (const at of document.querySelectorAll("time")) {
		at.textContent = "5m";
		at.removeAttribute("data-age");
		at.removeAttribute("data-left");
	}
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walk.nextNode());) node.textContent = node.textContent.replace(/\b20\d{8}\b/g, "2026010203")
		.replace(/127\.0\.0\.1:\d{2,}/g, "127.0.0.1:7443").replace(/unix:\S+/g, "unix:etcd.sock").replaceAll(HOST, "host")
		.replace(/\d+ ms/g, "2 ms");
	return ` + drawn + `;
})()`

// drawn is a promise that the page is laid out as it is now.
const drawn = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`

func (b *tab) setScreen(width int64, scheme string) {
	b.runActions(emulation.SetDeviceMetricsOverride(width, 900, 1, width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}}), chromedp.Evaluate(drawn, nil, awaitPromise))
}

// Every page in two widths, each of a scheme: nothing overlaps or is wider than the window, states have their colours,
// axe-core finds nothing, and the pictures are those that a person has looked at.
func TestPages_areAsTheirPictures(t *testing.T) {
	s := needStage(t)
	b := s.newTab(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	// The oldest comes first, so one zone is newer by a second, whichever tests came before.
	b.visitPage("/")
	b.waitFor("the paused zone fails", func() bool { return strings.Contains(b.readText("#live table"), "net/paused") })
	failed := time.Now().Unix()
	b.waitFor("the next second", func() bool { return time.Now().Unix() > failed })
	for _, address := range []string{"192.0.2.8", "192.0.2.7"} {
		s.writeObject(t, http.MethodPatch, "/namespaces/net/records/www", `{"spec":{"rdata":"`+address+`"}}`)
	}
	b.waitFor("both zones fail, the newer last", func() bool {
		text := b.readText("#live table")
		return strings.Contains(text, "ServerUnreachable") && strings.Index(text, "net/paused") < strings.Index(text, "net/example-net")
	})
	// A paused zone and a waiting Record stall two minutes after their change (S7.4).
	for _, path := range []string{"/records?state=not+Ready", "/"} {
		b.visitPage(path)
		for began := time.Now(); !strings.Contains(b.readText("#live"), "stalled"); time.Sleep(time.Second) {
			if time.Since(began) > 4*time.Minute {
				t.Fatalf("nothing on %s has stalled:\n%s", path, b.readText("#live"))
			}
		}
	}
	for _, page := range seen {
		b.expectSeen(page.name, page.path, page.follows)
		if page.differs {
			continue
		}
		b.runActions(chromedp.Evaluate(strings.ReplaceAll(hideChanging, "HOST", fmt.Sprintf("%q", host)), nil, awaitPromise))
		for _, screen := range screens {
			var picture []byte
			b.setScreen(screen.width, screen.scheme)
			b.runActions(chromedp.FullScreenshot(&picture, 100))
			comparePicture(t, fmt.Sprintf("%s-%d-%s", page.name, screen.width, screen.scheme), picture)
		}
	}
	b.expectPeace()
}

// expectSeen visits a page, and judges it on each screen.
func (b *tab) expectSeen(name, path string, follows bool) {
	b.t.Helper()
	b.visitPage(path)
	if follows {
		b.expectText("#live-state", "live")
	}
	b.runActions(chromedp.Evaluate(axe, nil))
	for _, screen := range screens {
		what := fmt.Sprintf("%s-%d-%s", name, screen.width, screen.scheme)
		b.setScreen(screen.width, screen.scheme)
		b.expectFits(what)
		b.expectColours(what, screen.scheme)
		b.expectNoFinding(what)
	}
}

// expectFits requires that the page is no wider than the window, and that no text is cut by its box or lies on another.
func (b *tab) expectFits(what string) {
	b.t.Helper()
	var wrong []string
	b.runActions(chromedp.Evaluate(`(() => {
		const wrong = [], root = document.documentElement;
		if (root.scrollWidth > root.clientWidth) wrong.push("the page is " + root.scrollWidth + " wide, the window " + root.clientWidth);
		const boxes = [...document.querySelectorAll("h1, h2, nav a, .state, label, button, dt, dd, p")]
			.filter((e) => e.checkVisibility() && !e.closest(".hidden, .skip, pre"))
			.map((e) => ({e, r: e.getBoundingClientRect()})).filter((b) => b.r.width && b.r.height);
		for (const {e, r} of boxes) {
			if (e.closest(".scroll")) continue;
			if (r.left < -1 || r.right > root.clientWidth + 1) wrong.push("out of the window: " + e.outerHTML.slice(0, 120));
			const cut = e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline";
			if (cut) wrong.push("cut: " + e.outerHTML.slice(0, 120));
		}
		for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
			const a = boxes[i], b = boxes[j];
			if (a.e.contains(b.e) || b.e.contains(a.e)) continue;
			if (a.r.left < b.r.right - 1 && b.r.left < a.r.right - 1 && a.r.top < b.r.bottom - 1 && b.r.top < a.r.bottom - 1)
				wrong.push("overlap: " + a.e.outerHTML.slice(0, 80) + " and " + b.e.outerHTML.slice(0, 80));
		}
		return wrong.slice(0, 5);
	})()`, &wrong))
	for _, one := range wrong {
		b.t.Errorf("%s: %s", what, one)
	}
}

// expectColours requires a sign, a word and the colour of its kind at each state.
func (b *tab) expectColours(what, scheme string) {
	b.t.Helper()
	want := map[string]map[string]string{
		"light": {"ok": "rgb(23, 99, 55)", "fails": "rgb(160, 28, 34)", "waits": "rgb(115, 71, 0)", "off": "rgb(73, 83, 96)"},
		"dark":  {"ok": "rgb(127, 220, 155)", "fails": "rgb(255, 163, 163)", "waits": "rgb(241, 200, 118)", "off": "rgb(179, 189, 200)"},
	}[scheme]
	var states []struct{ Kind, Colour, Sign, Word string }
	b.runActions(chromedp.Evaluate(`[...document.querySelectorAll(".state")].map((e) => ({
		kind: e.classList[1], colour: getComputedStyle(e).color,
		sign: e.querySelector("[aria-hidden]")?.textContent ?? "", word: e.lastChild.textContent.trim()}))`, &states))
	for _, one := range states {
		if one.Colour != want[one.Kind] || one.Sign == "" || one.Word == "" {
			b.t.Errorf("%s: a state %+v, want the colour %s", what, one, want[one.Kind])
		}
	}
}

func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// expectNoFinding runs axe-core.
func (b *tab) expectNoFinding(what string) {
	b.t.Helper()
	var found json.RawMessage
	b.runActions(chromedp.Evaluate(`axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " +
		v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + n.any.map((c) => c.message).join("; ")).join(" | ")))`, &found,
		awaitPromise))
	var findings []string
	if err := json.Unmarshal(found, &findings); err != nil {
		b.t.Fatalf("%s: axe-core: %v", what, err)
	}
	for _, one := range findings {
		b.t.Errorf("%s: axe-core: %s", what, one)
	}
}

func comparePicture(t *testing.T, what string, picture []byte) {
	t.Helper()
	path := filepath.Join("testdata", "pictures", what+".png")
	if what == "overview-1280-light" { // the second picture of README
		path = filepath.Join("..", "..", "docs", "images", "console-overview.png")
	}
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, picture, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	has, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; UPDATE=1 writes it", err)
		return
	}
	share, err := differingShare(has, picture)
	if err != nil || share > tolerance {
		at := filepath.Join(os.TempDir(), what+".png")
		_ = os.WriteFile(at, picture, 0o644)
		t.Errorf("%s: %.2f %% of the pixels differ from %s (%v); look at %s, then UPDATE=1", what, share*100, path, err, at)
	}
}

// differingShare returns the share of pixels that differ by more than step in a colour.
func differingShare(one, other []byte) (float64, error) {
	a, err := png.Decode(bytes.NewReader(one))
	if err != nil {
		return 1, err
	}
	b, err := png.Decode(bytes.NewReader(other))
	if err != nil {
		return 1, err
	}
	if a.Bounds() != b.Bounds() {
		return 1, fmt.Errorf("sizes %v and %v", a.Bounds().Size(), b.Bounds().Size())
	}
	different := 0
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			if pixelDiffers(a, b, x, y) {
				different++
			}
		}
	}
	return float64(different) / float64(a.Bounds().Dx()*a.Bounds().Dy()), nil
}

func pixelDiffers(a, b image.Image, x, y int) bool {
	r1, g1, b1, _ := a.At(x, y).RGBA()
	r2, g2, b2, _ := b.At(x, y).RGBA()
	for _, pair := range [][2]uint32{{r1, r2}, {g1, g2}, {b1, b2}} {
		if max(pair[0], pair[1])-min(pair[0], pair[1]) > step<<8 {
			return true
		}
	}
	return false
}
