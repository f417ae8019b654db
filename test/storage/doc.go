// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage holds the ledger's storage against Kubernetes' own exam, the
// RunTest suites of k8s.io/apiserver/pkg/storage/testing.
//
// It proves: (1) The storage hook (ledger.StorageClient) under etcd3's store, and under the watch
// cache above it, keeps every promise of storage.Interface while each write is a
// transaction of two keys: the suites write example Pods, and a decorator of the
// same form as the ledger's counts them in a second key that must agree when the
// suite is through. (2) The ledger's own decorators of Zones and Records keep
// those promises that a caller sees at a write: what is returned is what is
// stored, conflicts, preconditions, suggestions from a cache, empty updates. (3) The
// suites pass over pkg/ledger/subrev too, where objects share a revision: lone writes,
// the storage hook, and a storage hook whose companion is an object of the same resource.
//
// It does not know the ledger's decisions (pkg/ledger proves them), and the suites do
// not run over Zones and Records: they write Pods and nothing else. Not run:
// the suites of unsafe deletion of malformed objects (DeleteExpectedTransform…,
// GetListWithErrorAggregation, WatchWithUnsafeDelete), since our server turns
// that feature off: deleting unseen would leave a record's data in its zone; and
// WatchDispatchBookmarkEvents, which waits minutes for the cache's timers.
// Tests that upstream runs on the raw store alone run on it alone here.
//
// Read first: pods_test.go (the decorator), then suite_test.go (the list).
package storage
