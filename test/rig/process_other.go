// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package rig

import "syscall"

// attribute has a process that the rig starts be in a group of its own: a Ctrl-C at the test's terminal reaches the
// test, which closes it. Only Linux can end it with a test that is killed.
func attribute(a *syscall.SysProcAttr) { a.Setpgid = true }

// still is not known here.
func still(int) bool { return true }
