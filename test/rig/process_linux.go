// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import "syscall"

// attributes of a process that the rig starts. It is in a group of its own: a Ctrl-C at the test's terminal reaches the
// test, which closes it. And it ends with the test, also one that is killed or that runs into its time limit.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
