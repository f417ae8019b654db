// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the sub-command that delivers zones by their DNSClasses from within a cluster, apart from the
// API server. Several may run; one of them works.
//
// It promises: (1) Who works holds a Lease, and lets go of it only when nothing of its work is under way any more;
// one that loses it ends. (2) The others follow, so who takes over begins with zones that it has. (3) Nothing is
// delivered before every zone is in (feed). (4) /livez says that the process runs, /readyz that it could work; both
// need no credentials. /metrics has no names of zones in it.
//
// It does not know how zones are delivered: it puts feed, informers and pkg/controller/class together.
//
// Read run.go first, then options.go for the flags.
package controller
