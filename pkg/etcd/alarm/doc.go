// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm names the health checks of /healthz that fail while etcd has an alarm.
//
// Guarantees: (1) A name never changes: users' monitoring has the names.
//
// Out of scope: the checks (package maintenance).
//
// Read alarm.go.
package alarm
