// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package encryption

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher decrypts the values of events. A failure cancels the watch.
type watcher struct {
	clientv3.Watcher
	values *values
}

// Watch is like clientv3's, with decrypted values. After a value that does not decrypt, the last response is canceled
// with the reason, and the channel is closed.
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
