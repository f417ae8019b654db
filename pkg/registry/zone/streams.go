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

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	defaultStreams     = 32
	defaultViewTimeout = 5 * time.Second
	// retrySoon is the Retry-After in seconds of what will be right by itself.
	retrySoon = 1
)

// streams is what entries and changes share: who reads the Zone, where the content comes from, how many may be under
// way.
type streams struct {
	getZone     func(ctx context.Context, name string) (*v1alpha1.Zone, error)
	views       Views
	sources     Sources
	authorizer  authorizer.UnconditionalAuthorizer
	viewTimeout time.Duration
	// readSlots bound the answers under way. Streams are exempt from the server's own limits, because they outlive its
	// request timeout.
	readSlots *slots
	// watchSlots bound those who stay for what comes; stopping ends them.
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

// newHandler runs an answer on a seat. ctx is that of the connection, which has the namespace in it; the request's own
// has not.
func (s *streams) newHandler(ctx context.Context, places *slots, prepare prepareFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		leave, refusal := places.acquire(readerOf(ctx))
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

// getServedZone is the Zone as etcd has it now, if it has any content.
func (s *streams) getServedZone(ctx context.Context, name string) (*v1alpha1.Zone, error) {
	zone, err := s.getZone(ctx, name)
	if err != nil {
		return nil, err
	}
	if zone.Status.Serial == 0 {
		err := apierrors.NewNotFound(v1alpha1.Resource("zones"), name)
		err.ErrStatus.Message = fmt.Sprintf("zone %q is pending and contains nothing yet; its condition Delegated says what it waits for", name)
		return nil, err
	}
	return zone, nil
}

// waitForSnapshot is what the zone contains, at the serial of zone or later (S7.1).
func (s *streams) waitForSnapshot(ctx context.Context, zone *v1alpha1.Zone) (Snapshot, error) {
	waiting, cancel := context.WithTimeout(ctx, s.viewTimeout)
	defer cancel()
	snapshot, err := s.views.Snapshot(waiting, zone)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, apierrors.NewTimeoutError(fmt.Sprintf("the view of zone %s has not reached serial %d within %s; please try again", zone.Status.FQDN, zone.Status.Serial, s.viewTimeout), retrySoon)
	}
	return snapshot, err
}

// mayReadSources says no where the caller asks which Records define a zone and may not list Records everywhere: they
// are of many namespaces (S1.7).
func (s *streams) mayReadSources(ctx context.Context) error {
	if s.sources == nil {
		return apierrors.NewBadRequest("sources is not available on this server")
	}
	allowed, err := isAllowed(ctx, s.authorizer, "list", "records", "", "", "")
	if err != nil {
		return err
	}
	if !allowed {
		return apierrors.NewForbidden(v1alpha1.Resource("records"), "", errors.New("sources=true names Records of every namespace, so it needs the right to list records in all of them"))
	}
	return nil
}

// serialOf reads a serial of a query.
func serialOf(parameter string, value int64) (serial.Serial, error) {
	if value < 1 || value > int64(^uint32(0)) {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("query parameter %s: %d is not a serial, which is from 1 to 4294967295", parameter, value))
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
	return false, apierrors.NewBadRequest(fmt.Sprintf("query parameter form: %q is neither %q nor %q", text, v1alpha1.FormEntries, v1alpha1.FormDefinition))
}

// expiredError tells a client that it has to start over.
func expiredError(zone *v1alpha1.Zone, at serial.Serial, from string) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("serial %d of zone %s is not held here any more: start again from %s", at, zone.Status.FQDN, from))
}

func metaOf(zone *v1alpha1.Zone) v1alpha1.ZoneViewMeta {
	return v1alpha1.ZoneViewMeta{Name: zone.Name, Namespace: zone.Namespace, UID: string(zone.UID)}
}
