// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"runtime/debug"
)

// SpareGarbage collects garbage a quarter as often, unless GOGC is set. Beside etcd or a server, collection takes a
// tenth of the CPU time.
func SpareGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
