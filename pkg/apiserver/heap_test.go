// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/fstest"
	"time"
)

func TestSpareHeap_sizes(t *testing.T) {
	for memory, want := range map[uint64]uint64{0: 256 << 20, 256 << 20: 64 << 20, 4 << 30: 256 << 20, 16 << 30: 1 << 30, 1 << 40: 1 << 30} {
		if got := spareOf(memory); got != want {
			t.Errorf("%d octets of memory: %d may be spare, want %d", memory, got, want)
		}
	}
	for live, want := range map[uint64]int{0: 25600, 16 << 20: 1600, 128 << 20: 200, 256 << 20: 100, 4 << 30: 100} {
		if got := sparing(256<<20, live); got != want {
			t.Errorf("%d octets: GOGC %d, want %d", live, got, want)
		}
	}
}

func TestMemory_isTheLeastOfMachineAndContainer(t *testing.T) {
	machine := "MemTotal:       24600564 kB\nMemFree:        23000000 kB\n"
	const total = 24600564 << 10
	for what, x := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing is told":     {nil, 0},
		"a machine":           {map[string]string{"proc/meminfo": machine}, total},
		"without a limit":     {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": "max\n"}, total},
		"a limit":             {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a limit of v1":       {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, 512 << 20},
		"none, in v1's words": {map[string]string{"proc/meminfo": machine, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, total},
	} {
		root := fstest.MapFS{}
		for name, text := range x.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memory(root); got != x.want {
			t.Errorf("%s: %d octets, want %d", what, got, x.want)
		}
	}
	if here := memory(os.DirFS("/")); runtime.GOOS == "linux" && (here < 128<<20 || here > 1<<50) {
		t.Errorf("%d octets of memory here", here)
	}
}

// After each collection the goal is set anew: for what is held then.
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
	held := make([]byte, 2*spareOf(memory(os.DirFS("/"))))
	reaches("100 for a large one", func(p uint64) bool { return p == 100 })
	runtime.KeepAlive(held)
	held = nil
	reaches("more than 200 again", func(p uint64) bool { return p > 200 })
}
