// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"runtime/debug"
)

// SpareGarbage collects a quarter as often, unless GOGC is set: beside etcd, collection takes a tenth of the CPU time.
func SpareGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
