// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"runtime"
	"testing"
	"testing/fstest"
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
