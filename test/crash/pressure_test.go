// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func (l *load) fillZone(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < n; i += 8 {
				name := fmt.Sprintf("fill-%d", i)
				if _, ok := l.makeWrite(owner+"/"+name, "filled", func(ctx context.Context) (*v1alpha1.Record, error) {
					return l.listServers()[0].Records(owner).Create(ctx, makeTXT(owner, name, name+".one.test.", "filled"),
						metav1.CreateOptions{})
				}); !ok {
					t.Errorf("%s was not written", name)
				}
			}
		})
	}
	all.Wait()
}

// F20, H4: while a zone changes all the time, some secondaries die in the middle of a transfer. Each finished
// transfer is a single version of the zone, and the later changes lead to the current zone.
func TestF20_transfersWhileTheZoneChanges(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one, other)
	l.fillZone(ctx, t, 200)
	follower := w.startPrimary(ctx, t, one)
	l.startLoad(ctx)
	whole := map[uint32][]string{}
	for range chooseLong(8, 100) {
		l.waitAcked(ctx, t, 5)
		dying := must.Get(net.DialTimeout("tcp", follower.dns, 10*time.Second))(t)
		question := must.Get(new(mdns.Msg).SetAxfr("one.test.").Pack())(t)
		_, _ = dying.Write(append([]byte{byte(len(question) >> 8), byte(len(question))}, question...))
		_, _ = dying.Read(make([]byte, 100))
		dying.Close()
		have := must.Get(transferZone(follower.dns, "one.test."))(t)
		serial, content := withoutSOA(t, have)
		whole[serial] = content
	}
	l.endLoad()
	w.checkAll(ctx, t, l, e, one, other)
	z := must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
	_, _, text, err := readEntries(ctx, l.clients[0], z)
	if err != nil {
		t.Fatal(err)
	}
	_, want := withoutSOA(t, must.Get(parseZone(text, "one.test."))(t))
	for serial, content := range whole {
		body, err := l.clients[0].RESTClient().Get().Namespace(owner).Resource("zones").Name("one").SubResource("changes").
			Param("since", fmt.Sprint(serial)).Param("format", "text").Do(ctx).Raw()
		if err != nil {
			t.Errorf("changes since %d: %v", serial, err)
			continue
		}
		have := map[string]bool{}
		for _, rr := range content {
			have[rr] = true
		}
		for line := range strings.Lines(string(body)) {
			sign, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if sign != "+" && sign != "-" {
				continue
			}
			rr := must.Get(mdns.NewRR(rest))(t)
			if rr.Header().Rrtype != mdns.TypeSOA {
				if sign == "-" && !have[rr.String()] {
					t.Errorf("since %d something goes that was not there: %s", serial, rr)
				}
				have[rr.String()] = sign == "+"
			}
		}
		var now []string
		for rr, there := range have {
			if there {
				now = append(now, rr)
			}
		}
		slices.Sort(now)
		if !slices.Equal(now, want) {
			t.Errorf("the transfer at %d and the changes since do not make the zone:\n%s", serial, describeDifference(now, want))
		}
	}
	t.Logf("%d versions were transferred", len(whole))
}

// withoutSOA splits off the SOA, whose serial changes.
func withoutSOA(t *testing.T, all []string) (serial uint32, rest []string) {
	t.Helper()
	for _, text := range all {
		if !strings.Contains(text, "\tSOA\t") {
			rest = append(rest, text)
			continue
		}
		serial = must.Get(mdns.NewRR(text))(t).(*mdns.SOA).Serial
	}
	return serial, rest
}

// A server is killed for its memory while many clients list everything, and the clients repeat their lists at once. The
// server must start again under these lists, although its memory is limited (F27).
func TestF27_killedForItsMemory(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one)
	l.fillZone(ctx, t, chooseLong(300, 50000))
	listing, enough := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for listing.Err() == nil {
				if _, err := l.clients[0].Records("").List(listing, metav1.ListOptions{}); err != nil {
					time.Sleep(20 * time.Millisecond)
				}
				_, _ = l.clients[0].RESTClient().Get().Namespace(owner).Resource("zones").Name("one").SubResource("entries").DoRaw(listing)
			}
		})
	}
	for range 2 {
		began := time.Now()
		one.startReplica(ctx, t, "GOMEMLIMIT=48MiB")
		t.Logf("ready again after %s", time.Since(began).Round(time.Millisecond))
	}
	enough()
	all.Wait()
	w.checkAll(ctx, t, l, e, one)
}
