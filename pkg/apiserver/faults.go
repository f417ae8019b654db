// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Faults are hooks, set before the start by programs with the build tag faultpoints (test/faults).
var Faults struct {
	// At is called at named points of the ledger.
	At  func(point string)
	Now func() time.Time
	// KV wraps etcd for keys with a prefix.
	KV func(kv clientv3.KV, prefix string) clientv3.KV
}
