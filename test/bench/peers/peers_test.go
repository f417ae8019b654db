// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func TestMain(m *testing.M) {
	if served, err := serveIfAsked(); served {
		exitWith(err)
	}
	os.Exit(m.Run())
}

// Only counts matter on the smallest scale: a record of the plain CRD is a create and a status, and Kubizone needs
// fewer requests. external-dns is measured where it is built.
func TestRun_measuresAll(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two control planes")
	}
	const n = 40
	p := plan{Rounds: 1, Rest: time.Second, Lone: 2, FewLone: 1, Sizes: []int{n}, Systems: []string{kubizone, plainCRD}}
	if _, err := rig.Tool("external-dns"); err == nil {
		p.Systems = append(p.Systems, raised)
	}
	r := rig.Need(p.runPlan(t.Context(), testWriter{t}))(t)
	median := func(name string) float64 {
		t.Helper()
		v, ok := r.Median(name)
		if !ok || v <= 0 {
			t.Errorf("%s: %v, measured %t", name, v, ok)
		}
		return v
	}
	for _, system := range p.Systems {
		for _, row := range []string{loneKnown, loneAnswered, loneLongest} {
			median(row + "/" + system)
		}
		for _, row := range bulk {
			switch name := sizedRow(n, row) + "/" + system; {
			case row == bulkConfirmed && system == raised: // no status
			case strings.HasSuffix(row, "cpu"): // at this scale within the noise of the processes at rest
				if _, ok := r.Median(name); !ok {
					t.Errorf("%s was not measured", name)
				}
			default:
				median(name)
			}
		}
	}
	requests := func(system string) float64 { return median(sizedRow(n, bulkRequests) + "/" + system) }
	if got := requests(plainCRD); got < 2 || got > 2.5 {
		t.Errorf("a record of the plain CRD is %v requests, want a create and a status", got)
	}
	if got := requests(kubizone); got < 1 || got > 3 {
		t.Errorf("a Record is %v requests", got)
	}
	at := sizedRow(n, bulkWAL) + "/"
	if got, want := median(at+plainCRD+" ÷ "+kubizone), median(at+plainCRD)/median(at+kubizone); got < 0.99*want || got > 1.01*want {
		t.Errorf("ratio %v, want %v", got, want)
	}
	var out bytes.Buffer
	report{r, p}.printReport(&out)
	t.Log("\n" + out.String())
}

// waitForAnswers waits until each name has its own data: neither other data at the name, nor the data at another name,
// end the wait.
func TestWaitForAnswers_seesTheDataOfEachName(t *testing.T) {
	conn := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	var changed atomic.Bool
	var asked atomic.Int32
	server := &mdns.Server{PacketConn: conn, Handler: mdns.HandlerFunc(func(w mdns.ResponseWriter, q *mdns.Msg) {
		a := new(mdns.Msg).SetReply(q)
		data := map[string]string{"r1." + domain: "192.0.2.1", "r2." + domain: "192.0.2.1"}
		if changed.Load() {
			data["r2."+domain] = "192.0.2.2"
		}
		a.Answer = append(a.Answer, must.Get(mdns.NewRR(q.Question[0].Name+" 300 IN A "+data[q.Question[0].Name]))(t))
		if asked.Add(1) > 5 {
			changed.Store(true)
		}
		_ = w.WriteMsg(a)
	})}
	go func() { _ = server.ActivateAndServe() }()
	defer server.Shutdown()
	s := &stack{bind: &rig.BIND{}}
	s.bind.Addr = netip.MustParseAddrPort(conn.LocalAddr().String())
	must.Succeed(t, s.waitForAnswers(t.Context(), []wanted{{"r1", "192.0.2.1"}, {"r2", "192.0.2.2"}}, time.Millisecond))
	if !changed.Load() {
		t.Error("r2 was seen before it had the data")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := s.waitForAnswers(ctx, []wanted{{"r1", "192.0.2.9"}}, time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "r1 with 192.0.2.9") {
		t.Errorf("%v", err)
	}
}

func TestHasCondition_isOfTheGeneration(t *testing.T) {
	for _, c := range []struct {
		condition map[string]any
		want      bool
	}{
		{map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(2)}, true},
		{map[string]any{"type": "Ready", "status": "True"}, true},
		{map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(1)}, false},
		{map[string]any{"type": "Ready", "status": "False", "observedGeneration": int64(2)}, false},
		{map[string]any{"type": "Adopted", "status": "True", "observedGeneration": int64(2)}, false},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{c.condition}}}}
		object.SetGeneration(2)
		if got := hasCondition(object, "Ready"); got != c.want {
			t.Errorf("%v: %t", c.condition, got)
		}
	}
}

// A ratio in the report is the median of each round's own ratio. Figures in which a peer does better are bold, and
// missing figures are a dash.
func TestReport_marksWhatPeersDoBetter(t *testing.T) {
	r := report{figures.New(0), defaultPlan()}
	for i := range 3 {
		addRound(r.Results, map[string]map[string]figure{
			kubizone: {loneKnown: {"ms", float64(10 + i)}, loneAnswered: {"ms", 20}},
			plainCRD: {loneKnown: {"ms", float64(20 + 2*i)}, loneAnswered: {"ms", 10}},
		})
	}
	var out bytes.Buffer
	r.printReport(&out)
	for _, want := range []string{
		"you know the outcome | 11 | 22 (2) | – | – |", "BIND answers; longest | 20; – | **10 (0.5)**; – | –; – | –; – |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %s\n%s", want, out.String())
		}
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}
