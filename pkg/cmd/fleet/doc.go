// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the sub-command that runs BIND servers for the objects of bind9.kubi.zone, while the process holds a
// Lease. No other process has rights on Secrets, Deployments and Services.
//
// Guarantees: (1) A process ends after the loss of the Lease. (2) The Lease names the installation: objects of another
// installation never change.
//
// Out of scope: the objects of a server (pkg/bind9/fleet).
//
// Read options.go, then run.go.
package fleet
