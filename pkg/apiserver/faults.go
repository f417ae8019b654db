// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Faults are hooks set by programs with the build tag faultpoints before they start (test/faults). Nil otherwise.
var Faults struct {
	// At is called at named points of the ledger.
	At func(point string)
	// Now is the clock of decisions.
	Now func() time.Time
	// KV wraps etcd for keys with a prefix.
	KV func(kv clientv3.KV, prefix string) clientv3.KV
}
