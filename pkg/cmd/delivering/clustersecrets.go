// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

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

	"kubi.zone/kubizone/pkg/controller/class"
)

// ClusterSecrets are those of a cluster, each read by its name: the rights to get and watch the ones that classes name
// are enough. Classes ask for theirs every few seconds, those of a fleet each for its own: a Secret that is watched is
// read again only after a change. Without the right to watch it is read once in unwatchedAge.
type ClusterSecrets struct {
	client coreclient.SecretsGetter
	clock  clock.Clock

	mu    sync.Mutex
	known map[types.NamespacedName]*clusterSecret
	swept time.Time
}

// clusterSecret is one of them, or that there is none of the name.
type clusterSecret struct {
	end context.CancelFunc

	mu    sync.Mutex
	data  map[string][]byte
	err   error // nil, ErrSecretNotFound, or that it may not be read
	asked time.Time
	// read is when it was read; zero: it has to be read.
	read    time.Time
	version string
	// watched says that a change since would have been told; changes counts what makes a read that is under way old.
	watched bool
	changes int
}

const (
	unwatchedAge = 5 * time.Second
	// unusedAge is how long a Secret is watched that no class asks for.
	unusedAge = 2 * time.Minute
	// watchAgain is the time until the next watch after one that ended, refusedAgain after one that was refused.
	watchAgain, refusedAgain = time.Second, 5 * time.Minute
)

var _ class.Secrets = (*ClusterSecrets)(nil)

// NewClusterSecrets asks for nothing before Get.
func NewClusterSecrets(client coreclient.SecretsGetter) *ClusterSecrets {
	return newClusterSecrets(client, clock.RealClock{})
}

func newClusterSecrets(client coreclient.SecretsGetter, at clock.Clock) *ClusterSecrets {
	return &ClusterSecrets{client: client, clock: at, known: map[types.NamespacedName]*clusterSecret{}}
}

// Get asks the kube-apiserver where it is not known that the Secret is as it was read.
func (s *ClusterSecrets) Get(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	at := types.NamespacedName{Namespace: namespace, Name: name}
	one := s.findSecret(at)
	one.mu.Lock()
	defer one.mu.Unlock()
	now := s.clock.Now()
	one.asked = now
	watched := one.watched && !apierrors.IsForbidden(one.err) // no watch tells of a right
	if !one.read.IsZero() && (watched || now.Sub(one.read) < unwatchedAge) {
		return one.data, one.err
	}
	changes := one.changes
	one.mu.Unlock()
	secret, err := s.client.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	one.mu.Lock()
	data, version := map[string][]byte(nil), ""
	switch {
	case err == nil:
		data, version = secret.Data, secret.ResourceVersion
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("%w: %w", class.ErrSecretNotFound, err)
	case !apierrors.IsForbidden(err):
		return nil, err
	}
	if one.changes == changes {
		one.data, one.err, one.version, one.read = data, err, version, s.clock.Now()
	}
	return data, err
}

// findSecret returns a Secret of those that are known, which is watched from then on, and ends the watches of the
// others that were not asked for in unusedAge.
func (s *ClusterSecrets) findSecret(at types.NamespacedName) *clusterSecret {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if now.Sub(s.swept) >= unusedAge {
		s.swept = now
		for other, one := range s.known {
			one.mu.Lock()
			unused := other != at && now.Sub(one.asked) >= unusedAge
			one.mu.Unlock()
			if unused {
				one.end()
				delete(s.known, other)
			}
		}
	}
	one := s.known[at]
	if one == nil {
		ctx, cancel := context.WithCancel(context.Background())
		one = &clusterSecret{end: cancel, asked: now}
		s.known[at] = one
		go s.watchUntil(ctx, at, one)
	}
	return one
}

// watchUntil follows one Secret until ctx ends.
func (s *ClusterSecrets) watchUntil(ctx context.Context, at types.NamespacedName, one *clusterSecret) {
	for ctx.Err() == nil {
		again := watchAgain
		// Without a resourceVersion the first event is the Secret as it is when the watch begins.
		events, err := s.client.Secrets(at.Namespace).Watch(ctx,
			metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, at.Name).String()})
		if err == nil {
			one.noteChanges(events)
		} else if apierrors.IsForbidden(err) {
			again = refusedAgain
		}
		select {
		case <-ctx.Done():
		case <-s.clock.After(again):
		}
	}
}

// noteChanges has a changed Secret read again, until the watch ends.
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
		if o.version != secret.GetResourceVersion() || event.Type == watch.Deleted {
			o.changes, o.read = o.changes+1, time.Time{}
		}
		o.mu.Unlock()
	}
}

// setWatched also has the Secret read again where a watch begins: what changed before it was not told.
func (o *clusterSecret) setWatched(is bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.watched = is; is {
		o.changes, o.read = o.changes+1, time.Time{}
	}
}
