// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/fstest"
	"time"
)

func TestTotal_isTheLeastOfMachineAndContainer(t *testing.T) {
	machine := "MemTotal:       24600564 kB\nMemFree:        23000000 kB\n"
	const all = 24600564 << 10
	for what, x := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing is told":     {nil, 0},
		"a machine":           {map[string]string{"proc/meminfo": machine}, all},
		"without a limit":     {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": "max\n"}, all},
		"a limit":             {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a limit of v1":       {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"none, in v1's words": {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, all},
	} {
		root := fstest.MapFS{}
		for name, text := range x.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := readTotal(root); got != x.want {
			t.Errorf("%s: %d octets, want %d", what, got, x.want)
		}
	}
	if here := Total(); runtime.GOOS == "linux" && (here < 128<<20 || here > 1<<50) {
		t.Errorf("%d octets of memory here", here)
	}
}

func TestSpareHeap_sizes(t *testing.T) {
	for total, want := range map[uint64]uint64{256 << 20: 64 << 20, 4 << 30: 256 << 20, 1 << 40: 256 << 20} {
		if got := spareOf(total); got != want {
			t.Errorf("%d octets of memory: %d may be spare, want %d", total, got, want)
		}
	}
	for live, want := range map[uint64]int{0: 25600, 16 << 20: 1600, 128 << 20: 200, 256 << 20: 100, 4 << 30: 100} {
		if got := percentFor(256<<20, live); got != want {
			t.Errorf("%d octets: GOGC %d, want %d", live, got, want)
		}
	}
}

// SpareHeap adjusts GOGC after each collection: above 200 for a small heap, 100 for a large heap, and above 200 again
// when the large heap is freed.
func TestSpareHeap_followsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	SpareHeap()
	percent := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	reaches := func(what string, ok func(uint64) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			if runtime.GC(); ok(percent()) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("GOGC is %d after a minute, want %s", percent(), what)
			}
		}
	}
	reaches("more than 200 for a small heap", func(p uint64) bool { return p > 200 })
	held := make([]byte, 2*spareOf(Total()))
	reaches("100 for a large one", func(p uint64) bool { return p == 100 })
	runtime.KeepAlive(held)
	held = nil
	reaches("more than 200 again", func(p uint64) bool { return p > 200 })
}

func TestHeap_isLooseWithGarbageAlone(t *testing.T) {
	for what, c := range map[string]struct {
		heap heap
		want bool
	}{
		"a small heap, with the spaces between its objects": {heap{20 << 20, 36 << 20}, false},
		"a small heap after much work":                      {heap{20 << 20, 80 << 20}, true},
		"a large heap, with the spaces between its objects": {heap{2 << 30, 3 << 30}, false},
		"a large heap after much work":                      {heap{2 << 30, 4 << 30}, true},
	} {
		if got := c.heap.isLoose(); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
	held := make([]byte, 64<<20)
	runtime.GC()
	with := readHeap()
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	if without := readHeap(); without.live+32<<20 > with.live || !without.isLoose() {
		t.Errorf("with 64 MiB in use %+v, without %+v", with, without)
	}
}
