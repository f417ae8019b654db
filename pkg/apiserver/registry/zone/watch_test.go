// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

func (d *door) followChanges(t *testing.T, query, as string) (response *http.Response, line func() string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+"/example-org/changes?watch=true&"+query, nil))(t)
	req.Header.Set("User", as)
	response = must.Get(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	return response, func() string {
		text, err := lines.ReadString('\n')
		if err != nil && text == "" {
			return err.Error()
		}
		return strings.TrimSuffix(text, "\n")
	}
}

func (h *held) addSerial() {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.snapshots[len(h.snapshots)-1].serial
	h.snapshots = []*fixed{makeExample(last+1, 0)}
	h.steps = append(h.steps, content.Step{N: uint64(last), Serial: last + 1, Added: []content.Row{{Owner: name.MustRel("new"), Type: rdata.A, Data: "192.0.2.9"}}})
	h.changes = append(h.changes, dns.Change{From: last, To: last + 1, Added: []dns.Entry{{Name: name.MustParse("new.example.org."), Type: rdata.A, TTL: 60, Data: "192.0.2.9"}}})
}

func (h *held) forgetSteps(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps, h.changes = h.steps[n:], h.changes[n:]
}

// A watch from a serial first has the changes since, then each new change, one serial for each event. Without a serial
// it begins at the present content.
func TestChanges_watchGoesOn(t *testing.T) {
	views := makeHistory()
	d := openDoor(t, views, nil)
	_, past := d.followChanges(t, "since=5", "tenant")
	for _, want := range []string{`"since":5,"until":6,`, `"since":6,"until":7,`} {
		if got := past(); !strings.Contains(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	response, event := d.followChanges(t, "", "tenant") // from now on
	if kind := response.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("JSON comes as %s", kind)
	}
	_, step := d.followChanges(t, "form=definition", "tenant")
	views.addSerial()
	views.addSerial()
	for i := range 2 {
		from := int64(7 + i)
		var got struct {
			Type   string
			Object v1alpha1.ZoneChanges
		}
		if err := json.Unmarshal([]byte(event()), &got); err != nil || got.Type != "MODIFIED" || got.Object.Since != from || got.Object.Until != from+1 ||
			len(got.Object.Changes) != 1 || got.Object.Changes[0].Added[0].RData != "192.0.2.9" || got.Object.Metadata.UID != string(exampleUID) {
			t.Errorf("%v, %+v", err, got)
		}
		if err := json.Unmarshal([]byte(step()), &got); err != nil || got.Object.Since != from || len(got.Object.Steps) != 1 {
			t.Errorf("%v, %+v", err, got)
		}
	}
	if got := past(); !strings.Contains(got, `"since":7,"until":8,`) {
		t.Errorf("got %q", got)
	}
}

// A watch of zones/changes that falls behind the steps kept in memory ends with a 410 in its stream, and the client
// must read zones/entries again. A watch from a serial no longer kept gets 410 at once.
func TestChanges_watchEndsWith410(t *testing.T) {
	views := makeHistory()
	d := openDoor(t, views, func(c *streams) { c.Sources = recordsAt{} })
	d.expectRefusal(t, "/example-org/changes?watch=true&since=3", "", "tenant", http.StatusGone, "serial 3 of zone example.org. "+
		"is no longer kept here")
	d.expectRefusal(t, "/example-org/changes?watch=true&until=9", "", "tenant", http.StatusBadRequest, "until")
	d.expectRefusal(t, "/example-org/changes?watch=true&sources=true&since=5", "", "tenant", http.StatusForbidden, "list records")
	d.expectRefusal(t, "/example-org/changes?watch=true&format=text", "", "tenant", http.StatusBadRequest, "format")
	_, event := d.followChanges(t, "since=7", "tenant")
	views.mu.Lock()
	views.steps, views.changes = nil, nil
	views.snapshots = append(views.snapshots, makeExample(10, 0))
	views.mu.Unlock()
	var got struct {
		Type   string
		Object metav1.Status
	}
	if err := json.Unmarshal([]byte(event()), &got); err != nil || got.Type != "ERROR" || got.Object.Code != http.StatusGone ||
		got.Object.Reason != metav1.StatusReasonExpired ||
		got.Object.Message != "serial 7 of zone example.org. is no longer kept here: start again from zones/entries" {
		t.Errorf("%v, %+v", err, got)
	}
	if end := event(); end != "EOF" {
		t.Errorf("it goes on with %q", end)
	}
}

// A user may have at most half of the slots for watches, and can still read zones/changes without a watch. When the
// server stops, all watches end.
func TestChanges_watchesAreBoundedAndEnd(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	d := openDoor(t, makeHistory(), func(c *streams) { c.Stopping = stopping })
	var streams []func() string
	for range maxWatches / 2 {
		_, line := d.followChanges(t, "since=6", "greedy")
		line()
		streams = append(streams, line)
	}
	d.expectRefusal(t, "/example-org/changes?watch=true", "", "greedy", http.StatusTooManyRequests, "greedy")
	if code, _, _ := d.getPage(t, "/example-org/changes?since=5", "", "greedy"); code != http.StatusOK {
		t.Errorf("a user with a watch may not read: %d", code)
	}
	_, other := d.followChanges(t, "since=6", "another")
	other()
	stop()
	for _, line := range append(streams, other) {
		if end := line(); end != "EOF" {
			t.Fatalf("a stopping server goes on with %q", end)
		}
	}
}

// A client that stops reading its watch is cut after a while. Until then the server's memory for it does not grow,
// although the zone changes all the time (attack 59).
func TestChanges_slowWatchIsCutAtFlatMemory(t *testing.T) {
	views := makeHistory()
	d := openDoor(t, views, nil)
	d.streams.stall = 300 * time.Millisecond
	conn := must.Get(net.Dial("tcp", d.Listener.Addr().String()))(t)
	defer conn.Close()
	must.Get(io.WriteString(conn, "GET /example-org/changes?watch=true&since=5 HTTP/1.1\r\nHost: x\r\nUser: slow\r\n\r\n"))(t)
	for d.streams.watchSlots.inUse() == 0 {
		time.Sleep(time.Millisecond)
	}
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for end := time.Now().Add(time.Minute); d.streams.watchSlots.inUse() > 0; {
		if time.Now().After(end) {
			t.Fatal("a reader that reads nothing keeps its place")
		}
		for range 50 {
			views.addSerial()
		}
		if len(views.steps) > 1000 {
			views.forgetSteps(len(views.steps) - 1000)
		}
		time.Sleep(time.Millisecond)
	}
	runtime.GC()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d octets more", grown)
	}
}
