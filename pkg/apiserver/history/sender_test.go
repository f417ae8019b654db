// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/test/must"
)

func queueSteps(s *Sender, from, n int, by string) {
	z := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "z", UID: "u"}}
	z.Status.FQDN = "example.org."
	for i := range n {
		at := uint64(from + i)
		ref := content.RecordRef{Namespace: "team", Name: "www", UID: "r", Was: true}
		s.Queue(z, []content.Step{{N: at, Serial: 1, By: by, Record: &ref}},
			map[uint64]map[string]json.RawMessage{at: {"r": json.RawMessage(`{"spec":{"type":"A"}}`)}})
	}
}

// readLines returns the numbers of the steps in lines, and the number of lost steps.
func readLines(t *testing.T, text string) (numbers []uint64, lost int) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		var x struct {
			sentStep
			Lost int `json:"lost"`
		}
		must.Succeed(t, json.Unmarshal(lines.Bytes(), &x))
		if lost += x.Lost; x.Lost > 0 {
			continue
		}
		if x.UID != "u" || x.FQDN != "example.org." || string(x.Records[0].Before.Spec.Raw) != `{"type":"A"}` {
			t.Errorf("%s", lines.Text())
		}
		numbers = append(numbers, uint64(x.ContentGeneration))
	}
	return numbers, lost
}

// With a file as receiver, each step becomes a line, in order. A server that is stopped at once still writes all that
// it has queued.
func TestSender_toAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	for from := range 2 {
		s := must.Get(NewSender(path))(t)
		queueSteps(s, 1+from*1500, 1500, "alice")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		must.Succeed(t, s.Run(ctx))
	}
	numbers, lost := readLines(t, string(must.Get(os.ReadFile(path))(t)))
	if len(numbers) != 3000 || lost != 0 {
		t.Fatalf("%d lines, %d lost", len(numbers), lost)
	}
	for i, n := range numbers {
		if n != uint64(i+1) {
			t.Fatalf("line %d is step %d", i, n)
		}
	}
}

// The server sends the steps of its history to a receiver in the background, so a receiver that does not answer delays
// no write. Steps beyond the queue's bound are dropped, and the number of the dropped steps is sent when the receiver
// answers again.
func TestSender_saysWhatItLost(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	away := true
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if away {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		if r.Header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("content type %q", r.Header.Get("Content-Type"))
		}
		_, _ = bufio.NewReader(r.Body).WriteTo(&got)
	}))
	defer receiver.Close()
	s := must.Get(NewSender(receiver.URL))(t)
	long := strings.Repeat("x", 8000)
	began := time.Now()
	queueSteps(s, 1, 2000, long)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("queueing took %s", took)
	}
	if s.octets > maxQueued || s.lost == 0 {
		t.Fatalf("%d octets, %d lost", s.octets, s.lost)
	}
	if err := s.sendPending(t.Context()); err == nil {
		t.Fatal("sent to a receiver that is away")
	}
	mu.Lock()
	away = false
	mu.Unlock()
	for s.isPending() {
		must.Succeed(t, s.sendPending(t.Context()))
	}
	numbers, lost := readLines(t, strings.ReplaceAll(got.String(), long, ""))
	if len(numbers)+lost != 2000 || lost == 0 || s.octets != 0 {
		t.Errorf("%d lines and %d lost of 2000; %d octets are left", len(numbers), lost, s.octets)
	}
}

func TestCheckTarget(t *testing.T) {
	for to, want := range map[string]bool{"/var/log/x": true, "https://a.example/x": true, "http://a": true, "x": false, "": false,
		"ftp://a": false, "https:": false} {
		if err := CheckTarget(to); (err == nil) != want {
			t.Errorf("%q: %v", to, fmt.Sprint(err))
		}
	}
}
