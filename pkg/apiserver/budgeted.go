// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
)

type sized interface {
	runtime.Object
	metav1.Object
	Size() int
	Marshal() ([]byte, error)
}

// budgetedWrite is a write or dry run that a budget must allow. For a create, before is nil.
type budgetedWrite struct {
	resource      schema.GroupResource
	before, after sized
}

// An update that removes 1/shrinks of an object always passes, so that a namespace over budget can empty the object.
const shrinks = 4

type budgetJudge struct {
	budgets *budget.Budgets // nil without budgets
	keys    layout.Keys
	set     setGrowth // of the change set that the write is part of, or nil
}

// setGrowth has the octets by which each write of a change set enlarges its object, by name.
type setGrowth map[string]int64

// sum notes the growth of an object, and returns that of the set. For nil, the object is written alone.
func (g setGrowth) sum(name string, octets int64) (all int64) {
	if g == nil {
		return octets
	}
	g[name] = octets
	for _, one := range g {
		all += one
	}
	return all
}

// allowWrite returns an error if the write exceeds the budget of the object's namespace. The subresources finalizers
// and dnssec always pass, because deliveries and DS rollovers must not wait for a busy tenant. The growth of a status
// does not count as stored. No Role of a namespace grants these subresources.
func (j budgetJudge) allowWrite(ctx context.Context, w budgetedWrite) error {
	delete(j.set, w.after.GetName()) // of an earlier try
	grows := j.countOctets(w.after)
	if w.before != nil {
		octetsBefore := j.countOctets(w.before)
		grows -= octetsBefore
		shrinksEnough := -grows >= octetsBefore/shrinks
		beginsDeletion := w.before.GetDeletionTimestamp() == nil && w.after.GetDeletionTimestamp() != nil
		if shrinksEnough || beginsDeletion {
			return nil
		}
		if info, ok := genericapirequest.RequestInfoFrom(ctx); ok {
			switch info.Subresource {
			case "finalizers", "dnssec":
				return nil
			case "status":
				grows = 0
			}
		}
	}

	err := j.budgets.Admit(budget.Write{Resource: w.resource, Namespace: w.after.GetNamespace(), Name: w.after.GetName(),
		Grows: j.set.sum(w.after.GetName(), grows)})
	if err != nil && w.before != nil && unchanged(w.before, w.after) {
		return nil // etcd is not written
	}
	return err
}

func unchanged(before, after sized) bool {
	textBefore, err := before.Marshal()
	textAfter, wrong := after.Marshal()
	return err == nil && wrong == nil && bytes.Equal(textBefore, textAfter)
}

// countOctets returns the octets that etcd stores for an object, with an estimate of the ledger's keys: a key for each
// value of a Record, and for each namespace of a Delegation (S9.1).
func (j budgetJudge) countOctets(object sized) int64 {
	switch o := object.(type) {
	case *v1alpha1.Record:
		return j.keys.StoredOctets(j.keys.Record(o.Namespace, o.Name), o.Size(), max(1, len(o.Spec.Values)))
	case *v1alpha1.Delegation:
		return j.keys.StoredOctets(j.keys.Delegation(o.Namespace, o.Name), o.Size(), len(o.Spec.Namespaces))
	}
	resource := "zones"
	switch object.(type) {
	case *v1alpha1.UpdateKey:
		resource = "updatekeys"
	case *bind9.Bind9Cluster:
		resource = "bind9clusters.bind9.kubi.zone"
	case *bind9.Bind9Instance:
		resource = "bind9instances.bind9.kubi.zone"
	}
	return j.keys.StoredOctets(j.keys.Objects(resource)+object.GetNamespace()+"/"+object.GetName(), object.Size(), 0)
}

// budgeted wraps the etcd storage of a resource, and refuses writes beyond a budget of the object's namespace. It lies
// below the watch cache, so it measures objects as etcd stores them; for an item of a change set above it.
type budgeted struct {
	storage.Interface
	judge    budgetJudge
	resource schema.GroupResource
	// charges is false for Zones, Records and Delegations, because their transactions are charged as a whole.
	charges bool
	// clusters counts the Bind9Clusters of a namespace, for their own budget. It is nil for other resources.
	clusters func(ctx context.Context, namespace string) (int64, error)
}

func (b *budgeted) charge(object sized, err error) {
	if b.charges && err == nil {
		b.judge.budgets.Charge(object.GetNamespace(), object.Size())
	}
}

// Create checks the budget, creates, and charges the octets. The slot of a Bind9Cluster is held until etcd has the
// object.
func (b *budgeted) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	if err := b.judge.allowWrite(ctx, budgetedWrite{resource: b.resource, after: obj.(sized)}); err != nil {
		return err
	}
	release, err := b.admitCluster(ctx, obj.(sized))
	if err != nil {
		return err
	}
	defer release()
	err = b.Interface.Create(ctx, key, obj, out, ttl)
	b.charge(obj.(sized), err)
	return err
}

func (b *budgeted) admitCluster(ctx context.Context, cluster sized) (release func(), err error) {
	if b.clusters == nil {
		return func() {}, nil
	}
	return b.judge.budgets.AdmitCluster(b.resource, cluster.GetNamespace(), cluster.GetName(),
		func() (int64, error) { return b.clusters(ctx, cluster.GetNamespace()) })
}

// GuaranteedUpdate may create an object, because server-side apply of an absent object is an update. So it checks the
// budget of Bind9Clusters too.
func (b *budgeted) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	var release func() // after an admitted create; set once, despite retries
	defer func() {
		if release != nil {
			release()
		}
	}()
	err := b.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions,
		func(stored runtime.Object, response storage.ResponseMeta) (runtime.Object, *uint64, error) {
			var before sized
			if response.ResourceVersion != 0 {
				before = stored.DeepCopyObject().(sized) // update may modify its input
			}
			out, ttl, err := update(stored, response)
			if err != nil {
				return out, ttl, err
			}
			err = b.judge.allowWrite(ctx, budgetedWrite{resource: b.resource, before: before, after: out.(sized)})
			isUpdate, alreadyAdmitted := before != nil, release != nil
			// A conflict at the create runs this function again.
			if err != nil || isUpdate || alreadyAdmitted {
				return out, ttl, err
			}
			release, err = b.admitCluster(ctx, out.(sized))
			return out, ttl, err
		}, cached)
	b.charge(destination.(sized), err)
	return err
}

func (j budgetJudge) admitQuestion(ctx context.Context, record *v1alpha1.Record) error {
	if j.budgets == nil {
		return nil
	}
	return j.allowWrite(ctx, budgetedWrite{resource: v1alpha1.Resource("records"), after: record})
}

// judgePreview returns decide with the budget before it, so that a dry run is refused like the write. A removal has no
// budget.
func judgePreview[T interface {
	comparable
	sized
	metav1.ObjectMetaAccessor
}](judge budgetJudge, resource string, decide kind.Decide[T]) kind.Decide[T] {
	if judge.budgets == nil {
		return decide
	}
	return func(ctx context.Context, before, after T) error {
		var none T
		if after != none {
			w := budgetedWrite{resource: v1alpha1.Resource(resource), after: after}
			if before != none {
				w.before = before
			}
			if err := judge.allowWrite(ctx, w); err != nil {
				return err
			}
		}
		return decide(ctx, before, after)
	}
}
