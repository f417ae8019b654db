// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package embed

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/must"
)

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// etcd keeps recent entries of its log in memory, and an entry may have the size of the largest Zone, 96 KiB. Their
// number is limited, so memory stays bounded, both while writing and after a restart.
func TestMember_keepsLittleOfItsLogInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: memory is not measured under the race detector, which has its own")
	}
	const each, writes, bound = 96 << 10, snapshotEvery * 3 / 2, 64 << 20
	dir := openDirectory(t, filepath.Join(t.TempDir(), "data"))
	m := startMember(t, dir)
	c := connectMember(t, m)
	before := heapInUse()
	zone := strings.Repeat("z", each)
	for n := range writes {
		must.Get(c.Put(t.Context(), "zone", fmt.Sprint(n)+zone))(t)
	}
	running := heapInUse() - before
	c.Close()
	m.Stop()
	stopped := heapInUse()
	startMember(t, dir)
	again := heapInUse() - stopped
	t.Logf("after %d writes of %d KiB the heap has %d MiB more; after a restart %d MiB more than without a member", writes, each>>10, running>>20, again>>20)
	if running > bound {
		t.Errorf("the heap has %d MiB more after %d MiB of writes, want %d at most", running>>20, writes*each>>20, bound>>20)
	}
	if again > bound {
		t.Errorf("after a restart the heap has %d MiB more, want %d at most", again>>20, bound>>20)
	}
}
