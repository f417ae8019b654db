// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/apiserver/registry/direct"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// Set (ledger.Set) commits the writes of items in a transaction.
type Set interface {
	// Require sets the prerequisites. An error means an invalid prerequisite.
	Require(prerequisites []v1alpha1.ChangeSetPrerequisite) error
	// InSet marks the context of items, for admission.
	InSet(ctx context.Context) context.Context
	// Storage returns the storage that keeps the write of item i. IsUnchanged reports whether the write changes
	// nothing, Deletes whether it deletes the Record, as an apply may that removes the last finalizer. Refuse is called
	// for an item without a write: nothing is committed then.
	Storage(i int) direct.Storage
	IsUnchanged(i int) bool
	Deletes(i int) bool
	Refuse()
	// Commit decides the kept writes, and commits them all or none. The result lists the items to admit again, because
	// their objects have changed. Otherwise Err has the error of the set, and ItemErr those of items.
	Commit() (moved []int)
	Err() error
	ItemErr(i int) error
	// NothingWritten returns false if a transaction was sent.
	NothingWritten() bool
	// CommittedZone returns the zone and serial of the commit, or nil.
	CommittedZone() (*v1alpha1.AdoptingZone, int64)
}

type Config struct {
	// NewSet returns a set of n writes. Its step of the history has the field manager of the request. The commit of a
	// dry set writes nothing.
	NewSet func(n int, manager string, dry bool) Set
	// ReturnQuota returns a failed set's quota of Records. Optional.
	ReturnQuota func(ctx context.Context, namespace string, records int)
}

type Handler interface {
	Decode(w *direct.Write, text []byte)
	Admit(ctx context.Context, w *direct.Write) (code int, answer runtime.Object)
	EndAudit(w *direct.Write, code int, answer runtime.Object)
}

// Limits of the items in progress. Each takes some tens of KiB.
const (
	maxItems            = 32 * v1alpha1.MaxChangeSetItems
	maxItemsOfNamespace = 4 * v1alpha1.MaxChangeSetItems
)

type REST struct {
	kind.Resource
	config  Config
	slots   slots
	handler Handler
}

var _ rest.Creater = (*REST)(nil)

func NewREST(config Config) *REST {
	return &REST{Resource: kind.NewResource(&v1alpha1.ChangeSet{}, "changeset", true), config: config, slots: newSlots()}
}

// SetHandler is called once, before the first request.
func (r *REST) SetHandler(handler Handler) { r.handler = handler }

// Create decides a change set, and writes all items or none. The set itself is not stored.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	set, ok := obj.(*v1alpha1.ChangeSet)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a ChangeSet: %T", obj))
	}
	set.Status = v1alpha1.ChangeSetStatus{}
	set.Namespace = genericapirequest.NamespaceValue(ctx)
	set.Spec.FieldManager = cmp.Or(set.Spec.FieldManager, options.FieldManager)
	// 1. Read the items, up to the limit: validation refuses a longer set.
	items := make([]*item, min(len(set.Spec.Items), v1alpha1.MaxChangeSetItems))
	for i := range items {
		items[i] = r.readItem(ctx, set, i, options)
	}
	manager := set.Spec.FieldManager
	if manager == "" && len(set.ManagedFields) > 0 {
		manager = set.ManagedFields[0].Manager // from User-Agent
	}
	set.ManagedFields = nil
	names, errs := validation.ChangeSet(set)
	if len(errs) > 0 {
		return nil, refusal.NewInvalid(v1alpha1.Kind("ChangeSet"), set.Name, errs)
	}
	for i, name := range names {
		items[i].name, items[i].write.Name = name, name
	}
	// 2. Run admission for the set. Admission for each item follows.
	if err := kind.ValidateObject(ctx, set, validate); err != nil {
		return nil, err
	}
	if len(items) > 1 || len(set.Spec.Prerequisites) > 0 { // a single item costs no more than a plain write
		release, err := r.slots.acquire(ctx, set.Namespace, len(items))
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return r.serveItems(ctx, set, manager, items, options)
}

// serveItems admits and commits the items, and returns the set with its status. On an error, nothing is written unless
// the message leaves the outcome open.
func (r *REST) serveItems(ctx context.Context, set *v1alpha1.ChangeSet, manager string, items []*item, options *metav1.CreateOptions) (
	runtime.Object, error) {
	isDry := dryrun.IsDryRun(options.DryRun)
	together := r.config.NewSet(len(items), manager, isDry)
	if err := together.Require(set.Spec.Prerequisites); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	own, release := detach(together.InSet, ctx)
	defer release()

	// 1. Admit each item.
	for _, one := range items {
		one.write.Storage = together.Storage(one.index)
		one.admitItem(own, r.handler, together)
	}

	// 2. Commit. Items whose objects have changed are admitted again.
	for moved := together.Commit(); len(moved) > 0; moved = together.Commit() {
		for _, i := range moved {
			items[i].admitItem(own, r.handler, together)
		}
	}

	// 3. Answer.
	creations := 0
	for _, one := range items {
		if one.creates {
			creations++
		}
		one.end(r.handler, cmp.Or(together.ItemErr(one.index), together.Err()))
		audit.AddAuditAnnotation(ctx, fmt.Sprintf("changesets.kubi.zone/item-%d", one.index), one.describeOutcome())
	}
	addWarnings(ctx, items)
	zone, serial := together.CommittedZone()
	if err := errorOf(set, items, together); err != nil {
		// Admission has charged the ResourceQuota of the namespace for Records that were not created.
		if together.NothingWritten() && creations > 0 && r.config.ReturnQuota != nil && !isDry {
			r.config.ReturnQuota(context.WithoutCancel(ctx), set.Namespace, creations)
		}
		return nil, err
	}
	if zone == nil {
		return nil, apierrors.NewInternalError(errors.New("every item is answered, and the set was not decided"))
	}
	set.Status = v1alpha1.ChangeSetStatus{ZoneRef: zone, Serial: serial}
	for _, one := range items {
		set.Status.Items = append(set.Status.Items, one.reportStatus(together))
	}
	return set, nil
}
