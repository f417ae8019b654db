// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Total is the memory of the machine, or of the container where that is less, in octets; 0 where neither can be told.
func Total() uint64 { return readTotal(os.DirFS("/")) }

// readTotal is the memory of the machine, or of the container where that is less, in octets: MemTotal of proc(5),
// memory.max of cgroup v2, memory.limit_in_bytes of v1. 0: none of them can be told, as elsewhere than on Linux.
func readTotal(root fs.FS) uint64 {
	least := uint64(0)
	for _, x := range []struct {
		file, form string
		unit       uint64
	}{
		{"proc/meminfo", "MemTotal: %d kB", 1 << 10},
		{"sys/fs/cgroup/memory.max", "%d", 1},
		{"sys/fs/cgroup/memory/memory.limit_in_bytes", "%d", 1},
	} {
		text, err := fs.ReadFile(root, x.file)
		if err != nil {
			continue
		}
		var n uint64
		if _, err := fmt.Sscanf(string(text), x.form, &n); err != nil { // "max": there is no limit
			continue
		}
		if n *= x.unit; least == 0 || n < least {
			least = n
		}
	}
	return least
}

// The garbage, in octets, that a server with little in its heap lets stand: a sixteenth of the memory there is, which
// is its container's where that is less than the machine's, and within these bounds. usualSpare where neither is
// known.
const (
	leastSpare = 64 << 20
	usualSpare = 256 << 20
	mostSpare  = 1 << 30
)

// SpareHeap has garbage collected only when there is as much of it as a sixteenth of the memory, 1 GiB at most, where
// the heap holds less than that; where it holds more, when there is as much again, which is Go's default. A write
// leaves some 100 KiB, and a collection goes through all that is held, the watch caches' history above all: a server
// of few zones that is written to would spend a fifth of its CPU time on it. It is for a whole process; GOGC in the
// environment overrides it, and GOMEMLIMIT is kept.
func SpareHeap() {
	if os.Getenv("GOGC") != "" {
		return
	}
	spare := spareOf(Total())
	set := 0
	callAfterCollections(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		percent := percentFor(spare, live[0].Value.Uint64())
		if percent*10 > set*11 || percent*11 < set*10 { // setting it stops the world
			set = percent
			debug.SetGCPercent(percent)
		}
	})
}

// spareOf is the garbage to let stand in so much memory; 0: it is not known how much.
func spareOf(total uint64) uint64 {
	if total == 0 {
		return usualSpare
	}
	return min(max(total/16, leastSpare), mostSpare)
}

// percentFor is GOGC for a heap of which live octets are held.
func percentFor(spare, live uint64) int {
	return max(100, int(spare*100/max(live, 1<<20)))
}

// collected is what a collection finds: it needs a pointer, or it would share its block with others.
type collected struct{ again func() }

// callAfterCollections calls f now and after each collection of garbage, on the runtime's goroutine for that.
func callAfterCollections(f func()) {
	var mark func(*collected)
	mark = func(c *collected) {
		c.again()
		runtime.SetFinalizer(c, mark)
	}
	mark(&collected{again: f})
}
