// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/fsck"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/pkg/zone/ledger/objects"
	"kubi.zone/kubizone/pkg/zone/ledger/subrev"
	"kubi.zone/kubizone/test/must"
)

// Store is a prefix of the shared etcd.
type Store struct {
	T          testing.TB
	Prefix     string
	Client     *kubernetes.Client
	etcd       *Etcd
	Encryption value.Transformer
	// Damaged stores are not checked by fsck at the end.
	Damaged bool
}

var stores atomic.Int64

func Unchecked(s *Store) { s.Damaged = true }

func Encrypted(t value.Transformer) func(*Store) { return func(s *Store) { s.Encryption = t } }

// New returns a Store that fsck checks at the end. Main must have run.
func New(t testing.TB, change ...func(*Store)) *Store {
	t.Helper()
	if member == nil {
		t.Fatal("the package's TestMain must call store.Main")
	}
	s := On(t, member, fmt.Sprintf("/registry/kubizone-%d", stores.Add(1)))
	for _, f := range change {
		f(s)
	}
	return s
}

func On(t testing.TB, etcd *Etcd, prefix string) *Store {
	t.Helper()
	s := &Store{T: t, Prefix: prefix, etcd: etcd}
	s.Client = s.connectEtcd()
	t.Cleanup(func() {
		if !s.Damaged && !t.Failed() {
			s.MustBeClean()
		}
	})
	return s
}

func (s *Store) Connect() (*clientv3.Client, error) {
	c, err := s.etcd.Client()
	if err != nil {
		return nil, err
	}
	return c.Client, nil
}

func (s *Store) connectEtcd() *kubernetes.Client {
	s.T.Helper()
	c := must.Get(s.etcd.Client())(s.T)
	s.T.Cleanup(func() { c.Close() })
	return c
}

func Codec() objects.ObjectCodec { return objects.ObjectCodec{Codec: codec()} }

// A scheme takes milliseconds to build: its users share it.
var codec = sync.OnceValue(func() runtime.Codec { return install.New().StorageCodec() })

func makeEncryptedCodec(t value.Transformer) objects.ObjectCodec {
	c := Codec()
	c.Transformer = t
	return c
}

func (s *Store) Fsck() fsck.Report {
	s.T.Helper()
	return must.Get(s.Check())(s.T)
}

func (s *Store) Check() (fsck.Report, error) {
	return fsck.Run(context.Background(), fsck.Config{Client: s.Client.Client, Prefix: s.Prefix, Zones: makeEncryptedCodec(s.Encryption),
		Records: makeEncryptedCodec(s.Encryption), Delegations: makeEncryptedCodec(s.Encryption)})
}

func (s *Store) MustBeClean() {
	s.T.Helper()
	if r := s.Fsck(); !r.Clean() {
		s.T.Errorf("fsck: %s", Text(r))
	}
}

// Settle waits until the outbox is empty and fsck finds no pending work, as long as the work gets less. A server must
// Run.
func (s *Store) Settle() {
	s.T.Helper()
	left := int64(math.MaxInt64)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		now := s.countPending()
		if now < left {
			left, deadline = now, time.Now().Add(2*time.Minute)
		}
		if now > 0 {
			continue
		}
		if last := s.Fsck(); last.Pending.Total == 0 {
			if !last.Clean() && !s.Damaged {
				s.T.Fatalf("fsck: %s", Text(last))
			}
			return
		}
	}
	s.T.Fatalf("no work done in two minutes: %s", Text(s.Fsck()))
}

func (s *Store) SetFormat(format int) {
	s.T.Helper()
	key, all := layout.Keys{Prefix: s.Prefix}.Config(), map[string]any{}
	r, err := s.Client.Client.Get(s.T.Context(), key)
	if err != nil || len(r.Kvs) != 1 {
		s.T.Fatal(err, r)
	}
	must.Succeed(s.T, json.Unmarshal(r.Kvs[0].Value, &all))
	all["format"], all["leastReader"] = format, format
	text, err := json.Marshal(all)
	if err == nil {
		_, err = s.Client.Client.Put(s.T.Context(), key, string(text))
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

func (s *Store) Together(keys ...string) {
	s.T.Helper()
	client, err := s.Connect()
	if err == nil {
		defer client.Close()
		err = Together(s.T.Context(), client, s.Prefix, 1, func() {}, keys...)
	}
	if err != nil {
		s.T.Fatal(err)
	}
}

// Together rewrites objects unchanged in times transactions, as the ledger's batches: in each, every object except the
// last of a resource gets a prefix octet before its value. after is called after each transaction. client must have no
// other use.
func Together(ctx context.Context, client *clientv3.Client, prefix string, times int, after func(), keys ...string) error {
	ledger.Versions(prefix).Wrap(client)
	at, values := make([]int64, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		r, err := client.Get(ctx, key)
		if err != nil || len(r.Kvs) != 1 {
			return fmt.Errorf("%s: %v, %w", key, r, err)
		}
		at[i], values[i] = r.Kvs[0].ModRevision, string(r.Kvs[0].Value)
	}
	for range times {
		var cmps []clientv3.Cmp
		var ops []clientv3.Op
		for i, key := range keys {
			cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(key), "=", at[i]))
			ops = append(ops, clientv3.OpPut(key, values[i]))
		}
		r, err := client.Txn(ctx).If(cmps...).Then(ops...).Commit()
		if err != nil || !r.Succeeded {
			return fmt.Errorf("written together: %v, %w", r, err)
		}
		for i := range keys {
			at[i] = r.Responses[i].GetResponsePut().Header.Revision
		}
		after()
	}
	return nil
}

// Quiet reports whether the outbox is empty. A held zone's cut stays in debts.
func (s *Store) Quiet() bool {
	s.T.Helper()
	return s.countPending() == 0
}

func (s *Store) countPending() int64 {
	prefix := layout.Keys{Prefix: s.Prefix}.Room("outbox")
	return must.Get(s.Client.Client.Get(context.Background(), prefix, clientv3.WithPrefix(), clientv3.WithCountOnly()))(s.T).Count
}

func Text(r fsck.Report) string {
	var b strings.Builder
	_ = r.WriteText(&b)
	return b.String()
}

type Server struct {
	T           testing.TB
	Ctx         context.Context
	Ledger      *ledger.Ledger
	Zones       storage.Interface
	Records     storage.Interface
	Delegations storage.Interface
	stop        func()
}

func (s *Store) Server(change ...func(*ledger.Config)) *Server {
	s.T.Helper()
	client := s.connectEtcd()
	own := func(c *ledger.Config) {
		c.Zones, c.Records, c.Delegations, c.Deliveries = makeEncryptedCodec(s.Encryption), makeEncryptedCodec(s.Encryption),
			makeEncryptedCodec(s.Encryption), makeEncryptedCodec(s.Encryption)
		c.JournalSteps = 10000 // fsck verifies every step
	}
	server := must.Get(NewServer(s.T.Context(), client, s.Prefix, append([]func(*ledger.Config){own}, change...)...))(s.T)
	server.T = s.T
	s.T.Cleanup(server.stop)
	return server
}

// NewServer is for use outside of tests, too.
func NewServer(ctx context.Context, client *kubernetes.Client, prefix string, change ...func(*ledger.Config)) (*Server, error) {
	config := ledger.Config{Client: client.Client, Prefix: prefix, Zones: Codec(), Records: Codec(), TryEvery: 20 * time.Millisecond}
	for _, f := range change {
		f(&config)
	}
	l, err := ledger.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &Server{Ctx: ctx, Ledger: l}
	var stops []func()
	s.stop = func() {
		for _, f := range stops {
			f()
		}
	}
	transformer := config.Records.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	raw := func(resource string, newFunc, newListFunc func() runtime.Object) storage.Interface {
		codec, versioner := Codec().Codec, storage.APIObjectVersioner{}
		compactor := etcd3.NewCompactor(client.Client, 0, nil, nil)
		st, failed := etcd3.New(ledger.StorageClient(client, ledger.Versions(prefix)), subrev.Compactor(compactor), codec, newFunc, newListFunc, prefix, "/kubi.zone/"+resource,
			v1alpha1.Resource(resource), transformer, etcd3.NewDefaultLeaseManagerConfig(),
			etcd3.NewDefaultDecoder(codec, versioner), versioner)
		stops = append(stops, compactor.Stop)
		if failed != nil {
			err = failed
			return nil
		}
		stops = append(stops, st.Close)
		return st
	}
	zones := raw("zones", func() runtime.Object { return &v1alpha1.Zone{} }, func() runtime.Object { return &v1alpha1.ZoneList{} })
	if err != nil {
		return nil, err
	}
	records := raw("records", func() runtime.Object { return &v1alpha1.Record{} }, func() runtime.Object { return &v1alpha1.RecordList{} })
	if err != nil {
		return nil, err
	}
	delegations := raw("delegations", func() runtime.Object { return &v1alpha1.Delegation{} }, func() runtime.Object { return &v1alpha1.DelegationList{} })
	if err != nil {
		return nil, err
	}
	s.Zones, s.Records, s.Delegations = l.Zones(zones), l.Records(records), l.Delegations(delegations)
	return s, nil
}

// Run processes the outbox until the end of the test, or until stop, which waits.
func (s *Server) Run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Ledger.Run(ctx) }()
	stop = func() { cancel(); <-done }
	s.T.Cleanup(stop)
	return stop
}
