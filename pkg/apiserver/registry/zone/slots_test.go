// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

// A user takes at most a part of the free slots, so slots remain for later users, and servers that read all zones have
// further slots. When all readers have ended, all slots are free again.
func TestSlots_nobodyTakesThemAll(t *testing.T) {
	s := newSlots(32, 32)
	var leave []func()
	fill := func(user string, readsAll bool) (got int) {
		for {
			l, refusal := s.acquire(user, readsAll)
			if refusal != nil {
				if refusal.ErrStatus.Code != 429 || refusal.ErrStatus.Details.RetryAfterSeconds == 0 {
					t.Errorf("%s: %v", user, refusal)
				}
				return got
			}
			leave = append(leave, l)
			got++
		}
	}
	for i, want := range []int{12, 6, 3, 2, 1, 0, 0} {
		if got := fill(string(rune('a'+i)), false); got != want {
			t.Errorf("user %d took %d slots, want %d", i, got, want)
		}
	}
	if got := fill("a", false); got != 0 {
		t.Errorf("the first took %d more", got)
	}
	// Readers of all zones have slots beside any number of tenants.
	for i, want := range []int{4, 2, 1} {
		if got := fill(fmt.Sprint("server ", i), true); got != want {
			t.Errorf("server %d took %d slots, want %d", i, got, want)
		}
	}
	for _, l := range leave {
		l()
	}
	if s.inUse() != 0 || len(s.byUser) != 0 {
		t.Errorf("%d in use after all have left, %v", s.inUse(), s.byUser)
	}
	if got := fill("b", false); got != 12 {
		t.Errorf("afterwards one took %d slots, want 12", got)
	}
}

// All accounts of a namespace share one reader's slots.
func TestSlots_accountsOfANamespaceAreOneReader(t *testing.T) {
	reader := func(name string) string {
		return readerOf(genericapirequest.WithUser(t.Context(), &user.DefaultInfo{Name: name}))
	}
	s := newSlots(8, 8)
	taken := 0
	for i := range 20 {
		if _, refusal := s.acquire(reader(fmt.Sprintf("system:serviceaccount:team-a:robot-%d", i)), false); refusal == nil {
			taken++
		}
	}
	if taken != 3 {
		t.Errorf("twenty accounts of a namespace have %d of 8 slots, want what one user has", taken)
	}
	for _, other := range []string{"system:serviceaccount:team-b:robot-1", "alice"} {
		if _, refusal := s.acquire(reader(other), false); refusal != nil {
			t.Errorf("%s: %v", other, refusal)
		}
	}
}

// Answers of histories have slots of their own, so they take none from readers of zones/entries. A read of etcd has
// further slots, of the namespace for its Records, unless the user may read all zones.
func TestSlots_ofHistories(t *testing.T) {
	d := openDoor(t, makeHistory(), nil)
	s := d.streams
	changes, records := newChanges(s), newRecordChanges(s)
	history := &v1alpha1.ZoneChangesOptions{Form: v1alpha1.FormHistory}
	if changes.slotsOf(history) != s.answerSlots || records.slotsOf(&v1alpha1.RecordChangesOptions{}) != s.answerSlots {
		t.Error("a history is answered in another slot")
	}
	if changes.slotsOf(&v1alpha1.ZoneChangesOptions{}) != s.readSlots {
		t.Error("changes of a view are read in another slot")
	}
	as := func(name string) context.Context {
		return genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), "team"), &user.DefaultInfo{Name: name})
	}
	for reader, want := range map[string]string{
		changes.historyReader(as("alice"), history):                        `user "alice"`,
		changes.historyReader(as("alice"), &v1alpha1.ZoneChangesOptions{}): "",
		records.historyReader(as("alice"), nil):                            `namespace "team"`,
		records.historyReader(as("admin"), nil):                            `user "admin"`,
	} {
		if reader != want {
			t.Errorf("the slots are of %q, want %q", reader, want)
		}
	}
	for _, user := range []string{"alice", "bob"} {
		for want := range 3 {
			if _, refusal := s.historySlots.acquire(user, false); (refusal == nil) != (want < 2) {
				t.Errorf("slot %d of %s: %v", want+1, user, refusal)
			}
		}
	}
}

// longHistory has 16 MiB in each answer, more than a connection buffers. With block, a read of etcd takes until then.
type longHistory struct {
	History
	block chan struct{}
}

func (h *longHistory) ReadRecords(ctx context.Context, _ RecordFilter, _ HistoryQuery) (*HistoryPage, error) {
	if h.block != nil {
		select {
		case <-h.block:
		case <-ctx.Done():
		}
	}
	rows := slices.Repeat([]content.Row{{Owner: name.MustRel("big"), Type: rdata.TXT, Data: strings.Repeat("x", 1<<20)}}, 16)
	return &HistoryPage{Items: []HistoryItem{{FQDN: "example.org.", Step: content.Step{Added: rows}}}}, nil
}

// A client that stops reading its answer takes a slot of its user, and none of its namespace: others read on. Reads of
// etcd take slots of the namespace, but an owner of zones does not depend on them.
func TestSlots_ofAStalledReaderOfAHistory(t *testing.T) {
	past := &longHistory{}
	d := openDoor(t, makeHistory(), func(s *streams) { s.History = past })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(req.Context(), "team"),
			&user.DefaultInfo{Name: req.Header.Get("User")})
		must.Get(newRecordChanges(d.streams).Connect(ctx, v1alpha1.AllRecords, &v1alpha1.RecordChangesOptions{}, nil))(t).ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close) // after the stalled connections
	stall := func(user string) {
		conn := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
		t.Cleanup(func() { _ = conn.Close() })
		must.Succeed(t, conn.(*net.TCPConn).SetReadBuffer(1<<16))
		must.Get(io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nUser: "+user+"\r\n\r\n"))(t)
	}
	expect := func(user string, want int, text string) {
		t.Helper()
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil))(t)
		req.Header.Set("User", user)
		response := must.Get(http.DefaultClient.Do(req))(t)
		body := string(must.Get(io.ReadAll(response.Body))(t))
		_ = response.Body.Close()
		if response.StatusCode != want || !strings.Contains(body, text) {
			t.Errorf("%s: %d %.300s, want %d %q", user, response.StatusCode, body, want, text)
		}
	}
	await := func(slots *slots, want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); slots.inUse() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d slots are in use, want %d", slots.inUse(), want)
			}
		}
	}
	// Six are what a user has of 16. Each has read before the next begins: a namespace has two reads of etcd at a time.
	for n := range 6 {
		stall("alice")
		await(d.streams.answerSlots, n+1)
		await(d.streams.historySlots, 0)
	}
	expect("alice", http.StatusTooManyRequests, `user \"alice\" is reading 6`)
	expect("bob", http.StatusOK, "")
	expect("admin", http.StatusOK, "")

	past.block = make(chan struct{})
	stall("bob")
	stall("bob")
	await(d.streams.historySlots, 2)
	expect("carol", http.StatusTooManyRequests, `namespace \"team\" is reading 2`)
	stall("admin")
	await(d.streams.historySlots, 3)
	close(past.block)
	await(d.streams.historySlots, 0)
	expect("carol", http.StatusOK, "")
}

func (s *slots) inUse() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.acquired
}
