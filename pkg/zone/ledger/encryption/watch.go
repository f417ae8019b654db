// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
)

// watcher decrypts the values of events. A failure cancels the watch.
type watcher struct {
	clientv3.Watcher
	values *values

	mu         sync.Mutex
	lastLogged string // the last failure in the log
	logAgain   time.Time
}

// Watch is like clientv3's, with decrypted values. After a value that does not decrypt, the last response is canceled
// with the reason, the channel is closed, and the log has the value's key.
func (w *watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	out := make(chan clientv3.WatchResponse, 1)
	// The goroutine alone sends to out and closes out. Its end cancels the inner watch.
	ctx, cancel := context.WithCancel(ctx)
	in := w.Watcher.Watch(ctx, key, opts...)
	go func() {
		defer cancel()
		defer close(out)
		for r := range in {
			err := w.values.decryptEvents(r.Events)
			if err != nil {
				w.logFailure(ctx, err)
				r = clientv3.WatchResponse{Header: r.Header, Canceled: true, CancelReason: err.Error()}
			}
			// A caller that has gone does not read any more.
			select {
			case out <- r:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()

	return out
}

// logFailure logs a failure once a minute, because all readers of a damaged key fail, each several times.
func (w *watcher) logFailure(ctx context.Context, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); err.Error() != w.lastLogged || now.After(w.logAgain) {
		w.lastLogged, w.logAgain = err.Error(), now.Add(time.Minute)
		klog.FromContext(ctx).Error(err, "A change in etcd is not followed; the server reads the present state if that is whole")
	}
}

func (v *values) decryptEvents(events []*clientv3.Event) error {
	for _, e := range events {
		if err := v.decryptValue(e.Kv); err != nil {
			return err
		}
		if err := v.decryptValue(e.PrevKv); err != nil {
			return err
		}
	}
	return nil
}
