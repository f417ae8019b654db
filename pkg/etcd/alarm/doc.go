// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm names two health checks of the API server's /healthz: "etcd-space" fails while etcd has raised the
// alarm NOSPACE (it refuses writes), "etcd-corrupt" while it has raised CORRUPT (its members differ). The names are a
// package of their own so that kubectl kubizone doctor can use them without a dependency on etcd's client.
//
// Guarantees: (1) The names never change, because users monitor them.
//
// Package maintenance makes the checks.
//
// Read alarm.go.
package alarm
