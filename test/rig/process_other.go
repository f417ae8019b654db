// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package rig

import "syscall"

// Only Linux ends the process with a killed test.
func setAttributes(a *syscall.SysProcAttr) { a.Setpgid = true }

func isStopped(int) bool { return true }
