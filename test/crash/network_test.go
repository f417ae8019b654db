// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

func (w *world) tryWrite(ctx context.Context, t *testing.T, r *replica) error {
	name := fmt.Sprintf("try-%d", rand.Uint64())
	_, err := w.clientsOf(t, r)[0].Records(owner).Create(ctx, makeTXT(owner, name, name+".one.test.", "x"), metav1.CreateOptions{})
	return err
}

// promised bounds a write while etcd does not answer. The server gives up after four of the five seconds, and the
// rest may be too short on a busy machine. So one of three writes must keep the promise; allowed bounds the others.
const promised, allowed = 5 * time.Second, 9 * time.Second

// refusesWrites: a write through this server fails soon, with an unknown outcome, or as not written if not sent.
func (w *world) refusesWrites(ctx context.Context, t *testing.T, r *replica) {
	t.Helper()
	late := 0
	// A write in flight at the cut does not count.
	until(ctx, t, "writes fail", func() error {
		began := time.Now()
		err := w.tryWrite(ctx, t, r)
		elapsed := time.Since(began)
		if err == nil {
			return fmt.Errorf("a write was acknowledged")
		}
		if code := apierrors.ReasonForError(err); code != metav1.StatusReasonTimeout && code != metav1.StatusReasonServerTimeout && code != metav1.StatusReasonServiceUnavailable || elapsed > allowed {
			t.Fatalf("after %s (promised: %s) a write ends with %s: %v", elapsed, promised, code, err)
		}
		t.Logf("after %s: %v", elapsed.Round(time.Millisecond), err)
		if elapsed > promised {
			if late++; late == 3 {
				t.Fatalf("three writes took longer than %s", promised)
			}
			return fmt.Errorf("it took %s, promised is %s", elapsed, promised)
		}
		return nil
	})
}

// The connection between a server and etcd goes silent (F7). Writes through that server soon fail, it becomes unready,
// its primary keeps answering, and after the repair everything works without help. The other server is unaffected.
func TestF07_serverCutOffFromEtcd(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 4*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	line := startProxy(t, e.members[0].clients.Addr)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, "http://"+line.Addr.String())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 20)
	follower := w.startPrimary(ctx, t, other)

	line.partitionClients(nil)
	w.refusesWrites(ctx, t, other)
	cut := time.Now()
	other.waitReady(ctx, t, w, false)
	t.Logf("not ready after another %s", time.Since(cut).Round(time.Millisecond))
	if rrs, err := transferZone(follower.dns, "one.test."); err != nil || len(rrs) < 3 {
		t.Errorf("the primary transfers %d records, %v", len(rrs), err)
	}
	l.waitAcked(ctx, t, 20)
	line.healClients()
	healed := time.Now()
	other.waitReady(ctx, t, w, true)
	until(ctx, t, "it writes again", func() error { return w.tryWrite(ctx, t, other) })
	t.Logf("it is ready and writes %s after the line is whole", time.Since(healed).Round(time.Millisecond))
	l.addServers(w, t, other)
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one, other)
}

// All connections to etcd are slow, lose data, and repeatedly break in the middle of a message (F9). No acknowledged
// write is lost.
func TestF09_slowAndBreakingLines(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 4*waitTimeout)
	e := startEtcd(ctx, t, 3, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	l.waitAcked(ctx, t, 20)
	for _, m := range e.members {
		m.clients.delayBytes(50 * time.Millisecond)
		m.peers.delayBytes(25 * time.Millisecond) // members still receive heartbeats within an election timeout
		m.clients.loseBytes(0.02, 0)
	}
	rnd := rand.New(rand.NewPCG(*seed, 9))
	for range chooseLong(4, 200) {
		l.waitAcked(ctx, t, 5)
		m := e.members[rnd.IntN(len(e.members))]
		if rnd.IntN(3) == 0 {
			m.peers.resetConnections()
		} else {
			m.clients.resetConnections()
		}
	}
	for _, m := range e.members {
		m.clients.delayBytes(0)
		m.peers.delayBytes(0)
		m.clients.loseBytes(0, 0)
	}
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one, other)
}

// F9: the connection to a primary loses 5 %, delays 100 ms and carries a megabit a second. Transfers arrive complete,
// and IXFR leads to the current zone. A connection that goes silent is an error, never a partial zone.
func TestF09_transfersOverABadLine(t *testing.T) {
	t.Parallel() // mostly waits
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one)
	l.fillZone(ctx, t, 300)
	follower := w.startPrimary(ctx, t, one)
	line := startProxy(t, netip.MustParseAddrPort(follower.dns))
	bad := line.Addr.String()

	whole := must.Get(transferZone(follower.dns, "one.test."))(t)
	line.swallowAfter(4000)
	if have, err := transferZone(bad, "one.test."); err == nil {
		t.Errorf("%d records of %d, the rest of which never came, pass for a zone", len(have), len(whole))
	}
	if line.swallowed == 0 {
		t.Fatal("nothing was swallowed")
	}
	line.swallowAfter(0)
	line.delayBytes(100 * time.Millisecond)
	line.loseBytes(0.05, 125_000)
	var have []string
	until(ctx, t, "the zone is transferred", func() (err error) { have, err = transferZone(bad, "one.test."); return err })
	if !slices.Equal(have, whole) {
		t.Errorf("transferred is not what is there:\n%s", describeDifference(have, whole))
	}
	for i := range 50 {
		name := fmt.Sprintf("fill-%d", i)
		must.Succeed(t, l.clients[0].Records(owner).Delete(ctx, name, metav1.DeleteOptions{}))
		l.setValue(owner+"/"+name, "-")
		must.Get(l.clients[0].Records(owner).Create(ctx, makeTXT(owner, "new-"+name, "new-"+name+".one.test.", "new"),
			metav1.CreateOptions{}))(t)
	}
	since, content := withoutSOA(t, have)
	now := uint32(must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t).Status.Serial)
	until(ctx, t, "the changes are transferred", func() error {
		answer, err := transferChanges(bad, "one.test.", since)
		if err != nil {
			return err
		}
		if at := answer[0].(*mdns.SOA).Serial; at != now {
			return fmt.Errorf("serial %d, want %d", at, now)
		}
		if len(answer) < 2 || answer[1].Header().Rrtype != mdns.TypeSOA {
			t.Fatal("the whole zone is transferred where the changes were asked for")
		}
		content = applyChanges(content, answer)
		return nil
	})
	_, want := withoutSOA(t, must.Get(transferZone(follower.dns, "one.test."))(t))
	if !slices.Equal(content, want) {
		t.Errorf("the changes since %d do not make the zone:\n%s", since, describeDifference(content, want))
	}
	w.checkAll(ctx, t, l, e, one)
}

// serials watches the zone "one" through all faults, and starts anew only if told to list.
type serials struct {
	mu    sync.Mutex
	last  int64
	wrong []string
}

func (w *world) watchSerials(ctx context.Context, t *testing.T, r *replica) *serials {
	t.Helper()
	s := &serials{}
	zones := w.clientsOf(t, r)[0].Zones(owner)
	go func() {
		version := ""
		for ctx.Err() == nil {
			if version == "" {
				z, err := zones.Get(ctx, "one", metav1.GetOptions{})
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				version = z.ResourceVersion
				s.noteSerial(z)
			}
			seconds := int64(5)
			events, err := zones.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=one", ResourceVersion: version, TimeoutSeconds: &seconds})
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				version = ""
			}
			if err != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			for event := range events.ResultChan() {
				if event.Type == watch.Error {
					if err := apierrors.FromObject(event.Object); apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
						version = ""
					}
					break
				}
				if z, ok := event.Object.(*v1alpha1.Zone); ok {
					version = z.ResourceVersion
					s.noteSerial(z)
				}
			}
			events.Stop()
		}
	}()
	return s
}

func (s *serials) noteSerial(z *v1alpha1.Zone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if z.Status.Serial < s.last {
		s.wrong = append(s.wrong, fmt.Sprintf("serial %d is shown after %d", z.Status.Serial, s.last))
	}
	s.last = z.Status.Serial
}

// waitForSerial also requires that the watch never went back.
func (s *serials) waitForSerial(ctx context.Context, t *testing.T, l *load) {
	t.Helper()
	z := must.Get(l.listServers()[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
	until(ctx, t, "the watch is at the zone's serial", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last != z.Status.Serial {
			return fmt.Errorf("serial %d, want %d", s.last, z.Status.Serial)
		}
		return nil
	})
	for _, wrong := range s.wrong {
		t.Error(wrong)
	}
}
