// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the command kubizone controller, which delivers zones to the name servers of their DNSClasses.
// If several processes run, a Kubernetes Lease elects the process that delivers.
//
// Guarantees:
//  1. The elected process releases the Lease only when no delivery is in progress, and exits if it loses the Lease.
//  2. The others keep all zones in memory, to take over at once.
//  3. Delivery begins when every zone has been read, because a missing zone would count as deleted.
//
// Read run.go first, then options.go.
package controller
