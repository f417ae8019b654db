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
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	defaultStreams     = 32
	defaultViewTimeout = 5 * time.Second
	// retrySoon is the Retry-After, in seconds, of refusals that pass by themselves.
	retrySoon = 1
)

// streams is what entries and changes share: how the Zone is read, where the content comes from, and the limits.
type streams struct {
	getZone     func(ctx context.Context, name string) (*v1alpha1.Zone, error)
	views       Views
	sources     Sources
	authorizer  authorizer.UnconditionalAuthorizer
	viewTimeout time.Duration
	// readSlots bound the answers under way. Streams are exempt from the server's own limits, because they outlive its
	// request timeout.
	readSlots *slots
	// watchSlots bounds watches; stopping ends them.
	watchSlots *slots
	stopping   context.Context
	stall      time.Duration
}

func newStreams(config Config, zone func(ctx context.Context, name string) (*v1alpha1.Zone, error)) *streams {
	s := &streams{
		getZone: zone, views: config.Views, sources: config.Sources, authorizer: config.Authorizer,
		viewTimeout: config.ViewTimeout, readSlots: newSlots(defaultStreams),
		watchSlots: newSlots(defaultWatches), stopping: config.Stopping, stall: stall,
	}
	if s.stopping == nil {
		s.stopping = context.Background()
	}
	if config.Streams > 0 {
		s.readSlots = newSlots(config.Streams)
	}
	if s.viewTimeout == 0 {
		s.viewTimeout = defaultViewTimeout
	}
	return s
}

// prepareFunc is a refusal, or a function that writes the whole answer in a format that accept allows. Nothing is sent
// before write begins.
type prepareFunc func(accept string) (write func(w http.ResponseWriter) error, err error)

// newHandler serves an answer in a slot. ctx is that of Connect, which has the namespace; that of the request has not.
func (s *streams) newHandler(ctx context.Context, places *slots, prepare prepareFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		leave, refusal := places.acquire(readerOf(ctx), false)
		if refusal != nil && s.mayReadAll(ctx) {
			leave, refusal = places.acquire(readerOf(ctx), true)
		}
		if refusal != nil {
			writeError(w, refusal)
			return
		}
		defer leave()
		write, err := prepare(req.Header.Get("Accept"))
		if err != nil {
			writeError(w, err)
			return
		}
		if err := write(w); err != nil && ctx.Err() == nil {
			// The status is sent. Ending the connection is the only way left to say that this is not the whole answer.
			panic(http.ErrAbortHandler)
		}
	})
}

// Destroy does nothing: the store belongs to the zones.
func (*streams) Destroy() {}

// ConnectMethods are the methods of the subresources.
func (*streams) ConnectMethods() []string { return []string{http.MethodGet} }

// ProducesMIMETypes are the media types of the answers.
func (*streams) ProducesMIMETypes(string) []string { return []string{mediaJSON, mediaText} }

// getServedZone reads the Zone from etcd, and refuses one without content.
func (s *streams) getServedZone(ctx context.Context, name string) (*v1alpha1.Zone, error) {
	zone, err := s.getZone(ctx, name)
	if err != nil {
		return nil, err
	}
	if zone.Status.Serial == 0 {
		err := apierrors.NewNotFound(v1alpha1.Resource("zones"), name)
		err.ErrStatus.Message = fmt.Sprintf("zone %q is pending and contains nothing yet; its condition Delegated says what it waits for",
			name)
		return nil, err
	}
	return zone, nil
}

// waitForSnapshot returns the content of the zone at the serial of zone or later (S7.1).
func (s *streams) waitForSnapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error) {
	waiting, cancel := context.WithTimeout(ctx, s.viewTimeout)
	defer cancel()
	snapshot, err := s.views.Snapshot(waiting, zone)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("the view of zone %s has not reached serial %d within %s; please try again",
			zone.Status.FQDN, zone.Status.Serial, s.viewTimeout), retrySoon)
	}
	return snapshot, err
}

// mayReadAll reports whether the user may read the entries of all zones.
func (s *streams) mayReadAll(ctx context.Context) bool {
	if s.authorizer == nil {
		return false
	}
	allowed, err := isAllowed(ctx, s.authorizer, "get", "zones", "entries", "", "")
	return allowed && err == nil
}

// mayReadSources refuses sources to a user without permission to list Records in all namespaces, since they are from
// many (S1.8).
func (s *streams) mayReadSources(ctx context.Context) error {
	if s.sources == nil {
		return apierrors.NewBadRequest("sources is not available on this server")
	}
	allowed, err := isAllowed(ctx, s.authorizer, "list", "records", "", "", "")
	if err != nil {
		return err
	}
	if !allowed {
		return apierrors.NewForbidden(v1alpha1.Resource("records"), "", errors.New("sources=true names Records of every namespace, "+
			"so it needs the right to list records in all of them"))
	}
	return nil
}

// serialOf reads a serial of a query.
func serialOf(parameter string, value int64) (serial.Serial, error) {
	if value < 1 || value > int64(^uint32(0)) {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("query parameter %s: %d is not a serial, which is from 1 to 4294967295", parameter,
			value))
	}
	return serial.Serial(uint32(value)), nil
}

func formOf(text string) (definition bool, err error) {
	switch text {
	case "", v1alpha1.FormEntries:
		return false, nil
	case v1alpha1.FormDefinition:
		return true, nil
	}
	return false, apierrors.NewBadRequest(fmt.Sprintf("query parameter form: %q is neither %q nor %q", text, v1alpha1.FormEntries,
		v1alpha1.FormDefinition))
}

// expiredError is 410: the client has to start over.
func expiredError(zone *v1alpha1.Zone, at serial.Serial, from string) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("serial %d of zone %s is not held here any more: start again from %s", at,
		zone.Status.FQDN, from))
}

func metaOf(zone *v1alpha1.Zone) v1alpha1.ZoneViewMeta {
	return v1alpha1.ZoneViewMeta{Name: zone.Name, Namespace: zone.Namespace, UID: string(zone.UID)}
}
