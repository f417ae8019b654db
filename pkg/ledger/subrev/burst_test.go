// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package subrev_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/test/store"
)

// A watch cache closes watchers that get too many events at once, and their informers then list again. The pause
// between the parts of a transaction prevents this. Without it the cache closes hundreds of watchers here. With it the
// test requires that in one of up to twenty attempts the cache closes none.
func TestCache_closesNoInformerByTransactions(t *testing.T) {
	if testing.Short() {
		t.Skip("it looks at time, which the race detector takes")
	}
	w := newWorld(t)
	s := w.startServer()
	for attempt := range 20 {
		if w.runBurst(s, fmt.Sprintf("burst%02d", attempt), 24, 40, 20) == 0 {
			return
		}
	}
	t.Error("each time watchers were closed")
}

// runBurst writes transactions back to back, while watchers follow like informers. It counts the watches that the cache
// closes.
func (w *world) runBurst(s *server, name string, watchers, objects, rounds int) int64 {
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	o := makeOptions(int64(store.Must(s.raw.GetCurrentResourceVersion(ctx))))
	var closed, torn atomic.Int64
	var all, begun sync.WaitGroup
	for range watchers {
		begun.Add(1)
		all.Go(func() {
			if followPods(ctx, s.cached, o, "/"+name+"-", objects*rounds, &closed, sync.OnceFunc(begun.Done)) < objects*rounds {
				torn.Add(1)
			}
		})
	}
	begun.Wait()
	for round := range rounds {
		header := w.writePods(makeBatch(fmt.Sprintf("%s-%04d", name, round), objects, "x")...)
		if _, _, err := listPods(s.cached, "/pods/none/", makeOptions(header)); err != nil {
			w.t.Error(err)
		}
	}
	all.Wait()
	if torn.Load() > 0 {
		w.t.Errorf("%d of %d watchers are torn", torn.Load(), watchers)
	}
	return closed.Load()
}
