// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// nameGoroutine returns an identifier of the calling goroutine.
func nameGoroutine() string {
	buf := make([]byte, 64)
	id, _, _ := strings.Cut(strings.TrimPrefix(string(buf[:runtime.Stack(buf, false)]), "goroutine "), " ")
	return id
}

func TestWorkers_areUsedAgainAndEnd(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	w := Workers{Jobs: make(chan func())}
	// All functions run at once, since no call waits for a free worker.
	var all sync.WaitGroup
	var mu sync.Mutex
	first := map[string]bool{}
	together := make(chan struct{})
	all.Add(8)
	for range 8 {
		w.Run(ctx, func() {
			mu.Lock()
			first[nameGoroutine()] = true
			mu.Unlock()
			all.Done()
			<-together
		})
	}
	all.Wait()
	close(together)
	if len(first) != 8 {
		t.Fatalf("8 at once ran in %d goroutines", len(first))
	}
	// Idle workers are reused. A worker may not be idle right after its work, so try often.
	again := false
	for try := 0; try < 1000 && !again; try++ {
		ran := make(chan string)
		w.Run(ctx, func() { ran <- nameGoroutine() })
		again = first[<-ran]
		time.Sleep(time.Millisecond)
	}
	if !again {
		t.Error("no worker was used a second time")
	}
	end()
	for stop := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		buf := make([]byte, 4<<20)
		all := string(buf[:runtime.Stack(buf, true)])
		left := 0
		for id := range first {
			if strings.Contains(all, "goroutine "+id+" ") {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(stop) {
			t.Fatalf("%d workers are left after the end", left)
		}
	}
}
