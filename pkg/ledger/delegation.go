// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/ledger/commit"
	"kubi.zone/kubizone/pkg/ledger/etcd"
)

// A write of a Delegation is one transaction: it writes the object, its Zone, with another revision and the same
// content, the keys of the namespaces that it is for (rules/), and one outbox item that has their records decided
// anew (S4.8).

// Delegations decorates the raw storage of Delegations. raw must be built with a client from StorageClient.
func (l *Ledger) Delegations(raw storage.Interface) storage.Interface {
	return &delegations{Interface: raw, l: l}
}

type delegations struct {
	storage.Interface
	l *Ledger
}

// delegationWrite is the committer of one Delegation write.
type delegationWrite struct {
	l             *Ledger
	before, after *v1alpha1.Delegation
	committed     *v1alpha1.Delegation
}

func (s *delegations) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if ttl != 0 {
		return errLease
	}
	w := &delegationWrite{l: s.l, after: obj.(*v1alpha1.Delegation)}
	if err := s.Interface.Create(withCommitter(ctx, w), key, obj, nil, 0); err != nil {
		return err
	}
	w.copyTo(out)
	return nil
}

func (s *delegations) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions, validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	w := &delegationWrite{l: s.l}
	v := func(ctx context.Context, obj runtime.Object) error {
		if err := validate(ctx, obj); err != nil {
			return err
		}
		w.before, _ = obj.(*v1alpha1.Delegation)
		return nil
	}
	return s.Interface.Delete(withCommitter(ctx, w), key, out, preconditions, v, cached, opts)
}

func (s *delegations) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool, preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	w := &delegationWrite{l: s.l}
	try := func(in runtime.Object, meta storage.ResponseMeta) (runtime.Object, *uint64, error) {
		w.before = nil
		if meta.ResourceVersion != 0 {
			w.before = in.(*v1alpha1.Delegation).DeepCopy() // tryUpdate may change in
		}
		out, ttl, err := tryUpdate(in, meta)
		if err != nil {
			return out, ttl, err
		}
		if ttl != nil && *ttl != 0 {
			return nil, nil, errLease
		}
		w.after = out.(*v1alpha1.Delegation)
		return out, ttl, nil
	}
	if err := s.Interface.GuaranteedUpdate(withCommitter(ctx, w), key, destination, ignoreNotFound, preconditions, try, cached); err != nil {
		return err
	}
	w.copyTo(destination)
	return nil
}

func (w *delegationWrite) copyTo(out runtime.Object) {
	if w.committed != nil && out != nil {
		*out.(*v1alpha1.Delegation) = *w.committed
	}
}

func (w *delegationWrite) commitWrite(ctx context.Context, key string, expected int64, put []byte) (commit.Outcome, error) {
	l := w.l
	if namespace, _, ok := l.mem.Layout.ObjectName(key); ok {
		ctx = etcd.PaidBy(ctx, etcd.Payer{Namespace: namespace, Weight: 1})
	}
	w.committed = nil
	if put == nil {
		w.after = nil
		if w.before == nil {
			return commit.Outcome{}, fmt.Errorf("%s cannot be decoded, and deleting it unseen would leave its rules in the zone: restore it from a backup, then run kubizone fsck", key)
		}
	}
	if put != nil && expected != 0 && w.before == nil {
		return commit.Outcome{}, fmt.Errorf("update of %s without its present state", key)
	}
	if w.before != nil && w.after != nil && apiequality.Semantic.DeepEqual(w.before.Spec, w.after.Spec) { // S2.4
		return l.com.Plain(ctx, key, expected, put)
	}
	ask, err := l.box.DelegationAsk(w.before, w.after)
	if err != nil {
		return commit.Outcome{}, err
	}
	tx, placed := l.box.DelegationTx(ask, w.before, w.after, expected)
	out, err := l.com.Commit(ctx, tx)
	if err != nil || !out.OK {
		return out, err
	}
	commit.Warn(ctx, tx.Plan.Warnings)
	if *placed != nil {
		w.committed = *placed
		_ = (storage.APIObjectVersioner{}).UpdateObject(w.committed, uint64(out.Rev))
	}
	return out, nil
}

// PreviewDelegation is PreviewRecord for a Delegation.
func (l *Ledger) PreviewDelegation(ctx context.Context, before, after *v1alpha1.Delegation) error {
	if before != nil && after != nil && apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil
	}
	ask, err := l.box.DelegationAsk(before, after)
	if err != nil {
		return err
	}
	w := &commit.Write{Resource: "delegations", Name: ask.Name, Key: l.mem.Layout.Delegation(ask.Namespace, ask.Name), Ask: func(seen *law.Seen) law.Outcome { return law.DecideDelegation(seen, ask) }}
	out, err := l.com.Preview(etcd.PaidBy(ctx, etcd.Payer{Namespace: ask.Namespace, Weight: 1}), w)
	if err != nil {
		return err
	}
	if out.Refusal != nil {
		return commit.Status("delegations", ask.Name, out.Refusal)
	}
	commit.Warn(ctx, out.Plan.Warnings)
	if after != nil {
		l.placer.PlaceDelegation(after, out.Plan.Delegation)
	}
	return nil
}
