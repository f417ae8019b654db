// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the sub-command that delivers zones by their DNSClasses. Of several processes, the holder of a
// Lease delivers.
//
// Guarantees: (1) The holder releases the Lease when no work is in flight, and ends after the loss of the Lease. (2)
// The others follow the zones, and can take over at once. (3) Delivery begins when every zone is read. (4) /metrics has
// no names of zones.
//
// Out of scope: the delivery of a zone (pkg/controller/class).
//
// Read run.go first, then options.go.
package controller
