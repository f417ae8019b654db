// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Payer is a namespace that a transaction is written for, with its share of it.
type Payer struct {
	Namespace string
	Weight    int
}

// PayersKey is the key of the payers in a context.
type PayersKey struct{}

// PaidBy names the namespaces that are charged for transactions under ctx (S9.2): for a client's write the namespace
// of its object, which also pays for the zones and parents that are written with it, and for a cascade the namespace
// that caused it. A sweep has no payer.
func PaidBy(ctx context.Context, payers ...Payer) context.Context {
	return context.WithValue(ctx, PayersKey{}, payers)
}

// Metered reports to charge how many octets of keys and values each transaction through kv has put into etcd, by the
// namespace that it was written for. A transaction that was not committed, or changed nothing, is not reported; one
// without an answer is. The octets of an answer beyond freeOctets count likewise.
func Metered(kv clientv3.KV, charge func(namespace string, octets int)) clientv3.KV {
	return metered{kv, charge}
}

type metered struct {
	clientv3.KV
	charge func(namespace string, octets int)
}

func (m metered) Txn(ctx context.Context) clientv3.Txn {
	payers, _ := ctx.Value(PayersKey{}).([]Payer)
	txn := m.KV.Txn(ctx)
	if len(payers) == 0 {
		return txn
	}
	return &meteredTxn{Txn: txn, charge: m.charge, payers: payers}
}

type meteredTxn struct {
	clientv3.Txn
	charge func(namespace string, octets int)
	payers []Payer
	octets int
}

func (t *meteredTxn) If(cmps ...clientv3.Cmp) clientv3.Txn {
	t.Txn = t.Txn.If(cmps...)
	return t
}

func (t *meteredTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	for _, op := range ops {
		if op.IsPut() || op.IsDelete() {
			t.octets += len(op.KeyBytes()) + len(op.ValueBytes())
		}
	}
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *meteredTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Else(ops...)
	return t
}

func (t *meteredTxn) Commit() (*clientv3.TxnResponse, error) {
	r, err := t.Txn.Commit()
	octets := t.octets
	if err == nil {
		if !r.Succeeded {
			octets = 0
		}
		octets += max(0, answeredOctets(r)-freeOctets)
	}
	if octets == 0 {
		return r, err
	}
	total := 0
	for _, p := range t.payers {
		total += p.Weight
	}
	for _, p := range t.payers {
		t.charge(p.Namespace, int(int64(octets)*int64(p.Weight)/int64(total)))
	}
	return r, err
}

// freeOctets is the number of octets that etcd may answer to one transaction without charge. Most decisions read
// less. One that reads all names below a name (S4.8) may read megabytes, and takes as much CPU time as a write of
// them.
const freeOctets = 64 << 10

// answeredOctets returns how many octets of keys and values etcd has sent.
func answeredOctets(r *clientv3.TxnResponse) (octets int) {
	for _, x := range r.Responses {
		for _, kv := range x.GetResponseRange().GetKvs() {
			octets += len(kv.Key) + len(kv.Value)
		}
	}
	return octets
}

// KeyOctets are more than a key and what etcd's messages put around it mostly take.
const KeyOctets = 256
