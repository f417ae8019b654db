// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	// maxStreams and maxWatches bound reads of memory. A user has half of them at most.
	maxStreams = 32
	maxWatches = 64
	// maxHistories bounds reads of etcd, maxHistoriesEach those of a user, or of a namespace's Records. maxAnswers
	// bounds answers in memory, with 8 MiB each, that a client may read slowly.
	maxHistories, maxHistoriesEach = 8, 2
	maxAnswers                     = 16
	viewTimeout                    = 5 * time.Second
	retrySoon                      = 1
)

type streams struct {
	Config
	getZone     func(ctx context.Context, name string) (*v1alpha1.Zone, error)
	viewTimeout time.Duration
	// The generic apiserver does not limit streams.
	readSlots, watchSlots, historySlots, answerSlots *slots
	stall                                            time.Duration
}

func newStreams(config Config, zone func(ctx context.Context, name string) (*v1alpha1.Zone, error)) *streams {
	return &streams{Config: config, getZone: zone, viewTimeout: viewTimeout, readSlots: newSlots(maxStreams, maxStreams),
		watchSlots: newSlots(maxWatches, maxWatches), historySlots: newSlots(maxHistories, maxHistoriesEach),
		answerSlots: newSlots(maxAnswers, maxAnswers), stall: stall}
}

type view[O runtime.Object] struct {
	*streams
	answer, options runtime.Object
	slotsOf         func(query O) *slots // of the user, until the client has the answer
	// historyReader holds one of historySlots during prepare, which reads etcd. It is "" for answers from memory.
	historyReader func(ctx context.Context, query O) string
	// prepare sends nothing. It returns the function that writes the answer, or an error.
	prepare func(ctx context.Context, id string, query O, accept string) (write func(w http.ResponseWriter) error, err error)
}

var (
	_ rest.Connecter       = (*view[runtime.Object])(nil)
	_ rest.StorageMetadata = (*view[runtime.Object])(nil)
	_ rest.Storage         = (*view[runtime.Object])(nil)
)

func newEntries(s *streams) *view[*v1alpha1.ZoneEntriesOptions] {
	return &view[*v1alpha1.ZoneEntriesOptions]{s, &v1alpha1.ZoneEntries{}, &v1alpha1.ZoneEntriesOptions{},
		func(*v1alpha1.ZoneEntriesOptions) *slots { return s.readSlots },
		func(context.Context, *v1alpha1.ZoneEntriesOptions) string { return "" }, s.prepareEntries}
}

// newChanges returns zones/changes: lists and the history release their slot with the answer, a watch keeps its slot
// for up to an hour.
func newChanges(s *streams) *view[*v1alpha1.ZoneChangesOptions] {
	return &view[*v1alpha1.ZoneChangesOptions]{s, &v1alpha1.ZoneChanges{}, &v1alpha1.ZoneChangesOptions{},
		func(query *v1alpha1.ZoneChangesOptions) *slots {
			switch {
			case query.Form == v1alpha1.FormHistory:
				return s.answerSlots
			case query.Watch:
				return s.watchSlots // so that watches never delay reads
			}
			return s.readSlots
		}, func(ctx context.Context, query *v1alpha1.ZoneChangesOptions) string {
			// A history reads etcd, so few run at once.
			if query.Form == v1alpha1.FormHistory {
				return readerOf(ctx)
			}
			return ""
		}, s.prepareChanges}
}

func newRecordChanges(s *streams) *view[*v1alpha1.RecordChangesOptions] {
	return &view[*v1alpha1.RecordChangesOptions]{s, &v1alpha1.RecordChanges{}, &v1alpha1.RecordChangesOptions{},
		func(*v1alpha1.RecordChangesOptions) *slots { return s.answerSlots },
		func(ctx context.Context, _ *v1alpha1.RecordChangesOptions) string {
			if s.mayReadAll(ctx) { // an owner of zones, who takes no slot of the tenant
				return readerOf(ctx)
			}
			return namespaceOf(ctx)
		}, s.prepareRecordChanges}
}

func (v *view[O]) New() runtime.Object { return v.answer.DeepCopyObject() }

func (*view[O]) Destroy() {}

func (v *view[O]) NewConnectOptions() (options runtime.Object, subpath bool, subpathKey string) {
	return v.options.DeepCopyObject(), false, ""
}

func (*view[O]) ConnectMethods() []string { return []string{http.MethodGet} }

func (*view[O]) ProducesMIMETypes(string) []string { return []string{mediaJSON, mediaText} }

func (v *view[O]) ProducesObject(string) any { return v.New() }

// Connect returns the handler of a GET, for example of zones/entries. It streams the answer, or answers 429 without a
// free slot.
func (v *view[O]) Connect(ctx context.Context, id string, options runtime.Object, _ rest.Responder) (http.Handler, error) {
	query := options.(O)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		release, refusal := v.acquire(ctx, v.slotsOf(query), readerOf(ctx))
		if refusal != nil {
			writeError(w, refusal)
			return
		}
		defer release()

		write, err := v.prepareInTurn(ctx, id, query, req.Header.Get("Accept"))
		if err != nil {
			writeError(w, err)
			return
		}
		if err := write(w); err != nil && ctx.Err() == nil {
			// The status is already sent. Only a closed connection shows that the answer is incomplete.
			panic(http.ErrAbortHandler)
		}
	}), nil
}

// prepareInTurn calls prepare, for a history with one of historySlots. A client that reads its answer slowly, for
// example one that has stopped, keeps none, so others of its namespace go on.
func (v *view[O]) prepareInTurn(ctx context.Context, id string, query O, accept string) (func(http.ResponseWriter) error, error) {
	if reader := v.historyReader(ctx, query); reader != "" {
		release, refusal := v.acquire(ctx, v.historySlots, reader)
		if refusal != nil {
			return nil, refusal
		}
		defer release()
	}
	return v.prepare(ctx, id, query, accept)
}

// acquire takes a slot, if necessary of those for users who may read all zones.
func (s *streams) acquire(ctx context.Context, slots *slots, reader string) (release func(), refusal *apierrors.StatusError) {
	const readsAll = true
	if release, refusal = slots.acquire(reader, !readsAll); refusal != nil && s.mayReadAll(ctx) {
		return slots.acquire(reader, readsAll)
	}
	return release, refusal
}

func refusePending(zone *v1alpha1.Zone) error {
	if zone.Status.Serial != 0 {
		return nil
	}
	err := apierrors.NewNotFound(v1alpha1.Resource("zones"), zone.Name)
	err.ErrStatus.Message = fmt.Sprintf("zone %q is pending and contains nothing yet; its condition Delegated says what it waits for",
		zone.Name)
	return err
}

// waitForSnapshot returns the zone's content at its serial in etcd or later (S7.1). After viewTimeout the answer is
// 504, with Retry-After.
func (s *streams) waitForSnapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error) {
	waiting, cancel := context.WithTimeout(ctx, s.viewTimeout)
	defer cancel()
	snapshot, err := s.Views.Snapshot(waiting, zone)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("the view of zone %s has not reached serial %d within %s; please try again",
			zone.Status.FQDN, zone.Status.Serial, s.viewTimeout), retrySoon)
	}
	return snapshot, err
}

func (s *streams) mayReadAll(ctx context.Context) bool {
	allowed, err := isAllowed(ctx, s.Authorizer, "get", "zones", "entries", "", "")
	return allowed && err == nil
}

func (s *streams) mayReadSources(ctx context.Context) error {
	allowed, err := isAllowed(ctx, s.Authorizer, "list", "records", "", "", "")
	if err != nil {
		return err
	}
	if !allowed {
		return apierrors.NewForbidden(v1alpha1.Resource("records"), "", errors.New("sources=true names Records of every namespace, "+
			"so it needs the right to list records in all of them"))
	}
	return nil
}

func ifNotHeld(err, refusal error) error {
	if errors.Is(err, ErrNotHeld) {
		return refusal
	}
	return err
}

func expiredError(zone *v1alpha1.Zone, at serial.Serial, from string) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("serial %d of zone %s is no longer kept here: start again from %s", at,
		zone.Status.FQDN, from))
}
