// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm has the names of two health checks of the API server's /healthz, "etcd-space" and "etcd-corrupt". A
// check fails while etcd has the alarm NOSPACE (writes are refused) or CORRUPT (the members differ). kubectl kubizone
// doctor reads the names here, without a dependency on etcd's client.
//
// Guarantees: (1) The names never change, because users' monitoring has them.
//
// Out of scope: the checks (package maintenance).
//
// Read alarm.go.
package alarm
