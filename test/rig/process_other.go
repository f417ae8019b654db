// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package rig

import "syscall"

// attribute makes a new process group: Ctrl-C reaches only the test. Only Linux ends the process with a killed test.
func attribute(a *syscall.SysProcAttr) { a.Setpgid = true }

func still(int) bool { return true }
