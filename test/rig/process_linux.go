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

// setAttributes has a process that the rig starts be in a group of its own: a Ctrl-C at the test's terminal reaches the
// test, which closes it. And it ends with the test, also one that is killed or that runs into its time limit.
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
