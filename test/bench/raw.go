// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/pki"
	"kubi.zone/kubizone/test/store"
)

// template is a transaction of the ledger, to be sent again under other names.
type template struct {
	cmps         []clientv3.Cmp
	then, orelse []clientv3.Op
}

// recorder is an etcd client's KV that remembers what transactions were sent.
type recorder struct {
	clientv3.KV
	mu   sync.Mutex
	sent []*template
}

func (r *recorder) Txn(ctx context.Context) clientv3.Txn {
	return &recording{Txn: r.KV.Txn(ctx), to: r, t: &template{}}
}

type recording struct {
	clientv3.Txn
	to *recorder
	t  *template
}

func (r *recording) If(cs ...clientv3.Cmp) clientv3.Txn {
	r.t.cmps, r.Txn = cs, r.Txn.If(cs...)
	return r
}

func (r *recording) Then(ops ...clientv3.Op) clientv3.Txn {
	r.t.then, r.Txn = ops, r.Txn.Then(ops...)
	return r
}

func (r *recording) Else(ops ...clientv3.Op) clientv3.Txn {
	r.t.orelse, r.Txn = ops, r.Txn.Else(ops...)
	return r
}

func (r *recording) Commit() (*clientv3.TxnResponse, error) {
	r.to.mu.Lock()
	r.to.sent = append(r.to.sent, r.t)
	r.to.mu.Unlock()
	return r.Txn.Commit()
}

// take returns the one transaction with compares that was sent since the last call.
func (r *recorder) take() (*template, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*template
	for _, t := range r.sent {
		if len(t.cmps) > 0 {
			out = append(out, t)
		}
	}
	r.sent = nil
	if len(out) != 1 {
		return nil, fmt.Errorf("one write of the ledger sent %d transactions", len(out))
	}
	return out[0], nil
}

func dial(endpoint string) (*kubernetes.Client, error) {
	return kubernetes.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
}

// rawZone sends the transactions that a ledger sends for one zone, with nothing around them: no HTTP, no decision, no
// encoding. They must follow each other, since each compares the zone that the one before wrote.
type rawZone struct {
	client                 *clientv3.Client
	name                   string // what the recorded Record was called
	create, update, remove *template
	journal                string // prefix of the zone's journal

	mu sync.Mutex
	n  uint64
	// revision of every key, as compared next.
	revision map[string]int64
}

// newRawZone lets a ledger in this process write one Record like example into a zone like another, as an API server
// answered both, and records how.
func newRawZone(ctx context.Context, endpoint string, zone *v1alpha1.Zone, example *v1alpha1.Record) (*rawZone, error) {
	client, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	direct := client.KV
	r := &recorder{KV: direct}
	client.KV = r
	ctx = genericapirequest.WithUser(ctx, &user.DefaultInfo{Name: pki.AdminUser})
	server, err := store.NewServer(ctx, client, apiserver.Prefix)
	if err != nil {
		return nil, err
	}
	if err := settledZone(ctx, server, zone); err != nil {
		return nil, err
	}
	// A first Record, so that what is recorded is not what a zone or a tenant does once.
	if _, err := server.CreateRecord(ctx, store.Record(recordNamespace, "first", "first."+zone.Spec.DomainName, "A", "10.0.0.1")); err != nil {
		return nil, err
	}
	z := &rawZone{client: client.Client, name: "raw-000-00000", n: 1 << 32, revision: map[string]int64{}}
	o := example.DeepCopy()
	o.Name, o.UID, o.ResourceVersion, o.Labels, o.Status = z.name, types.UID(uuid.NewUUID()), "", nil, v1alpha1.RecordStatus{}
	o.Spec.DomainName = z.name + "." + zone.Spec.DomainName
	r.sent = nil
	for _, step := range []struct {
		into **template
		do   func() error
	}{
		{&z.create, func() error { _, err := server.CreateRecord(ctx, o); return err }},
		{&z.update, func() error {
			_, err := server.UpdateRecord(ctx, o.Namespace, o.Name, func(r *v1alpha1.Record) { r.Spec.Values[0] = address(11, 1) })
			return err
		}},
		{&z.remove, func() error { return server.DeleteRecord(ctx, o.Namespace, o.Name) }},
	} {
		if err := step.do(); err != nil {
			return nil, err
		}
		if *step.into, err = r.take(); err != nil {
			return nil, err
		}
	}
	client.KV = direct
	all, err := client.Client.Get(ctx, apiserver.Prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, err
	}
	for _, kv := range all.Kvs {
		z.revision[string(kv.Key)] = kv.ModRevision
	}
	for _, op := range z.create.then {
		if prefix, _, ok := strings.Cut(string(op.KeyBytes()), "/journal/"); ok {
			uid, _, _ := strings.Cut(string(op.KeyBytes())[len(prefix)+len("/journal/"):], "/")
			z.journal = prefix + "/journal/" + uid + "/"
		}
	}
	if z.journal == "" {
		return nil, fmt.Errorf("a write of the ledger wrote no journal")
	}
	return z, nil
}

// send is the transaction under another name. It leaves the steps of the journal that the ledger deletes beside its
// writes.
func (z *rawZone) send(ctx context.Context, t *template, name string) error {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.n++
	key := func(k []byte) string {
		if strings.HasPrefix(string(k), z.journal) {
			return fmt.Sprintf("%s%016x", z.journal, z.n)
		}
		return string(bytes.ReplaceAll(k, []byte(z.name), []byte(name)))
	}
	var cmps []clientv3.Cmp
	for _, c := range t.cmps {
		k := key(c.KeyBytes())
		switch {
		case len(c.GetCompare().RangeEnd) > 0:
			return fmt.Errorf("a plain record write compares the range at %q", k)
		case c.GetCompare().Target == etcdserverpb.Compare_CREATE:
			cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(k), "=", 0))
		default:
			cmps = append(cmps, clientv3.Compare(clientv3.ModRevision(k), "=", z.revision[k]))
		}
	}
	var then, orelse []clientv3.Op
	for _, op := range t.then {
		k := key(op.KeyBytes())
		if op.IsDelete() {
			then = append(then, clientv3.OpDelete(k))
		} else {
			then = append(then, clientv3.OpPut(k, strings.ReplaceAll(string(op.ValueBytes()), z.name, name)))
		}
	}
	for _, op := range t.orelse {
		orelse = append(orelse, clientv3.OpGet(key(op.KeyBytes())))
	}
	r, err := z.client.Txn(ctx).If(cmps...).Then(then...).Else(orelse...).Commit()
	if err != nil {
		return err
	}
	if !r.Succeeded {
		return fmt.Errorf("the raw transaction for %q was refused: the recording is wrong", name)
	}
	for _, op := range then {
		switch k := string(op.KeyBytes()); {
		case strings.HasPrefix(k, z.journal):
		case op.IsDelete():
			delete(z.revision, k)
		default:
			z.revision[k] = r.Header.Revision
		}
	}
	return nil
}

type rawBatch struct {
	zone  *rawZone
	names []string
}

// batch makes names as long as the recorded one.
func (z *rawZone) batch(label string, n int) (batch, error) {
	b := &rawBatch{zone: z}
	for i := range n {
		b.names = append(b.names, fmt.Sprintf("%s-%05d", label, i))
	}
	return b, nil
}

func (b *rawBatch) create(ctx context.Context, i int) error {
	return b.zone.send(ctx, b.zone.create, b.names[i])
}

func (b *rawBatch) update(ctx context.Context, i int) error {
	return b.zone.send(ctx, b.zone.update, b.names[i])
}

func (b *rawBatch) remove(ctx context.Context, i int) error {
	return b.zone.send(ctx, b.zone.remove, b.names[i])
}

func (b *rawBatch) between(context.Context) error { return nil }
