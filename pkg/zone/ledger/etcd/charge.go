// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
)

type Payer struct {
	Namespace string
	Weight    int
}

type PayersKey struct{}

// PaidBy returns a context whose transactions are charged to the given payers: the object's namespace for a client's
// write, the causing namespace for a cascade, none for a sweep.
func PaidBy(ctx context.Context, payers ...Payer) context.Context {
	return context.WithValue(ctx, PayersKey{}, payers)
}

// MeterKV returns a KV that charges transactions. Payers pay, by weight, the octets of written keys and values (unless
// a compare fails, but even after an error) and of a response beyond freeOctets.
func MeterKV(kv clientv3.KV, least Least, charge func(namespace string, octets int)) clientv3.KV {
	return metered{kv, least, charge}
}

// Least makes each value below a key cost at least some octets: that of a compressed object has fewer than the object.
type Least struct {
	Below  string
	Octets int
}

func (l Least) cost(key, value []byte) int {
	if len(value) > 0 && len(value) < l.Octets && strings.HasPrefix(string(key), l.Below) {
		return len(key) + l.Octets
	}
	return len(key) + len(value)
}

type metered struct {
	clientv3.KV
	least  Least
	charge func(namespace string, octets int)
}

func (m metered) Txn(ctx context.Context) clientv3.Txn {
	payers, _ := ctx.Value(PayersKey{}).([]Payer)
	txn := m.KV.Txn(ctx)
	if len(payers) == 0 {
		return txn
	}
	return &meteredTxn{Txn: txn, least: m.least, charge: m.charge, payers: payers}
}

type meteredTxn struct {
	clientv3.Txn
	least  Least
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
			t.octets += t.least.cost(op.KeyBytes(), op.ValueBytes())
		}
	}
	t.Txn = t.Txn.Then(ops...)
	return t
}

func (t *meteredTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.Txn = t.Txn.Else(ops...)
	return t
}

// Commit commits the transaction and charges the payers by weight. After an error the writes may have happened, so they
// are charged.
func (t *meteredTxn) Commit() (*clientv3.TxnResponse, error) {
	r, err := t.Txn.Commit()
	octets := t.octets
	if err == nil {
		// Failed compares wrote nothing, and cost only their answer.
		if !r.Succeeded {
			octets = 0
		}
		octets += max(0, t.costOfAnswer(r)-freeOctets)
	}
	if octets == 0 {
		return r, err
	}

	// Divide among the payers. A remainder of a few octets is free.
	total := 0
	for _, p := range t.payers {
		total += p.Weight
	}
	for _, p := range t.payers {
		t.charge(p.Namespace, int(int64(octets)*int64(p.Weight)/int64(total)))
	}
	return r, err
}

// freeOctets is more than most decisions read. A read of all names below a name may take megabytes, and as much CPU as
// a write.
const freeOctets = 64 << 10

func (t *meteredTxn) costOfAnswer(r *clientv3.TxnResponse) (octets int) {
	for _, x := range r.Responses {
		for _, kv := range x.GetResponseRange().GetKvs() {
			octets += t.least.cost(kv.Key, kv.Value)
		}
	}
	return octets
}

// KeyOctets overestimates a key in etcd's messages.
const KeyOctets = 256
