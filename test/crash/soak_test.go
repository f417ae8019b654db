// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"cmp"
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

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// TestSoak runs for -soak, else a single round and fault, or some minutes in the long form. A round has three etcd
// members, three servers, writers of Records and change sets, and clients that list and watch. -seed chooses the
// faults, which run in sequence before all checks. A failure prints the seed.
func TestSoak(t *testing.T) {
	lasting, most := time.Duration(0), 1
	if rig.Long() || *soak > 0 {
		lasting, most = cmp.Or(*soak, 3*time.Minute), 10
	}
	w := requireWorld(t)
	rnd := rand.New(rand.NewPCG(*seed, 0))
	t.Logf("seed %d", *seed)
	end := time.Now().Add(lasting)
	for round := 0; round == 0 || time.Now().Before(end); round++ {
		if !t.Run(fmt.Sprint(round), func(t *testing.T) { w.runRound(t, rnd, most) }) {
			return
		}
	}
}

func (w *world) runRound(t *testing.T, rnd *rand.Rand, most int) {
	ctx := within(t, 20*time.Minute)
	e := startEtcd(ctx, t, 3, false)
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(off string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(clock+".new", []byte(off), 0o600))
		must.Succeed(t, os.Rename(clock+".new", clock))
	}
	set("0s")
	servers := []*replica{
		w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints(),
			"KUBIZONE_CLOCK="+clock),
	}
	l := w.startLoad(ctx, t, servers...)
	readers := l.startWhole(ctx, 2)
	pause := func() { time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond) }
	faults := map[string]func(){
		"a server killed": func() { servers[rnd.IntN(2)].startReplica(ctx, t) },
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
			servers[n].startReplica(ctx, t)
		},
		"a server stopped": func() {
			s := servers[rnd.IntN(3)]
			_ = s.Signal(syscall.SIGSTOP)
			pause()
			_ = s.Signal(syscall.SIGCONT)
		},
		"a member killed": func() {
			m := e.members[rnd.IntN(3)]
			m.killMember()
			pause()
			m.startMember(t)
			m.waitReady(ctx, t)
		},
		"all members killed": func() {
			for _, m := range e.members {
				m.killMember()
			}
			for _, m := range e.members {
				m.startMember(t)
			}
			for _, m := range e.members {
				m.waitReady(ctx, t)
			}
		},
		"the leader stopped": func() {
			m := e.findLeader(ctx, t)
			m.sendSignal(syscall.SIGSTOP)
			pause()
			m.sendSignal(syscall.SIGCONT)
		},
		"a member cut off": func() {
			e.isolateMember(e.members[rnd.IntN(3)])
			pause()
			e.healMembers()
		},
		"servers cut off from a member": func() {
			m := e.members[rnd.IntN(3)]
			m.clients.partitionClients(nil)
			pause()
			m.clients.healClients()
		},
		"lines broken": func() {
			for _, m := range e.members {
				m.clients.resetConnections()
				m.peers.resetConnections()
			}
		},
		"lines slow": func() {
			for _, m := range e.members {
				m.clients.delayBytes(50 * time.Millisecond)
			}
			pause()
			for _, m := range e.members {
				m.clients.delayBytes(0)
			}
		},
		"a clock jumps": func() { set(fmt.Sprintf("%dh", rnd.IntN(20000)-10000)) },
		"history compacted": func() {
			keeper := connectMembers(t, e.members...)
			short, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if now, err := keeper.Get(short, "/"); err == nil {
				_, _ = keeper.Compact(short, now.Header.Revision)
				_, _ = keeper.Defragment(short, e.members[rnd.IntN(3)].Client)
			}
		},
		"a certificate replaced": func() {
			must.Succeed(t, servers[rnd.IntN(3)].Rotate(must.Get(w.kube.ClusterCA.Serving(kuberig.ServingHosts()...))(t)))
		},
	}
	names := slices.Sorted(maps.Keys(faults)) // sorted, so that only the seed chooses
	for range 1 + rnd.IntN(most) {
		name := names[rnd.IntN(len(names))]
		t.Logf("%s: %s", time.Now().Format(time.TimeOnly), name)
		faults[name]()
		l.waitAcked(ctx, t, 1+rnd.IntN(50))
	}
	l.endLoad()
	w.waitForCascades(ctx, t, e)
	l.checkWhole(ctx, t, readers)
	w.checkAll(ctx, t, l, e, servers...)
}
