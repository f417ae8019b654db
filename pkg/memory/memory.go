// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"io/fs"
	"os"
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
