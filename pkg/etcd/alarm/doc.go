// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm names two health checks of /healthz, "etcd-space" and "etcd-corrupt". A check fails while etcd has the
// alarm NOSPACE (writes are refused) or CORRUPT (the members differ).
//
// Guarantees: (1) The names never change, because users' monitoring has them.
//
// Out of scope: the checks (package maintenance).
//
// Read alarm.go.
package alarm
