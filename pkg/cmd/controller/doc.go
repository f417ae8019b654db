// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller is the sub-command that delivers zones by their DNSClasses. Several processes elect a holder of a
// Lease.
//
// Guarantees: (1) The holder releases the Lease when no work is in flight, and ends after losing it. (2) The other
// processes follow the zones, and can take over at once. (3) Delivery begins when every zone is read. (4) /livez
// answers while the process runs, /readyz when ready to work, without credentials. /metrics has no names of zones.
//
// Out of scope: the delivery of a zone (pkg/controller/class).
//
// Read run.go first, then options.go.
package controller
