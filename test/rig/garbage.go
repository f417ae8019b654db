// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"runtime/debug"
)

// SpareGarbage lets this process collect garbage a quarter as often, unless GOGC is set. In tests that run etcd or a
// server in their own process, collection takes a tenth of the CPU time. `kubizone` sets a target too.
func SpareGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
