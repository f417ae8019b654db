// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/noderig"
)

var restartRate = flag.Int("restart-rate", 0, "questions a second that TestCluster_restartsUnderQueries asks; 0: 300, and 5,000 in its long form")

const (
	restartServers, restartZones = 3, 20
	resolvers                    = 32
	// tryTimeout bounds a resolver's wait for a server before the next. It exceeds real resolvers', since servers
	// share the processors with other tests, and a lost query is never answered.
	tryTimeout = 3 * time.Second
)

// load queries as resolvers do: without an answer, or after a failure, the query goes to the next server.
type load struct {
	services []netip.AddrPort
	names    []string
	want     string
	// asked counts queries, again retries, wrong answers with other data, missing queries that no server answered.
	asked, again, wrong, missing atomic.Int64
	mu                           sync.Mutex
	samples                      []string
}

func (l *load) runLoad(ctx context.Context, rate int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	for range resolvers {
		asking.Go(func() {
			every := time.Second * resolvers / time.Duration(rate)
			next := time.Now().Add(rand.N(every))
			for ctx.Err() == nil {
				if wait := time.Until(next); wait > 0 {
					time.Sleep(wait) // the rate
				} else if wait < -time.Second {
					next = time.Now() // the machine is too slow for the rate: skip late queries
				}
				next = next.Add(every)
				l.resolveName(l.names[rand.IntN(len(l.names))])
			}
		})
	}
	return func() { cancel(); asking.Wait() }
}

func (l *load) resolveName(name string) {
	l.asked.Add(1)
	first, messages := rand.IntN(len(l.services)), []string{}
	for try := range l.services {
		if try > 0 {
			l.again.Add(1)
		}
		at := l.services[(first+try)%len(l.services)]
		question := new(mdns.Msg)
		question.SetQuestion(name, mdns.TypeA)
		question.RecursionDesired = false
		answer, _, err := (&mdns.Client{Timeout: tryTimeout, Dialer: &net.Dialer{LocalAddr: noderig.NextClient()}}).Exchange(question, at.String())
		switch {
		case err != nil:
			messages = append(messages, fmt.Sprintf("%s: %v", at, err))
		case answer.Rcode == mdns.RcodeServerFailure || answer.Rcode == mdns.RcodeRefused:
			messages = append(messages, fmt.Sprintf("%s: %s", at, mdns.RcodeToString[answer.Rcode]))
		default:
			if len(answer.Answer) != 1 || answer.Rcode != mdns.RcodeSuccess || !answer.Authoritative || answer.Answer[0].(*mdns.A).A.String() != l.want {
				l.wrong.Add(1)
				l.noteSample("%s at %s: %s %v", name, at, mdns.RcodeToString[answer.Rcode], answer.Answer)
			}
			if len(messages) > 0 {
				l.noteSample("%s after %q", name, messages)
			}
			return
		}
	}
	l.missing.Add(1)
	l.noteSample("%s: %q", name, messages)
}

func (l *load) noteSample(format string, arguments ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.samples) < 20 {
		l.samples = append(l.samples, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, arguments...))
	}
}

// TestCluster_restartsUnderQueries: while a new version of BIND replaces all pods of a cluster, no query gets a wrong
// answer or none. A query asks the servers of the NS set in turn, and counts as lost if no server answers in time.
func TestCluster_restartsUnderQueries(t *testing.T) {
	rate, forms := 300, map[string]*bind9.Storage{"volatile": nil}
	if rig.Long() {
		rate, forms["claims"] = 5000, &bind9.Storage{Type: bind9.StoragePersistentVolumeClaim, Capacity: "1Gi"}
	}
	if *restartRate > 0 {
		rate = *restartRate
	}
	for form, storage := range forms {
		t.Run(form, func(t *testing.T) { restartUnderQueries(t, "restart-"+form, storage, rate) })
	}
}

func restartUnderQueries(t *testing.T, namespace string, storage *bind9.Storage, rate int) {
	w := newWorld(t, namespace)
	w.runFleetWith(fleet.Config{Namespaces: []string{namespace}, Primaries: primaryAt(w.startDelivery())})
	clusters, zones := w.kubizone.Bind9V1alpha1().Bind9Clusters(namespace), w.kubizone.KubizoneV1alpha1().Zones(namespace)
	must.Get(clusters.Create(w.ctx, &bind9.Bind9Cluster{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{
		Secondary: &bind9.RoleSettings{Replicas: restartServers}, ServerSettings: bind9.ServerSettings{Version: "9.20", Storage: storage},
	}}, metav1.CreateOptions{}))(w.t)
	must.Get(w.kubizone.KubizoneV1alpha1().DNSClasses().Create(w.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: v1alpha1.DNSClassSpec{
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{namespace}},
		Bind9:      &v1alpha1.Bind9Provider{CatalogZone: namespace + ".catalog.example.", ClusterRef: &v1alpha1.Bind9ClusterReference{Namespace: namespace, Name: "prod"}},
	}}, metav1.CreateOptions{}))(w.t)
	l := &load{want: "192.0.2.1"}
	for i := range restartZones {
		name := fmt.Sprintf("z%d.%s.example.", i, namespace)
		must.Get(zones.Create(w.ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("z%d", i)}, Spec: v1alpha1.ZoneSpec{
			DomainName: name, DNSClassRefs: []v1alpha1.DNSClassReference{{Name: namespace}}, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
			Delegations: []v1alpha1.DelegationRule{{Namespace: namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
		}}, metav1.CreateOptions{}))(w.t)
		must.Get(w.kubizone.KubizoneV1alpha1().Records(namespace).Create(w.ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("www-z%d", i)}, Spec: v1alpha1.RecordSpec{
			DomainName: "www." + name, Type: "A", RData: l.want,
		}}, metav1.CreateOptions{}))(w.t)
		l.names = append(l.names, "www."+name)
	}
	for i := range restartServers {
		l.services = append(l.services, w.findService(fmt.Sprintf("prod-secondary-%d", i)))
	}
	w.waitZones()
	former := w.podUIDs()
	stop := l.runLoad(w.ctx, rate)
	began := time.Now()
	must.Get(clusters.Patch(w.ctx, "prod", types.MergePatchType, []byte(`{"spec":{"version":"9.18"}}`), metav1.PatchOptions{}))(w.t)
	w.waitUntil("every pod is another one, and ready", func() error {
		now := w.podUIDs()
		if len(now) != restartServers || slices.ContainsFunc(now, func(uid types.UID) bool { return slices.Contains(former, uid) }) {
			return fmt.Errorf("%d pods", len(now))
		}
		cluster, err := clusters.Get(w.ctx, "prod", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return expectCondition(cluster.Status.Conditions, bind9.ConditionReady, "True")
	})
	stop()
	elapsed := time.Since(began)
	t.Logf("%d questions in %s (%.0f a second), %d asked again of another server, %d wrong, %d missing",
		l.asked.Load(), elapsed.Round(time.Second), float64(l.asked.Load())/elapsed.Seconds(), l.again.Load(), l.wrong.Load(),
		l.missing.Load())
	for _, sample := range l.samples {
		t.Log(sample)
	}
	if l.wrong.Load() > 0 || l.missing.Load() > 0 || l.asked.Load() < 100 {
		t.Error("an answer is wrong or missing")
	}
	must.Succeed(w.t, zones.DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	must.Succeed(w.t, clusters.Delete(w.ctx, "prod", metav1.DeleteOptions{}))
	w.waitNothing(namespace)
	must.Succeed(w.t, w.kubizone.KubizoneV1alpha1().DNSClasses().Delete(w.ctx, namespace, metav1.DeleteOptions{}))
}

func (w *world) podUIDs() (uids []types.UID) {
	w.t.Helper()
	list := must.Get(w.core.CoreV1().Pods(w.namespace).List(w.ctx, metav1.ListOptions{}))(w.t)
	for i := range list.Items {
		uids = append(uids, list.Items[i].UID)
	}
	return uids
}
