// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"runtime/debug"
)

// SpareGarbage has this process collect its garbage a quarter as often, unless GOGC says how often. It is for tests
// that run etcd or a server in their own process, where a tenth of the CPU time is for garbage: `kubizone` does the
// like of itself.
func SpareGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
