// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
)

// Cluster reads and caches Secrets of a cluster by name. A watched Secret is read again after a change, and any other
// after unwatchedAge.
type Cluster struct {
	client coreclient.SecretsGetter
	clock  clock.Clock

	mu      sync.Mutex
	secrets map[types.NamespacedName]*clusterSecret
	swept   time.Time
}

type clusterSecret struct {
	end context.CancelFunc

	mu          sync.Mutex
	data        map[string][]byte
	err         error // nil, ErrNotFound or Forbidden
	requestedAt time.Time
	// readAt is zero if the Secret must be read again.
	readAt  time.Time
	version string
	// watched is true while each change has an event. changes counts the changes, to detect an outdated read.
	watched bool
	changes int
}

const (
	unwatchedAge             = 5 * time.Second
	unusedAge                = 2 * time.Minute
	watchAgain, refusedAgain = time.Second, 5 * time.Minute
)

var _ Reader = (*Cluster)(nil)

func NewCluster(client coreclient.SecretsGetter) *Cluster {
	return newCluster(client, clock.RealClock{})
}

func newCluster(client coreclient.SecretsGetter, at clock.Clock) *Cluster {
	return &Cluster{client: client, clock: at, secrets: map[types.NamespacedName]*clusterSecret{}}
}

// Get returns the data of a Secret, from the cache if the cache is current, or else from the cluster.
func (s *Cluster) Get(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	cached := s.findSecret(key)
	cached.mu.Lock()
	defer cached.mu.Unlock()

	now := s.clock.Now()
	cached.requestedAt = now
	watched := cached.watched && !apierrors.IsForbidden(cached.err) // a change of permissions has no event
	if !cached.readAt.IsZero() && (watched || now.Sub(cached.readAt) < unwatchedAge) {
		return cached.data, cached.err
	}

	// Read the Secret without the lock. If it changes meanwhile, the cache stays outdated.
	changesBefore := cached.changes
	cached.mu.Unlock()
	secret, err := s.client.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	cached.mu.Lock()

	data, version := map[string][]byte(nil), ""
	switch {
	case err == nil:
		data, version = secret.Data, secret.ResourceVersion
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	// A silent API server: the error is not cached, and the caller keeps its last data.
	case !apierrors.IsForbidden(err):
		return nil, err
	}
	if cached.changes == changesBefore {
		cached.data, cached.err, cached.version, cached.readAt = data, err, version, s.clock.Now()
	}
	return data, err
}

// findSecret returns the cache entry of a Secret, and begins a watch for a new entry. From time to time it ends the
// watches of Secrets whose last request is older than unusedAge.
func (s *Cluster) findSecret(at types.NamespacedName) *clusterSecret {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if now.Sub(s.swept) >= unusedAge {
		s.swept = now
		for other, cached := range s.secrets {
			cached.mu.Lock()
			unused := other != at && now.Sub(cached.requestedAt) >= unusedAge
			cached.mu.Unlock()
			if unused {
				cached.end()
				delete(s.secrets, other)
			}
		}
	}
	cached := s.secrets[at]
	if cached == nil {
		ctx, cancel := context.WithCancel(context.Background())
		cached = &clusterSecret{end: cancel, requestedAt: now}
		s.secrets[at] = cached
		go s.watchUntil(ctx, at, cached)
	}
	return cached
}

// watchUntil watches a Secret until ctx ends. Without the right to watch, Get reads the Secret after unwatchedAge.
func (s *Cluster) watchUntil(ctx context.Context, at types.NamespacedName, cached *clusterSecret) {
	for ctx.Err() == nil {
		again := watchAgain
		// Without a resourceVersion, the first event has the current Secret.
		events, err := s.client.Secrets(at.Namespace).Watch(ctx,
			metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, at.Name).String()})
		if err == nil {
			cached.noteChanges(events)
		} else if apierrors.IsForbidden(err) {
			again = refusedAgain
		}
		select {
		case <-ctx.Done():
		case <-s.clock.After(again):
		}
	}
}

// noteChanges marks the cached Secret outdated after each change, until the watch ends.
func (o *clusterSecret) noteChanges(events watch.Interface) {
	defer events.Stop()
	o.setWatched(true)
	defer o.setWatched(false)
	for event := range events.ResultChan() {
		secret, ok := event.Object.(metav1.Object)
		if event.Type == watch.Bookmark {
			continue
		}
		if event.Type == watch.Error || !ok {
			return
		}
		o.mu.Lock()
		// The first event may be the version just read.
		if o.version != secret.GetResourceVersion() || event.Type == watch.Deleted {
			o.changes, o.readAt = o.changes+1, time.Time{}
		}
		o.mu.Unlock()
	}
}

// setWatched sets watched. The cached Secret is outdated when a watch begins, because earlier changes have no event.
func (o *clusterSecret) setWatched(watched bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched = watched; watched {
		o.changes, o.readAt = o.changes+1, time.Time{}
	}
}
