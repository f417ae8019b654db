// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package sealed

import (
	"context"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Watcher seals what goes through inner. A range that cannot be watched, and an
// event that does not decrypt, cancel the watch with the reason.
func (s *Seal) Watcher(inner clientv3.Watcher) clientv3.Watcher {
	return &watcher{Watcher: inner, seal: s, closed: make(chan struct{})}
}

type watcher struct {
	clientv3.Watcher
	seal   *Seal
	closed chan struct{}
	once   sync.Once
	all    sync.WaitGroup
}

func (w *watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	out := make(chan clientv3.WatchResponse, 1)
	op := clientv3.OpWatch(key, opts...)
	from, end, err := w.seal.sealRange(key, string(op.RangeBytes()))
	if err != nil {
		out <- canceledResponse(clientv3.WatchResponse{}, err)
		close(out)
		return out
	}
	if end != "" {
		opts = append(opts[:len(opts):len(opts)], clientv3.WithRange(end)) // the last one is what counts
	}
	ctx, cancel := context.WithCancel(ctx)
	in := w.Watcher.Watch(ctx, from, opts...)
	w.all.Go(func() {
		defer cancel()
		defer close(out)
		for r := range in {
			err := w.seal.openEvents(r.Events)
			if err != nil {
				r = canceledResponse(r, err)
			}
			select {
			case out <- r:
			case <-ctx.Done():
				return
			case <-w.closed:
				return
			}
			if err != nil {
				return
			}
		}
	})
	return out
}

func canceledResponse(r clientv3.WatchResponse, err error) clientv3.WatchResponse {
	return clientv3.WatchResponse{Header: r.Header, Canceled: true, CancelReason: err.Error()}
}

func (s *Seal) openEvents(events []*clientv3.Event) error {
	for _, e := range events {
		if err := s.openKV(e.Kv); err != nil {
			return err
		}
		if err := s.openKV(e.PrevKv); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the watches that began here, and inner.
func (w *watcher) Close() error {
	err := w.Watcher.Close()
	w.once.Do(func() { close(w.closed) })
	w.all.Wait()
	return err
}
