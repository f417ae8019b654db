// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// A watch ends after watchTime to twice watchTime, so that the client has to be authorized again.
const watchTime = 30 * time.Minute

// prepareWatch checks a watch of changes after the serial since, or, if since is 0, after the present serial. It
// returns the function that sends changes until the client goes or the time is over.
func (s *streams) prepareWatch(ctx context.Context, zone *v1alpha1.Zone, query *v1alpha1.ZoneChangesOptions, since serial.Serial,
	definition bool) (func(http.ResponseWriter) error, error) {
	if query.Until != 0 {
		return nil, apierrors.NewBadRequest("query parameter until: a watch has no end; leave out until or watch")
	}
	if err := refusePending(zone); err != nil {
		return nil, err
	}
	snapshot, err := s.waitForSnapshot(ctx, zone)
	if err != nil {
		return nil, err
	}
	w := &watcher{streams: s, zone: zone, lastSent: snapshot.Serial(), definition: definition, sources: query.Sources}
	if since != 0 {
		w.lastSent = since
		// Fail now, because after the first octet an error has no status code.
		if _, _, err := s.Views.Steps(ctx, zone, w.lastSent, snapshot.Serial(), false); err != nil {
			return nil, ifNotHeld(err, expiredError(zone, w.lastSent, restart))
		}
	}
	return func(out http.ResponseWriter) error {
		ctx, cancel := context.WithTimeoutCause(ctx, watchTime+rand.N(watchTime), errWatchEnds)
		defer cancel()
		// A shutdown must not wait an hour for watches. The client goes on at another server with its last serial.
		defer context.AfterFunc(s.Stopping, func() { cancel() })()
		w.stream = newStream(out, v1alpha1.FormatJSON)
		w.stream.to.stall = s.stall
		return w.sendUntilEnd(ctx, snapshot)
	}, nil
}

var errWatchEnds = errors.New("the watch has lasted long enough")

// watcher sends the changes of a zone to a client of zones/changes. It reads the next changes only after it has sent
// all earlier changes, so a slow client takes no memory.
type watcher struct {
	*streams
	zone     *v1alpha1.Zone
	lastSent serial.Serial
	// definition is true if the client gets changes as stored, with relative names, instead of entries. If sources is
	// true, each change has its user, Record and traceparent; a change as stored has only the traceparent.
	definition, sources bool

	stream *stream
}

// sendUntilEnd sends all changes to the serial of snapshot, and of each later snapshot, until ctx ends. Only a lost
// connection is an error.
func (w *watcher) sendUntilEnd(ctx context.Context, snapshot Snapshot) error {
	next := w.zone.DeepCopy()
	for {
		if err := w.sendChanges(ctx, snapshot.Serial()); err != nil {
			return w.writeEnd(err)
		}
		if err := w.flush(); err != nil {
			return err
		}
		// Wait for the next change, however long. Changes that come while a client reads slowly are sent together.
		next.Status.ContentGeneration = int64(snapshot.N()) + 1
		var err error
		snapshot, err = w.Views.Snapshot(ctx, next)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return w.writeEnd(err)
		}
	}
}

// flush also removes the write deadline, which would end an idle HTTP/2 stream.
func (w *watcher) flush() error {
	if err := w.stream.Flush(); err != nil {
		return err
	}
	err := w.stream.to.control.Flush()
	_ = w.stream.to.control.SetWriteDeadline(time.Time{})
	return err
}

// sendChanges sends an event for each change of serial after lastSent, up to until.
func (w *watcher) sendChanges(ctx context.Context, until serial.Serial) error {
	if w.lastSent == until {
		return nil
	}
	steps, changes, err := w.Views.Steps(ctx, w.zone, w.lastSent, until, !w.definition)
	if err != nil {
		return ifNotHeld(err, expiredError(w.zone, w.lastSent, restart))
	}
	// As stored, or as entries: both go on from the serial of the last sent event.
	if w.definition {
		for _, step := range steps {
			object := w.object(w.lastSent, step.Serial)
			object.Steps = []v1alpha1.ZoneStep{apiStep(step, w.sources)}
			if err := w.writeEvent(apiwatch.Modified, object); err != nil {
				return err
			}
			w.lastSent = step.Serial
		}
		return nil
	}
	for i, change := range changes {
		object := w.object(change.From, change.To)
		object.Changes = []v1alpha1.ZoneChange{apiChange(change, steps[i], w.sources)}
		if err := w.writeEvent(apiwatch.Modified, object); err != nil {
			return err
		}
		w.lastSent = change.To
	}
	return nil
}

func (w *watcher) object(since, until serial.Serial) *v1alpha1.ZoneChanges {
	return &v1alpha1.ZoneChanges{
		TypeMeta: metav1.TypeMeta{Kind: "ZoneChanges", APIVersion: v1alpha1.SchemeGroupVersion.String()},
		Metadata: metaOf(w.zone), FQDN: w.zone.Status.FQDN, View: w.zone.Status.View, Since: int64(since), Until: int64(until),
	}
}

type writeFailed struct{ error }

// writeEvent buffers an event, as a line of JSON. The error is a writeFailed if the connection is lost.
func (w *watcher) writeEvent(kind apiwatch.EventType, object any) error {
	text, err := json.Marshal(struct {
		Type   apiwatch.EventType `json:"type"`
		Object any                `json:"object"`
	}{kind, object})
	if err != nil {
		return err
	}
	if _, err := w.stream.Write(append(text, '\n')); err != nil {
		return writeFailed{err}
	}
	return nil
}

// writeEnd sends the reason of the watch's end as a last event, type ERROR, as Kubernetes does. A lost connection takes
// no event.
func (w *watcher) writeEnd(err error) error {
	if cut := (writeFailed{}); errors.As(err, &cut) {
		return err
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		status = apierrors.NewInternalError(err)
	}
	object := status.Status()
	object.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if err := w.writeEvent(apiwatch.Error, &object); err != nil {
		return err
	}
	return w.flush()
}
