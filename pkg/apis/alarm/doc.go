// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm names two health checks of the API server's /healthz. "etcd-space" fails during etcd's alarm NOSPACE,
// when etcd rejects writes. "etcd-corrupt" fails during the alarm CORRUPT, when etcd's members differ. kubectl kubizone
// doctor uses this package to avoid a dependency on etcd's client.
//
// Guarantees: (1) The names never change, because users monitor them.
package alarm
