// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// spareHeap is the garbage, in octets, that a server with little in its heap lets stand.
const spareHeap = 256 << 20

// SpareHeap has garbage collected only when there are 256 MiB of it, where the heap holds less than that; where it holds
// more, when there is as much again, which is Go's default. A write leaves some 100 KiB, so that a server of few zones would
// go through its heap several times a second, for a fifth of its CPU time. It is for a whole process; GOGC in the
// environment overrides it, and GOMEMLIMIT is kept.
func SpareHeap() {
	if os.Getenv("GOGC") != "" {
		return
	}
	set := 0
	adjust := func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		percent := sparing(live[0].Value.Uint64())
		if percent*10 > set*11 || percent*11 < set*10 { // setting it stops the world
			set = percent
			debug.SetGCPercent(percent)
		}
	}
	afterCollections(adjust)
}

// sparing is GOGC for a heap of which live octets are held.
func sparing(live uint64) int {
	return max(100, int(spareHeap*100/max(live, 1<<20)))
}

// collected is what a collection finds: it needs a pointer, or it would share its block with others.
type collected struct{ again func() }

// afterCollections calls f now and after each collection of garbage, on the runtime's goroutine for that.
func afterCollections(f func()) {
	var mark func(*collected)
	mark = func(c *collected) {
		c.again()
		runtime.SetFinalizer(c, mark)
	}
	mark(&collected{again: f})
}
