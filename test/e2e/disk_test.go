// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=320m")
	if err != nil && os.Getenv(rig.RequireAll) == "" {
		t.Skipf("a small disk cannot be mounted: %v (mounting takes root)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// On a full disk, with no space at all or too little, `kubizone up` ends with an error that names the directory and the
// remedy. When space is free again, the server starts.
func TestUp_namesAFullDisk(t *testing.T) {
	disk := smallDisk(t)
	data, ballast := filepath.Join(disk, "data"), filepath.Join(disk, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	block := make([]byte, 1<<20)
	for err == nil {
		_, err = file.Write(block)
	}
	refused := func(part string) {
		t.Helper()
		p := must.Get(startProcess(t.TempDir(), os.Environ(), binaries.kubizone, "up", "--data-dir", data, "--listen", "127.0.0.1:0",
			"--dns-listen", "127.0.0.1:0"))(t)
		err := p.waitEnd()
		if want := "data-dir " + data + ": the disk is full" + part; err == nil || !strings.Contains(p.Log(), want) ||
			!strings.Contains(p.Log(), "free some space and start again") {
			t.Errorf("up ends with %v, and says\n%swant %q", err, p.Log(), want)
		}
	}
	refused(" (")
	must.Succeed(t, file.Truncate(256<<20))
	refused(": 63 MiB are free, 144 MiB are needed")
	must.Succeed(t, os.Remove(ballast))
	file.Close()
	runUp(t, data).makeZone("example-org", "example.org.")
}
