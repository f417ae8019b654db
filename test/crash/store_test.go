// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// chooseLong returns the length or number of a fault: short in the ordinary run.
func chooseLong[T any](ordinary, soaking T) T {
	if *soak > 0 {
		return soaking
	}
	return ordinary
}

// The only etcd is killed under load and started again (F2). The servers survive, and writes succeed again soon after
// the restart.
func TestF02_onlyEtcdKilled(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	for range 2 {
		l.waitAcked(ctx, t, 40)
		e.members[0].killMember()
		e.members[0].startMember(t)
		e.members[0].waitReady(ctx, t)
	}
	l.waitAcked(ctx, t, 40)
	w.checkAll(ctx, t, l, e, one, other)
}

// leaderless bounds the time without an answered write after the loss of a leader. The election takes up to two
// election timeouts. A write in flight to the old leader is answered after four seconds, with an unknown outcome, and
// later writes of the zone wait for that. The rest is for a busy machine.
const leaderless = 2*election + allowed

// Of three etcd members the leader is killed (F3), and the next leader is stopped until another is elected (F4). Writes
// go on with two members. The stopped member wakes with old data, and a server that knows only this member must not
// read them (etcd#20418).
func TestF03_F04_leaderKilledAndLeaderStopped(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 4*waitTimeout)
	e := startEtcd(ctx, t, 3, false)
	// One server knows all members, another only the stopped leader, and so reads only from that member.
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)

	killed := e.findLeader(ctx, t)
	l.measurePause()
	killed.killMember()
	l.waitAcked(ctx, t, 20)
	if pause := l.measurePause(); pause > leaderless {
		t.Errorf("no write was answered for %s after the leader was killed, want %s at most", pause, leaderless)
	} else {
		t.Logf("the longest pause with the leader killed is %s", pause.Round(time.Millisecond))
	}
	killed.startMember(t)
	killed.waitReady(ctx, t)

	stopped := e.findLeader(ctx, t)
	other := w.startServer(ctx, t, stopped.makeEndpoint())
	l.addServers(w, t, other)
	l.waitAcked(ctx, t, 20)
	others := *e
	others.members = slices.DeleteFunc(slices.Clone(e.members), func(m *member) bool { return m == stopped })
	w.stopAndWake(ctx, t, stopped, w.startServer(ctx, t, others.listEndpoints()), other)
	l.waitAcked(ctx, t, 40)
	w.checkAll(ctx, t, l, e, one, other)
}

// stopAndWake stops the leader until there is another, while a record changes through another server. Clients of the
// woken member, through a server that knows no other and directly, must never read a value older than an answer
// before the query.
func (w *world) stopAndWake(ctx context.Context, t *testing.T, stopped *member, knows, asks *replica) {
	t.Helper()
	const name = "newest"
	api, asked := w.clientsOf(t, knows)[0], w.clientsOf(t, asks)[0].Records(owner)
	must.Get(api.Zones(owner).Create(ctx, makeZone(owner, "quiet", "quiet.test.", anyName), metav1.CreateOptions{}))(t)
	records := api.Records(owner)
	newest := must.Get(records.Create(ctx, makeTXT(owner, name, name+".quiet.test.", "0"), metav1.CreateOptions{}))(t)
	var answered, revision, read atomic.Int64
	n := 0
	change := func() {
		n++
		newest.Spec.Values = []string{strconv.Itoa(n)}
		next, err := records.Update(ctx, newest, metav1.UpdateOptions{})
		if err != nil {
			if have, err := records.Get(ctx, name, metav1.GetOptions{}); err == nil {
				newest = have
			}
			return
		}
		newest = next
		at, _ := strconv.ParseInt(newest.ResourceVersion, 10, 64)
		revision.Store(at)
		answered.Store(int64(n))
	}
	stopped.sendSignal(syscall.SIGSTOP)
	time.Sleep(chooseLong(4*election, 10*time.Second)) // length of the fault
	for answered.Load() == 0 {
		if change(); ctx.Err() != nil {
			t.Fatal("nothing can be written while the leader stands still")
		}
	}
	asking, enough := context.WithCancel(ctx)
	defer enough()
	var all sync.WaitGroup
	ask := func(what string, question func() (shows, least int64, err error)) {
		all.Go(func() {
			for asking.Err() == nil {
				shows, least, err := question()
				if err != nil {
					time.Sleep(10 * time.Millisecond)
				} else if read.Add(1); shows < least {
					t.Errorf("%s shows %d, and %d was answered before", what, shows, least)
				}
			}
		})
	}
	for range 4 {
		etcd := connectMembers(t, stopped)
		ask("the member, by its revision,", func() (int64, int64, error) {
			least := revision.Load()
			r, err := etcd.Get(asking, stored)
			if err != nil {
				return 0, 0, err
			}
			return subrev.Version(r.Header.Revision, subrev.Last), least, nil
		})
		ask("its server, of a record,", func() (int64, int64, error) {
			least := answered.Load()
			have, err := asked.Get(asking, name, metav1.GetOptions{})
			if err != nil {
				if apierrors.IsNotFound(err) {
					return -1, least, nil
				}
				return 0, 0, err
			}
			shows, err := strconv.ParseInt(have.Spec.Values[0], 10, 64)
			return shows, least, err
		})
	}
	time.Sleep(100 * time.Millisecond) // the queries wait for the woken member
	stopped.sendSignal(syscall.SIGCONT)
	for end := time.Now().Add(chooseLong(2*time.Second, 5*time.Second)); time.Now().Before(end) || read.Load() < 20; {
		if change(); ctx.Err() != nil {
			t.Fatalf("%d questions were answered after it woke", read.Load())
		}
	}
	enough()
	all.Wait()
	t.Logf("%d questions were answered, up to %d changes", read.Load(), answered.Load())
}

// The etcd member of a server is cut off from the other members (F8). This server writes nothing, and shows nothing
// older than before; servers of the majority continue. After the repair it recovers without help.
func TestF08_serverOnTheMinoritySide(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 4*waitTimeout)
	e := startEtcd(ctx, t, 3, false)
	lonely := e.members[0]
	major := w.startServer(ctx, t, e.members[1].makeEndpoint()+","+e.members[2].makeEndpoint())
	minor := w.startServer(ctx, t, lonely.makeEndpoint())
	l := w.startLoad(ctx, t, major)
	watch := w.watchSerials(ctx, t, minor)
	l.waitAcked(ctx, t, 20)

	e.isolateMember(lonely)
	w.refusesWrites(ctx, t, minor)
	l.waitAcked(ctx, t, 20)
	e.healMembers()
	until(ctx, t, "the minority's server writes again", func() error { return w.tryWrite(ctx, t, minor) })
	l.addServers(w, t, minor)
	l.waitAcked(ctx, t, 40)
	w.checkAll(ctx, t, l, e, major, minor)
	watch.waitForSerial(ctx, t, l)
}

// F10: the disk of the only etcd is full, and etcd stops rather than lie. Reads from memory work: a primary's
// answers, and lists that may be stale. Once there is space, etcd goes on with every acknowledged write.
// (pkg/apiserver/space_test.go tests etcd's quota.)
func TestF10_diskFull(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	disk := smallDisk(t, 320<<20)
	e := startEtcd(ctx, t, 1, true, filepath.Join(disk, "member"))
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)
	follower := w.startPrimary(ctx, t, one)

	ballast := filepath.Join(disk, "ballast")
	fillDisk(t, ballast)
	// Allocated pages may still be written, so new history is written until nothing more fits.
	churn := connectMembers(t, e.members[0])
	value := string(make([]byte, 1<<20))
	for n := 0; ; n++ {
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := churn.Put(short, "/ballast", value)
		cancel()
		if err != nil {
			t.Logf("after %d MiB: %v", n, err)
			break
		}
		if n == 1000 {
			t.Fatal("a gigabyte fits on a full disk")
		}
	}
	if err := w.tryWrite(ctx, t, one); err == nil {
		t.Error("a write was acknowledged that no disk has")
	}
	if rrs, err := transferZone(follower.dns, "one.test."); err != nil || len(rrs) < 3 {
		t.Errorf("the primary transfers %d records, %v", len(rrs), err)
	}
	if all, err := l.clients[0].Records("").List(ctx, metav1.ListOptions{ResourceVersion: "0"}); err != nil || len(all.Items) == 0 {
		t.Errorf("the server lists %d records, %v", len(all.Items), err)
	}
	must.Succeed(t, os.Remove(ballast))
	e.members[0].killMember() // ended already, or hangs
	e.members[0].startMember(t)
	e.members[0].waitReady(ctx, t)
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one)
}

func smallDisk(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Logf("a small disk cannot be mounted: %v", err)
		rig.SkipMissing(t, &rig.Missing{Program: "the right to mount a file system", Install: "being root"})
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	file := must.Get(os.Create(path))(t)
	defer file.Close()
	block := make([]byte, 1<<20)
	for {
		if _, err := file.Write(block); err != nil {
			return
		}
	}
}

// The disk of the only etcd becomes very slow, then writes to it fail (F11). etcd ends, as it must, and after its
// restart no acknowledged write is lost.
func TestF11_slowAndFailingDisk(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	m := e.members[0]
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	l.waitAcked(ctx, t, 20)
	for until := time.Now().Add(chooseLong(2*time.Second, 10*time.Second)); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		m.sendSignal(syscall.SIGSTOP)
		time.Sleep(200 * time.Millisecond)
		m.sendSignal(syscall.SIGCONT)
	}
	l.waitAcked(ctx, t, 20)

	m.sendSignal(syscall.SIGUSR1) // from now on, writes beyond the first octet of a file fail
	select {
	case <-m.ended:
	case <-ctx.Done():
		t.Fatal("etcd goes on after its disk failed")
	}
	m.startMember(t)
	m.waitReady(ctx, t)
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one, other)
}

// A server is stopped before or after the transaction of a write, so also between decision and transaction, while
// another server writes the same zones (F5). After it wakes, no outdated decision is written, and no acknowledged write
// is lost.
func TestF05_serverStoppedInAWrite(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	points := []string{"record-put-before:7", "batch-before:2", "batch-after:4"}
	if *soak > 0 {
		for _, kind := range windows() {
			points = append(points, kind+"-before:3", kind+"-after:3")
		}
	}
	for _, point := range points {
		armed := filepath.Join(t.TempDir(), "armed")
		other.startReplica(ctx, t, "KUBIZONE_FAULT="+point+":stop", "KUBIZONE_FAULT_WITH="+armed)
		must.Succeed(t, os.WriteFile(armed, nil, 0o600))
		until(ctx, t, "it stops at "+point, func() error { return expectStopped(other.Pid()) })
		for range 4 { // the whole load may be waiting for the stopped server
			until(ctx, t, "the other writes", func() error { return w.tryWrite(ctx, t, one) })
		}
		time.Sleep(chooseLong(500*time.Millisecond, 10*time.Second)) // length of the fault
		must.Succeed(t, other.Signal(syscall.SIGCONT))
		l.waitAcked(ctx, t, 20)
	}
	w.checkAll(ctx, t, l, e, one, other)
}

func expectStopped(pid int) error {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return err
	}
	if _, rest, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(rest, "T") {
		return fmt.Errorf("its state is %.1s", rest)
	}
	return nil
}
