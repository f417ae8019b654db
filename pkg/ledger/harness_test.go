// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
)

const testPrefix = "/registry/kubizone"

// server is one API server's share: a ledger and the storage it decorates.
type server struct {
	t       testing.TB
	ctx     context.Context
	l       *Ledger
	zones   storage.Interface
	records storage.Interface
}

// startEtcd runs one etcd member in a directory of its own.
func startEtcd(t testing.TB) *kubernetes.Client { return testserver.RunEtcd(t, nil) }

func newServer(t testing.TB, client *kubernetes.Client, change ...func(*Config)) *server {
	t.Helper()
	registry := install.New()
	codec := registry.Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)
	config := Config{Client: client.Client, Prefix: testPrefix,
		Zones: ObjectCodec{Codec: codec}, Records: ObjectCodec{Codec: codec}}
	for _, f := range change {
		f(&config)
	}
	ctx := t.Context()
	l, err := Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	raw := func(resource string, newFunc, newListFunc func() runtime.Object) storage.Interface {
		versioner := storage.APIObjectVersioner{}
		compactor := etcd3.NewCompactor(client.Client, 0, nil, nil)
		t.Cleanup(compactor.Stop)
		s, err := etcd3.New(Seam(client), compactor, codec, newFunc, newListFunc, testPrefix, "/kubi.zone/"+resource,
			v1alpha1.Resource(resource), identity.NewEncryptCheckTransformer(), etcd3.NewDefaultLeaseManagerConfig(),
			etcd3.NewDefaultDecoder(codec, versioner), versioner)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		return s
	}
	s := &server{t: t, ctx: ctx, l: l}
	s.zones = l.Zones(raw("zones", func() runtime.Object { return &v1alpha1.Zone{} }, func() runtime.Object { return &v1alpha1.ZoneList{} }))
	s.records = l.Records(raw("records", func() runtime.Object { return &v1alpha1.Record{} }, func() runtime.Object { return &v1alpha1.RecordList{} }))
	return s
}

// run carries out cascades in the background until the test ends.
func (s *server) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.l.Run(ctx) }()
	s.t.Cleanup(func() { cancel(); <-done })
}

func objectMeta(ns, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID(uuid.NewUUID()), Generation: 1, CreationTimestamp: metav1.NewTime(time.Now().Truncate(time.Second))}
}

func zoneObject(ns, name, domain string, delegations ...v1alpha1.Delegation) *v1alpha1.Zone {
	z := &v1alpha1.Zone{ObjectMeta: objectMeta(ns, name)}
	z.Spec.DomainName, z.Spec.Delegations = domain, delegations
	z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}}
	return z
}

func allow(ns string, patterns ...string) v1alpha1.Delegation {
	d := v1alpha1.Delegation{Namespace: ns}
	for _, p := range patterns {
		d.Records = append(d.Records, v1alpha1.RecordDelegation{Pattern: p})
	}
	return d
}

func recordObject(ns, name, domain, kind string, values ...string) *v1alpha1.Record {
	r := &v1alpha1.Record{ObjectMeta: objectMeta(ns, name)}
	r.Spec.DomainName, r.Spec.Type, r.Spec.Values = domain, kind, values
	return r
}

func key(resource, ns, name string) string { return "/kubi.zone/" + resource + "/" + ns + "/" + name }

func (s *server) createZone(z *v1alpha1.Zone) (*v1alpha1.Zone, error) {
	out := &v1alpha1.Zone{}
	err := s.zones.Create(s.l.WithEstablish(s.ctx, true), key("zones", z.Namespace, z.Name), z, out, 0)
	return out, err
}

func (s *server) createRecord(ctx context.Context, r *v1alpha1.Record) (*v1alpha1.Record, error) {
	out := &v1alpha1.Record{}
	err := s.records.Create(ctx, key("records", r.Namespace, r.Name), r, out, 0)
	return out, err
}

func (s *server) updateRecord(ctx context.Context, ns, name string, change func(*v1alpha1.Record)) (*v1alpha1.Record, error) {
	out := &v1alpha1.Record{}
	err := s.records.GuaranteedUpdate(ctx, key("records", ns, name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		r := in.(*v1alpha1.Record)
		change(r)
		r.Generation++
		return r, nil, nil
	}, nil)
	return out, err
}

func (s *server) updateZone(ns, name string, change func(*v1alpha1.Zone)) (*v1alpha1.Zone, error) {
	out := &v1alpha1.Zone{}
	err := s.zones.GuaranteedUpdate(s.l.WithEstablish(s.ctx, true), key("zones", ns, name), out, false, nil, func(in runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		z := in.(*v1alpha1.Zone)
		change(z)
		z.Generation++
		return z, nil, nil
	}, nil)
	return out, err
}

func (s *server) deleteRecord(ctx context.Context, ns, name string) error {
	return s.records.Delete(ctx, key("records", ns, name), &v1alpha1.Record{}, nil, func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{})
}

func (s *server) deleteZone(ns, name string) error {
	return s.zones.Delete(s.ctx, key("zones", ns, name), &v1alpha1.Zone{}, nil, func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{})
}

func (s *server) zone(ns, name string) *v1alpha1.Zone {
	s.t.Helper()
	z := &v1alpha1.Zone{}
	if err := s.zones.Get(s.ctx, key("zones", ns, name), storage.GetOptions{}, z); err != nil {
		s.t.Fatal(err)
	}
	return z
}

func (s *server) record(ns, name string) *v1alpha1.Record {
	s.t.Helper()
	r := &v1alpha1.Record{}
	if err := s.records.Get(s.ctx, key("records", ns, name), storage.GetOptions{}, r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// eventually waits on a fact, not on a time.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within 30 s: %s", what)
}

func withPrefix() []clientv3.OpOption { return []clientv3.OpOption{clientv3.WithPrefix()} }

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("%+v", err))
	}
	return v
}
