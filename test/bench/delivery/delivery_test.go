// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// On the smallest scale the durations mean nothing, so the test checks counts only: each figure was measured, and each
// ratio is that of its two figures.
func TestRun_measuresAll(t *testing.T) {
	if testing.Short() {
		t.Skip("starts five servers")
	}
	p := plan{Rounds: 1, Time: time.Minute, Zone: 40, Lone: 1, Steady: 20, Rate: 100, Writes: 70}
	r := rig.Need(p.runPlan(t.Context(), testWriter{t}))(t)
	median := func(name string) float64 {
		t.Helper()
		v, ok := r.Median(name)
		if !ok {
			t.Errorf("%s was not measured", name)
		}
		return v
	}
	for _, arm := range []string{toKnot, toBIND, knotToKnot, knotToBIND, toWebhook} {
		for _, load := range []string{atOnce, atRate} {
			if p50, p99 := median(changeLabel+arm+"/"+load+"/p50"), median(changeLabel+arm+"/"+load+"/p99/"+pooled); p50 <= 0 || p99 < p50 {
				t.Errorf("%s, %s: %v ms, p99 %v ms", arm, load, p50, p99)
			}
		}
	}
	for _, pair := range pairs {
		at := func(name string) float64 { return median(changeLabel + name + "/" + atOnce + "/p50") }
		if got, want := at(pair[0]+" ÷ "+pair[1]), at(pair[0])/at(pair[1]); got < 0.99*want || got > 1.01*want {
			t.Errorf("%s ÷ %s: %v, want %v", pair[0], pair[1], got, want)
		}
	}
	var out bytes.Buffer
	report{r}.printReport(&out)
	if want := "| kubizone → BIND ÷ Knot → BIND |"; !strings.Contains(out.String(), want) {
		t.Errorf("not printed: %s", want)
	}
	t.Log("\n" + out.String())
}

// A change is seen with the first answer with its data, not with other data.
func TestPoll_seesTheDataAndNothingElse(t *testing.T) {
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	const zone, before, after = "example.org.", "192.0.2.1", "192.0.2.2"
	var changed atomic.Bool
	var answered atomic.Int32
	server := &mdns.Server{PacketConn: conn, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, q *mdns.Msg) {
		data := before
		if changed.Load() {
			data = after
		}
		a := new(mdns.Msg).SetReply(q)
		rr, err := mdns.NewRR(q.Question[0].Name + " 300 IN A " + data)
		if err != nil {
			t.Error(err)
		}
		a.Answer = append(a.Answer, rr)
		answered.Add(1)
		_ = w.WriteMsg(a)
	})}
	go func() { _ = server.ActivateAndServe() }()
	defer server.Shutdown()
	ctx, cancel := context.WithCancel(t.Context())
	came := newArrivals()
	var polling sync.WaitGroup
	polling.Go(func() {
		if err := pollServer(ctx, netip.MustParseAddrPort(conn.LocalAddr().String()), zone, came); err != nil {
			t.Error(err)
		}
	})
	defer polling.Wait()
	defer cancel()
	one, other := came.expectData("www", after), came.expectData("ftp", before)
	must.Succeed(t, waitUntil(ctx, "ftp is seen, and www asked for", func() (bool, error) {
		return len(came.listOldest(2)) == 1 && answered.Load() > 5, nil
	}))
	if waiting := came.listOldest(2); waiting[0] != one || other.at.IsZero() {
		t.Fatalf("%+v is waited for", waiting[0])
	}
	at := time.Now()
	changed.Store(true)
	must.Succeed(t, came.waitForAll(ctx))
	if one.at.Before(at) {
		t.Errorf("seen %s before it was so", at.Sub(one.at))
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
