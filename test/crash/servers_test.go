// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// Two servers, whose clocks are an hour apart, write a single zone all the time (F6). First its serials pass 2^32
// (F18): 0 is skipped, and new serials are ahead of the old ones by RFC 1982. Then each write gets a serial of its own,
// without gaps, and with -soak two servers together reach at least half the rate of one. At last a clock jumps by more
// than a year and back (F15): serials still grow by one, and earlier decisions stay in force.
func TestF06_F15_F18_twoServersOneZone(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	clock := filepath.Join(t.TempDir(), "clock")
	set := func(off string) {
		t.Helper()
		next := clock + ".new"
		must.Succeed(t, errors.Join(os.WriteFile(next, []byte(off), 0o600), os.Rename(next, clock)))
	}
	set("-1h")
	one, other := w.startServer(ctx, t, e.listEndpoints(), "KUBIZONE_CLOCK="+clock), w.startServer(ctx, t, e.listEndpoints())
	l := w.newLoad(ctx, t, one, other)
	serial := func() int64 {
		t.Helper()
		return must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t).Status.Serial
	}
	const edge = 1<<32 - 6
	for _, serial := range []int64{4000000000, edge} {
		z := must.Get(l.clients[0].Zones(owner).Get(ctx, "one", metav1.GetOptions{}))(t)
		z.Spec.MinimumSerial = &serial
		if z = must.Get(l.clients[0].Zones(owner).Update(ctx, z, metav1.UpdateOptions{}))(t); z.Status.Serial != serial {
			t.Fatalf("the serial is %d, want %d", z.Status.Serial, serial)
		}
	}
	team := listTeams()[0]
	writeAtOnce := func(round, writes int, servers []typed.KubizoneV1alpha1Interface) (rate float64) {
		began := time.Now()
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for n := range writes / 8 {
					name := fmt.Sprintf("at-once%d-%d-%d", round, i, n)
					if _, ok := l.makeWrite(team+"/"+name, "x", func(ctx context.Context) (*v1alpha1.Record, error) {
						record := makeTXT(team, name, name+".one.test.", "x")
						return servers[i%len(servers)].Records(team).Create(ctx, record, metav1.CreateOptions{})
					}); !ok {
						t.Errorf("%s was not written", name)
					}
				}
			})
		}
		all.Wait()
		return float64(writes) / time.Since(began).Seconds()
	}
	writeAtOnce(0, 16, l.clients)
	if now := serial(); now >= edge || now == 0 || int32(uint32(now)-uint32(edge)) <= 0 {
		t.Errorf("after %d the serial is %d", edge, now)
	}

	writes := chooseLong(40, 400)
	var rates [2]float64
	for round, servers := range [][]typed.KubizoneV1alpha1Interface{l.clients[:1], l.clients} {
		before := serial()
		rates[round] = writeAtOnce(1+round, writes, servers)
		if grown := serial() - before; grown != int64(writes) {
			t.Errorf("%d writes are %d serials", writes, grown)
		}
		t.Logf("%d servers: %.0f writes a second", len(servers), rates[round])
	}
	if *soak > 0 && rates[1] < rates[0]/2 {
		t.Errorf("two servers write %.0f a second, one alone %.0f", rates[1], rates[0])
	}

	watch := w.watchSerials(ctx, t, other)
	l.startLoad(ctx)
	for _, off := range []string{"1h", "-1h", "9600h", "0s", "-9600h", "0s"} {
		l.waitAcked(ctx, t, 15)
		set(off)
	}
	l.waitAcked(ctx, t, 15)
	w.checkAll(ctx, t, l, e, one, other)
	watch.waitForSerial(ctx, t, l)
}

// informer stores the result of list and watch, as controllers do, and counts lists.
type informer struct {
	cache.Store
	lists atomic.Int64
}

func followRecords(ctx context.Context, from typed.KubizoneV1alpha1Interface) *informer {
	i := &informer{Store: cache.NewStore(cache.MetaNamespaceKeyFunc)}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			i.lists.Add(1)
			return from.Records("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil && *o.SendInitialEvents {
				i.lists.Add(1) // equivalent to a list
			}
			return from.Records("").Watch(ctx, o)
		},
	}
	go cache.NewReflector(source, &v1alpha1.Record{}, i, 0).RunWithContext(ctx)
	return i
}

func (i *informer) waitForRecords(ctx context.Context, t *testing.T, from typed.KubizoneV1alpha1Interface) {
	t.Helper()
	until(ctx, t, "the watch shows what is there", func() error {
		want, err := from.Records("").List(ctx, metav1.ListOptions{}) // listed anew each time, since cascades may go on
		if err != nil {
			return err
		}
		have := map[string]string{}
		for _, object := range i.List() {
			r := object.(*v1alpha1.Record)
			have[r.Namespace+"/"+r.Name] = r.ResourceVersion
		}
		for _, r := range want.Items {
			if have[r.Namespace+"/"+r.Name] != r.ResourceVersion {
				return fmt.Errorf("%s/%s is at %q, want %s", r.Namespace, r.Name, have[r.Namespace+"/"+r.Name], r.ResourceVersion)
			}
		}
		if len(have) != len(want.Items) {
			return fmt.Errorf("%d records, want %d", len(have), len(want.Items))
		}
		return nil
	})
}

// F13, F14: etcd is compacted and defragmented under load, and servers restart under watches. A resumed watch gets
// every later event in order, or 410, and reaches the current state, deletions included.
func TestF13_F14_watchesThroughCompactionAndRestart(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one, other := w.startServer(ctx, t, e.listEndpoints()), w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one, other)
	watching, enough := context.WithCancel(ctx)
	defer enough()
	var watchers []*informer
	for range chooseLong(20, 1000) {
		watchers = append(watchers, followRecords(watching, l.clients[1]))
	}
	l.waitAcked(ctx, t, 20)
	old := must.Get(l.clients[1].Records("").List(ctx, metav1.ListOptions{Limit: 1}))(t).ResourceVersion

	keeper := connectMembers(t, e.members[0])
	l.waitAcked(ctx, t, 20)
	now := must.Get(keeper.Get(ctx, "/"))(t).Header.Revision
	must.Get(keeper.Compact(ctx, now))(t)
	must.Get(keeper.Defragment(ctx, e.members[0].Client))(t)
	l.waitAcked(ctx, t, 20)
	other.startReplica(ctx, t) // killed first
	// A watch from before the compaction, at a server without the old events: 410, or every event in order.
	last, _ := strconv.ParseInt(old, 10, 64)
	seconds := int64(2)
	resumed, err := w.clientsOf(t, other)[0].Records("").Watch(ctx, metav1.ListOptions{ResourceVersion: old, TimeoutSeconds: &seconds})
	if err == nil {
		for event := range resumed.ResultChan() {
			if event.Type == watch.Error {
				err = apierrors.FromObject(event.Object)
				break
			}
			version, _ := strconv.ParseInt(event.Object.(*v1alpha1.Record).ResourceVersion, 10, 64)
			if version <= last {
				t.Errorf("revision %d is shown after %d", version, last)
			}
			last = version
		}
	}
	if err != nil && !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from a compacted revision ends with %v", err)
	}
	t.Logf("from a compacted revision: %v", err)
	l.waitAcked(ctx, t, 20)
	l.endLoad()
	lists := int64(0)
	for _, i := range watchers {
		i.waitForRecords(ctx, t, l.clients[0])
		lists += i.lists.Load()
	}
	t.Logf("%d watches through a restart, %d lists", len(watchers), lists)
	// Lists at the start, after a 410 from a server without the watch's events, and after a request during the
	// server's start.
	if most := int64(3 * len(watchers)); lists > most {
		t.Errorf("%d watches listed %d times through a restart, want %d at most", len(watchers), lists, most)
	}
	enough()
	w.checkAll(ctx, t, l, e, one, other)
}

// The serving certificate is replaced repeatedly under load, and no request fails (F26). Then kube-apiserver, which the
// server asks for permissions, does not respond (F25, attack 46). Users with a cached permission continue, others are
// refused, the primary serves, and everything recovers without help.
func TestF25_F26_certificatesRotateAndKubeAPIServerAway(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	one := w.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	shown := func() string {
		seen := ""
		connection, err := tls.Dial("tcp", one.Addr.String(), &tls.Config{InsecureSkipVerify: true}) // the test inspects the certificate
		if err == nil {
			seen = connection.ConnectionState().PeerCertificates[0].SerialNumber.String()
			connection.Close()
		}
		return seen
	}
	for range chooseLong(2, 10) {
		before := shown()
		must.Succeed(t, one.Rotate(must.Get(w.kube.ClusterCA.Serving(kuberig.ServingHosts()...))(t)))
		until(ctx, t, "the new certificate is served", func() error {
			if now := shown(); now == "" || now == before {
				return errors.New("it is the old one")
			}
			return nil
		})
		l.waitAcked(ctx, t, 10)
	}
	l.mu.Lock()
	unanswered := l.unknown["no answer"]
	l.mu.Unlock()
	if unanswered > 0 {
		t.Errorf("%d requests had no answer", unanswered)
	}

	follower := w.startPrimary(ctx, t, one)
	stranger := must.Get(one.Direct(must.Get(w.kube.Tenant("stranger"))(t)))(t)
	stranger.Timeout = 3 * time.Second // the answer itself takes longer, and is in test/cluster (TestIdentity_noAnswerIsNoPermission)
	unknown := must.Get(typed.NewForConfig(stranger))(t)
	must.Succeed(t, w.kube.Pause())
	resume := sync.OnceValue(w.kube.Resume)
	defer resume()
	l.waitAcked(ctx, t, 20)
	if _, err := unknown.Records(owner).List(ctx, metav1.ListOptions{}); err == nil {
		t.Error("a client was admitted without an answer of the authority")
	} else {
		t.Logf("a stranger reads %v", err)
	}
	if rrs, err := transferZone(follower.dns, "one.test."); err != nil || len(rrs) < 3 {
		t.Errorf("the primary transfers %d records, %v", len(rrs), err)
	}
	must.Succeed(t, resume())
	l.waitAcked(ctx, t, 20)
	w.checkAll(ctx, t, l, e, one)
}

// A server has no free file descriptors (F29). It accepts no connections, but continues with the open ones, and accepts
// again when clients close theirs. Package primary tests its own bound of connections.
func TestF29_fileDescriptorsExhausted(t *testing.T) {
	w := requireWorld(t)
	ctx := within(t, 3*waitTimeout)
	e := startEtcd(ctx, t, 1, false)
	script := filepath.Join(t.TempDir(), "limited")
	const descriptors = 120
	must.Succeed(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d\nexec %s \"$@\"\n", descriptors, w.program), 0o700))
	limited := *w
	limited.program = script
	one := limited.startServer(ctx, t, e.listEndpoints())
	l := w.startLoad(ctx, t, one)
	l.waitAcked(ctx, t, 10)
	var idle []net.Conn
	for range 200 {
		if c, err := net.DialTimeout("tcp", one.Addr.String(), time.Second); err == nil {
			idle = append(idle, c)
		}
	}
	until(ctx, t, "it has as many as it may", func() error {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", one.Pid()))
		if err == nil && len(open) < descriptors {
			err = fmt.Errorf("%d of %d", len(open), descriptors)
		}
		return err
	})
	until(ctx, t, "it says that it takes no more connections", func() error {
		if !strings.Contains(one.Log(), "too many open files") {
			return errors.New(keepLastLines(one.Log(), 5))
		}
		return nil
	})
	l.waitAcked(ctx, t, 20)
	for _, c := range idle {
		c.Close()
	}
	one.waitReady(ctx, t, w, true)
	l.waitAcked(ctx, t, 10)
	w.checkAll(ctx, t, l, e, one)
}
