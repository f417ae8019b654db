// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alarm names the health checks of /healthz that fail while etcd has an alarm, for servers and for commands.
//
// Guarantees: (1) a name does not change, since monitoring of users knows it.
//
// Out of scope: the checks, which package maintenance has.
//
// Read alarm.go.
package alarm
