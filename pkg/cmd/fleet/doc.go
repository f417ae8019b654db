// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is the sub-command that runs BIND servers for the objects of bind9.kubi.zone. It has rights on Secrets,
// Deployments and Services that no other process of Kubizone has, so it is a process of its own. Several may run; one
// of them works.
//
// It promises: (1) The one that works holds a Lease; one that loses it ends. (2) /livez says that the process runs,
// /readyz that it could work; both need no credentials. (3) Its Lease, or --installation, names the installation: what
// another one made is never changed.
//
// It does not know what a server consists of: it puts clients, informers and pkg/bind9/fleet together.
//
// Read options.go, then run.go.
package fleet
