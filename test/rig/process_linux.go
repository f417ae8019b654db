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

// setAttributes puts the process into a new process group, so that Ctrl-C at the terminal reaches only the test,
// which then closes the process. The kernel kills the process with the test, even after a SIGKILL or a time limit.
func setAttributes(a *syscall.SysProcAttr) { a.Setpgid, a.Pdeathsig = true, syscall.SIGKILL }

// isStopped reports whether all threads of a process are stopped.
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
