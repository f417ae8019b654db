// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// The new process group keeps Ctrl-C to the test.
func setAttributes(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }

func isStopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		stat, gone := os.ReadFile(thread)
		if _, rest, _ := bytes.Cut(stat, []byte(") ")); gone == nil && !bytes.HasPrefix(rest, []byte("T")) {
			return false
		}
	}
	return err == nil && len(threads) > 0
}
