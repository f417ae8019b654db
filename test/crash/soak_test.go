// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/test/rig/kuberig"
)

// TestSoak goes on for -soak: rounds of three etcd members, three servers and sixteen writers, each with some faults
// that -seed chooses, one after the other, and everything checked after. A failure prints the seed, and the log what
// was done.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("-soak says for how long: make soak")
	}
	w := need(t)
	rnd := rand.New(rand.NewPCG(*seed, 0))
	t.Logf("seed %d", *seed)
	end := time.Now().Add(*soak)
	for round := 0; time.Now().Before(end); round++ {
		if !t.Run(fmt.Sprint(round), func(t *testing.T) { w.round(t, rnd) }) {
			return
		}
	}
}

func (w *world) round(t *testing.T, rnd *rand.Rand) {
	ctx := within(t, 20*time.Minute)
	e := startEtcd(ctx, t, 3, false)
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(off string) {
		t.Helper()
		if err := os.WriteFile(clock+".new", []byte(off), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(clock+".new", clock); err != nil {
			t.Fatal(err)
		}
	}
	set("0s")
	servers := []*replica{
		w.server(ctx, t, e.endpoints()), w.server(ctx, t, e.endpoints()), w.server(ctx, t, e.endpoints(), "KUBIZONE_CLOCK="+clock),
	}
	l := w.startLoad(ctx, t, servers...)
	pause := func() { time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond) }
	faults := map[string]func(){
		"a server killed": func() { servers[rnd.IntN(2)].start(ctx, t) },
		"a server killed in a window": func() {
			points := append([]string(nil), between...)
			for _, kind := range windows() {
				points = append(points, kind+"-before", kind+"-after")
			}
			n := rnd.IntN(2)
			short, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			point := fmt.Sprintf("%s:%d", points[rnd.IntN(len(points))], 1+rnd.IntN(10))
			t.Logf("  at %s", point)
			servers[n].mayDieAt(short, t, point)
			servers[n].start(ctx, t)
		},
		"a server stopped": func() {
			s := servers[rnd.IntN(3)]
			_ = s.Signal(syscall.SIGSTOP)
			pause()
			_ = s.Signal(syscall.SIGCONT)
		},
		"a member killed": func() {
			m := e.members[rnd.IntN(3)]
			m.kill()
			pause()
			m.start(t)
			m.waitReady(ctx, t)
		},
		"all members killed": func() {
			for _, m := range e.members {
				m.kill()
			}
			for _, m := range e.members {
				m.start(t)
			}
			for _, m := range e.members {
				m.waitReady(ctx, t)
			}
		},
		"the leader stopped": func() {
			m := e.leader(ctx, t)
			m.signal(syscall.SIGSTOP)
			pause()
			m.signal(syscall.SIGCONT)
		},
		"a member cut off": func() {
			e.isolate(e.members[rnd.IntN(3)])
			pause()
			e.heal()
		},
		"servers cut off from a member": func() {
			m := e.members[rnd.IntN(3)]
			m.clients.partition(nil)
			pause()
			m.clients.heal()
		},
		"lines broken": func() {
			for _, m := range e.members {
				m.clients.reset()
				m.peers.reset()
			}
		},
		"lines slow": func() {
			for _, m := range e.members {
				m.clients.late(50 * time.Millisecond)
			}
			pause()
			for _, m := range e.members {
				m.clients.late(0)
			}
		},
		"a clock jumps": func() { set(fmt.Sprintf("%dh", rnd.IntN(20000)-10000)) },
		"history compacted": func() {
			keeper := client(t, e.members...)
			short, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if now, err := keeper.Get(short, "/"); err == nil {
				_, _ = keeper.Compact(short, now.Header.Revision)
				_, _ = keeper.Defragment(short, e.members[rnd.IntN(3)].Client)
			}
		},
		"a certificate replaced": func() {
			if err := servers[rnd.IntN(3)].Rotate(must(w.kube.ClusterCA.Serving(kuberig.ServingHosts()...))(t)); err != nil {
				t.Fatal(err)
			}
		},
	}
	names := slices.Sorted(maps.Keys(faults)) // the seed alone chooses
	for range 3 + rnd.IntN(8) {
		name := names[rnd.IntN(len(names))]
		t.Logf("%s: %s", time.Now().Format(time.TimeOnly), name)
		faults[name]()
		l.waitAcked(ctx, t, 1+rnd.IntN(50))
	}
	w.check(ctx, t, l, e, servers...)
}
