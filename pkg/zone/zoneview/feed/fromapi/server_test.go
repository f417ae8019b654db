// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fromapi_test

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/pkg/zone/zoneview/feed/fromapi"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/standalone"
)

// server is a whole server that tests can restart.
type server struct {
	*standalone.Server
	t      *testing.T
	dir    string
	config *rest.Config
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{t: t, dir: filepath.Join(t.TempDir(), "data")}
	s.startServer()
	return s
}

func (s *server) startServer() {
	s.t.Helper()
	s.Server = standalone.Start(s.t, standalone.DataDir(s.dir))
	s.config = must.Get(clientcmd.BuildConfigFromFlags("", s.Kubeconfig))(s.t)
	s.config.QPS = -1
}

func (s *server) readAddress() netip.AddrPort {
	s.t.Helper()
	at := must.Get(url.Parse(s.config.Host))(s.t)
	return netip.MustParseAddrPort(at.Host)
}

type fed struct {
	*zoneview.Set
	feed     *fromapi.Source
	registry metrics.KubeRegistry
	stop     func()
}

// trimZone keeps only the fields that Config.Zones requires.
func trimZone(object any) (any, error) {
	if zone, ok := object.(*v1alpha1.Zone); ok {
		zone.ManagedFields, zone.Annotations, zone.Spec = nil, nil, v1alpha1.ZoneSpec{}
	}
	return object, nil
}

func (s *server) startFeed(host string, interest func(*v1alpha1.Zone) bool) *fed {
	s.t.Helper()
	config := rest.CopyConfig(s.config)
	config.Host = "https://" + host
	client := must.Get(versioned.NewForConfig(config))(s.t)
	factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithTransform(trimZone))
	set := zoneview.NewSet(zoneview.Config{})
	registry := metrics.NewKubeRegistry()
	f, err := fromapi.New(fromapi.Config{Client: client.KubizoneV1alpha1().RESTClient(), Zones: factory.Kubizone().V1alpha1().Zones(), Set: set, Interest: interest, Registry: registry})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	one := &fed{Set: set, feed: f, registry: registry, stop: sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("the feed: %v", err)
		}
		factory.Shutdown()
	})}
	s.t.Cleanup(one.stop)
	return one
}

func (f *fed) waitForSync(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.feed.Wait(ctx); err != nil {
		t.Fatal(err, f.feed.Check())
	}
	if err := f.feed.Check(); err != nil {
		t.Error(err)
	}
}

func (s *server) waitEqual(f *fed, interest func(*v1alpha1.Zone) bool) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		difference := s.compareViews(f, interest)
		if difference == "" {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal(difference)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *server) compareViews(f *fed, interest func(*v1alpha1.Zone) bool) string {
	s.t.Helper()
	list := must.Get(s.KubizoneV1alpha1().Zones("").List(s.t.Context(), metav1.ListOptions{}))(s.t)
	there := map[string]bool{}
	for _, zone := range list.Items {
		if interest != nil && !interest(&zone) {
			continue
		}
		there[string(zone.UID)] = true
		if zone.Status.Serial != zone.Status.SettledSerial {
			return "zone " + zone.Name + " is not settled"
		}
		snapshot, ok := f.Settled(string(zone.UID))
		if !ok {
			return "zone " + zone.Name + " is not in"
		}
		if int64(snapshot.Serial()) != zone.Status.Serial {
			return fmt.Sprintf("zone %s: serial %d, the server has %d", zone.Name, snapshot.Serial(), zone.Status.Serial)
		}
		entries := must.Get(s.KubizoneV1alpha1().Zones(zone.Namespace).GetEntries(s.t.Context(), zone.Name, metav1.GetOptions{}))(s.t)
		if entries.Serial != zone.Status.Serial {
			return "zone " + zone.Name + " goes on"
		}
		var want, got []string
		for _, entry := range entries.Entries {
			want = append(want, fmt.Sprint(entry.FQDN, " ", entry.TTL, " ", entry.Type, " ", entry.RData))
		}
		for entry := range snapshot.Entries() {
			got = append(got, fmt.Sprint(entry.Name, " ", entry.TTL, " ", entry.Type, " ", entry.Data))
		}
		if !slices.Equal(want, got) {
			s.t.Fatalf("zone %s, serial %d: the server has\n%s\nthe view\n%s", zone.Name, zone.Status.Serial, strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
		if snapshot.Zone() != (zoneview.Zone{UID: string(zone.UID), View: zone.Status.View, Namespace: zone.Namespace, Name: zone.Name}) {
			s.t.Fatalf("zone %s is %+v", zone.Name, snapshot.Zone())
		}
		if found, ok := f.Find(zone.Status.View, snapshot.FQDN()); !ok || found.Zone().UID != string(zone.UID) {
			return "zone " + zone.Name + " is not found by its name"
		}
	}
	for snapshot := range f.All() {
		if !there[snapshot.Zone().UID] {
			return snapshot.String() + " is there no more"
		}
	}
	return ""
}

func (s *server) makeZone(namespace, name string, spec v1alpha1.ZoneSpec) *v1alpha1.Zone {
	s.t.Helper()
	if spec.Delegations == nil {
		spec.Delegations = []v1alpha1.DelegationRule{{Records: []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}}, Zones: []string{"*"}}}
	}
	if spec.NameServers == nil {
		spec.NameServers = []v1alpha1.NameServer{{Name: "ns", Addresses: []string{"192.0.2.53"}}}
	}
	if spec.Limits == nil { // Tests withdraw rules and wait for the result (S7.5).
		spec.Limits = &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))}
	}
	zone, err := s.KubizoneV1alpha1().Zones(namespace).Create(s.t.Context(), &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return zone
}

func (s *server) makeRecord(namespace, name string, spec v1alpha1.RecordSpec) {
	s.t.Helper()
	writeAgain(s.t, func() error {
		_, err := s.KubizoneV1alpha1().Records(namespace).Create(s.t.Context(), &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
		return err
	})
}

func behindBalancer(t *testing.T, s *server) *rig.Balancer {
	t.Helper()
	b := must.Get(rig.StartBalancer())(t)
	t.Cleanup(b.Close)
	b.Set(s.readAddress())
	waitReady(t, b, 1)
	return b
}

func waitReady(t *testing.T, b *rig.Balancer, backends int) {
	t.Helper()
	must.Eventually(t, fmt.Sprint("the balancer has ", backends, " backends"), func() bool { return b.Ready() == backends })
}
