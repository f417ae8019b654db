// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Faults is how tests end, stop or mislead a server: a program that is built with the tag faultpoints sets it before it
// begins (test/faults). In every other program it is empty: the ledger has no points, and the machine's clock.
var Faults struct {
	// At is called where the server is at a point.
	At func(point string)
	// Now is the clock of the ledger's decisions.
	Now func() time.Time
	// KV passes the transactions of keys under a prefix.
	KV func(kv clientv3.KV, prefix string) clientv3.KV
}
