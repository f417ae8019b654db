// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Total returns the memory of the machine, or of the container if less, in octets, or 0 if unknown.
func Total() uint64 { return readTotal(os.DirFS("/")) }

func readTotal(root fs.FS) uint64 {
	least := uint64(0)
	for _, source := range []struct {
		file, form string
		unit       uint64
	}{
		{"proc/meminfo", "MemTotal: %d kB", 1 << 10},
		{"sys/fs/cgroup/memory.max", "%d", 1},
		{"sys/fs/cgroup/memory/memory.limit_in_bytes", "%d", 1},
	} {
		text, err := fs.ReadFile(root, source.file)
		if err != nil {
			continue
		}
		var octets uint64
		if _, err := fmt.Sscanf(string(text), source.form, &octets); err != nil { // "max" means no limit
			continue
		}
		if octets *= source.unit; least == 0 || octets < least {
			least = octets
		}
	}
	return least
}

// Limits, in octets, of the garbage at which a collection starts. Live objects between much garbage keep their pages.
// With a gigabyte, a burst of 3,500 Records would leave 120 MB for 40 MB of objects.
const (
	leastSpare = 64 << 20
	mostSpare  = 256 << 20
)

// After quietTime without a collection, spare memory goes back to the system. The runtime's own is two minutes.
const quietTime = 100 * time.Second

// SpareHeap delays each garbage collection until the garbage reaches the larger of two sizes: the live heap, and a
// sixteenth of the memory (or GOMEMLIMIT), between leastSpare and mostSpare. Otherwise a server with few zones would
// spend a fifth of its CPU time on collections, because each write leaves some 100 KiB of garbage. Call SpareHeap once,
// after the start, so that garbage of the start does not lie between objects. GOGC disables it.
func SpareHeap() {
	if os.Getenv("GOGC") != "" {
		return
	}
	limit := uint64(debug.SetMemoryLimit(-1)) // GOMEMLIMIT; else more than any memory
	spare, lastPercent, lastCollection := spareOf(min(cmp.Or(Total(), limit), limit)), 0, time.Now()
	callAfterCollections(func() {
		heap := readHeap()
		percent := percentFor(spare, heap.live)
		if percent*10 > lastPercent*11 || percent*11 < lastPercent*10 { // SetGCPercent stops the world
			lastPercent = percent
			debug.SetGCPercent(percent)
		}
		now := time.Now()
		if now.Sub(lastCollection) >= quietTime && heap.isLoose() {
			go debug.FreeOSMemory() // the collection calls this function again
		}
		lastCollection = now
	})
}

// heap is in octets: objects alive at the last collection, and all memory held for objects.
type heap struct{ live, held uint64 }

func readHeap() heap {
	all := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(all)
	return heap{all[0].Value.Uint64(), all[1].Value.Uint64() + all[2].Value.Uint64() + all[3].Value.Uint64()}
}

func (h heap) isLoose() bool { return h.held > h.live+h.live/2+8<<20 }

func spareOf(total uint64) uint64 {
	return min(max(total/16, leastSpare), mostSpare)
}

func percentFor(spare, live uint64) int {
	return max(100, int(spare*100/max(live, 1<<20)))
}

// collected has a pointer, because the allocator puts small objects without pointers into a shared block.
type collected struct{ again func() }

// callAfterCollections calls f now and after each collection, on the finalizer goroutine.
func callAfterCollections(f func()) {
	var mark func(*collected)
	mark = func(c *collected) {
		c.again()
		runtime.SetFinalizer(c, mark)
	}
	mark(&collected{again: f})
}
