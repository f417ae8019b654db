// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

const (
	// After maxSilences failed health requests in a row, the server is Degraded. A single failure may be a restart of
	// the agent.
	agentInterval, maxSilences = time.Minute, 2
)

type silences struct {
	mu         sync.Mutex
	byInstance map[cache.ObjectName]silence
}

type silence struct {
	times int
	err   error
}

// countAnswer records the result of a health request. The result is true if the status changes: at the last of
// maxSilences failures in a row, and at the first answer after them.
func (s *silences) countAnswer(at cache.ObjectName, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.byInstance[at].times
	switch {
	case err == nil:
		delete(s.byInstance, at)
		return before == maxSilences
	case before == maxSilences:
		return false
	}
	s.byInstance[at] = silence{before + 1, err}
	return before+1 == maxSilences
}

func (s *silences) find(at cache.ObjectName) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.byInstance[at]; of.times == maxSilences {
		return of.err
	}
	return nil
}

// watchAgents asks the agent of each instance for health every agentInterval, until ctx ends.
func (f *Fleet) watchAgents(ctx context.Context) {
	for {
		all, _ := f.instances.List(labels.Everything())
		var asking errgroup.Group
		asking.SetLimit(workers)
		for _, instance := range all {
			asking.Go(func() error {
				f.askInstance(ctx, instance)
				return nil
			})
		}
		_ = asking.Wait()
		select {
		case <-ctx.Done():
			return
		case <-f.Clock.After(agentInterval):
		}
	}
}

func (f *Fleet) askInstance(ctx context.Context, instance *bind9.Bind9Instance) {
	at := cache.MetaObjectToName(instance)
	if err := f.askHealth(ctx, at, instance); ctx.Err() == nil && !errors.Is(err, errNotAsked) && f.silent.countAnswer(at, err) {
		f.enqueue("instance", at.Namespace, at.Name)
	}
}

// askHealth returns the error of the agent in a server's ready pods. nil also means no ready pod to ask, or no Secret
// to ask with.
func (f *Fleet) askHealth(ctx context.Context, at cache.ObjectName, instance *bind9.Bind9Instance) error {
	if instance.Spec.External != nil || instance.DeletionTimestamp != nil || !f.children.covers(at.Namespace) {
		return nil
	}

	server := &render.Server{Namespace: at.Namespace, Name: at.Name, Replicas: 1}
	pods := selectPods(f.listPods(server), podReady)
	secret, ok := f.children.cached(render.Secrets, at.Namespace, render.AgentSecretName(at.Name)).(*corev1.Secret)
	// Without a ready pod the server is unavailable, which another condition says.
	if len(pods) == 0 || !ok {
		return nil
	}

	var err error
	if server.Access, err = render.ReadAccess(secret.Data); err != nil {
		return nil // the next reconcile makes another Secret
	}
	return f.slow.askPods(ctx, server, "health", pods, func(ctx context.Context, pod *corev1.Pod) error {
		_, err := f.Ask(ctx, pod, server)
		return err
	})
}
