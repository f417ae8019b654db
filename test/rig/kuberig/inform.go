// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kuberig

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// Informer is client-go's, without code of the server under test.
type Informer struct {
	mu      sync.Mutex
	objects map[string]string
	last    int64
	synced  chan struct{}
	once    sync.Once
	counts  Informed
}

type Informed struct {
	Lists, Watches, Events int
	// Whole counts watches that begin with all objects (KEP-3157).
	Whole int
	// Disorder counts events whose version is not above the last.
	Disorder int
}

func Inform(ctx context.Context, of cache.ListerWatcherWithContext, object runtime.Object) *Informer {
	i := &Informer{objects: map[string]string{}, synced: make(chan struct{})}
	counted := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			i.addCount(func(c *Informed) { c.Lists++ })
			return of.ListWithContext(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			i.addCount(func(c *Informed) {
				if c.Watches++; ptr.Deref(o.SendInitialEvents, false) {
					c.Whole++
				}
			})
			return of.WatchWithContext(ctx, o)
		},
	}
	r := cache.NewReflectorWithOptions(counted, object, informed{i}, cache.ReflectorOptions{})
	go r.RunWithContext(ctx)
	return i
}

func (i *Informer) Synced() <-chan struct{} { return i.synced }

func (i *Informer) Has() map[string]string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.objects)
}

func (i *Informer) Counts() Informed {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.counts
}

func (i *Informer) addCount(f func(*Informed)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f(&i.counts)
}

type informed struct{ i *Informer }

var _ cache.ReflectorStore = informed{}

func (s informed) Add(object any) error    { return s.noteEvent(object, true) }
func (s informed) Update(object any) error { return s.noteEvent(object, true) }
func (s informed) Delete(object any) error { return s.noteEvent(object, false) }
func (s informed) Resync() error           { return nil }

func (s informed) noteEvent(object any, there bool) error {
	o, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", o.GetName(), err)
	}
	s.i.mu.Lock()
	defer s.i.mu.Unlock()
	if s.i.counts.Events++; version <= s.i.last {
		s.i.counts.Disorder++
	}
	s.i.last = version
	key := o.GetNamespace() + "/" + o.GetName()
	if delete(s.i.objects, key); there {
		s.i.objects[key] = o.GetResourceVersion()
	}
	return nil
}

func (s informed) Replace(list []any, version string) error {
	now := map[string]string{}
	for _, object := range list {
		o, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		now[o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
	}
	at, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return err
	}
	s.i.mu.Lock()
	s.i.objects, s.i.last = now, at
	s.i.mu.Unlock()
	s.i.once.Do(func() { close(s.i.synced) })
	return nil
}
