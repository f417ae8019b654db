// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changeset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/audit"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/refusal"
	"kubi.zone/kubizone/pkg/registry/direct"
	"kubi.zone/kubizone/pkg/registry/kind"
)

// Set (ledger.Set) joins the writes of items in a transaction.
type Set interface {
	// Require sets the prerequisites before the first write. An error means an invalid prerequisite.
	Require(prerequisites []v1alpha1.ChangeSetPrerequisite) error
	// Context returns the context by which the storage's commit of write i joins the set.
	Context(ctx context.Context, i int) context.Context
	// EndRequest ends the request of write i. After a refusal the set commits nothing.
	EndRequest(i int, refused bool)
	// HasArrived reports whether write i has reached its commit, IsUnchanged whether the write changes nothing.
	HasArrived(i int) bool
	IsUnchanged(i int) bool
	CountCreations() int
	// Abandon fails waiting and later writes with cause, unless the ledger already decides the set.
	Abandon(cause error)
	Err() error
	// NothingWritten returns false if a transaction was sent. Call it after all requests have ended.
	NothingWritten() bool
	// CommittedZone returns the zone and serial of the commit, or nil.
	CommittedZone() (*v1alpha1.AdoptingZone, int64)
}

type Config struct {
	// NewSet returns a set of n writes. Its step of the history has the field manager of the request.
	NewSet func(n int, manager string) Set
	// ReturnQuota returns a failed set's quota of Records. Optional.
	ReturnQuota func(ctx context.Context, namespace string, records int)
}

type Handler interface {
	Decode(w *direct.Write, text []byte)
	Serve(ctx context.Context, w *direct.Write) (code int, answer runtime.Object)
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

func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (
	runtime.Object, error) {
	set, ok := obj.(*v1alpha1.ChangeSet)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a ChangeSet: %T", obj))
	}
	set.Status = v1alpha1.ChangeSetStatus{}
	set.Namespace = genericapirequest.NamespaceValue(ctx)
	set.Spec.FieldManager = cmp.Or(set.Spec.FieldManager, options.FieldManager)
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

func (r *REST) serveItems(ctx context.Context, set *v1alpha1.ChangeSet, manager string, items []*item, options *metav1.CreateOptions) (
	runtime.Object, error) {
	together := r.config.NewSet(len(items), manager)
	if err := together.Require(set.Spec.Prerequisites); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	stop := context.AfterFunc(ctx, func() { together.Abandon(context.Cause(ctx)) })
	defer stop()
	var running sync.WaitGroup
	for _, one := range items {
		running.Go(func() { one.run(ctx, r.handler, together) })
	}
	running.Wait()
	addWarnings(ctx, items)
	for _, one := range items {
		audit.AddAuditAnnotation(ctx, fmt.Sprintf("changesets.kubi.zone/item-%d", one.index), one.describeOutcome())
	}
	zone, serial := together.CommittedZone()
	if err := errorOf(set, items, together); err != nil {
		if n := together.CountCreations(); zone == nil && n > 0 && r.config.ReturnQuota != nil && !dryrun.IsDryRun(options.DryRun) {
			r.config.ReturnQuota(context.WithoutCancel(ctx), set.Namespace, n)
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
