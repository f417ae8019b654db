// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the sub-command that delivers zones by their DNSClasses from within a cluster, apart from the
// API server. Several may run; one of them works.
//
// It promises: (1) The one that works holds a Lease and releases it only when none of its work is in flight; one that
// loses it ends. (2) The others follow the zones, so that the one that takes over has them already. (3) Nothing is
// delivered before every zone is in (feed). (4) /livez says that the process runs, /readyz that it could work; both
// need no credentials. /metrics has no names of zones in it.
//
// It does not know how zones are delivered: it puts feed, informers and pkg/controller/class together.
//
// Read run.go first, then options.go for the flags.
package controller
