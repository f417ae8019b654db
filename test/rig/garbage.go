// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"runtime/debug"
)

// SpareGarbage lets this process and programs that it starts collect garbage a quarter as often, unless GOGC is set:
// beside etcd, collection takes a tenth of the CPU time, and at the start of kubizone a third.
func SpareGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(400)
	if err := os.Setenv("GOGC", "400"); err != nil {
		panic(err)
	}
}
