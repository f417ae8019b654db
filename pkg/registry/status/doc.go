// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status is shared by the resources with a status: it protects the server's fields from clients, and formats
// tables.
//
// It promises: (1) values that a client writes into the server's fields are silently replaced by the old ones (S7.4);
// (2) a Ready for an older serial than the object's is dropped (S6.13); (3) a write of status changes nothing but
// status; (4) a write of finalizers changes nothing but whether the finalizer kubi.zone/delivery is there, and no other
// write changes that.
//
// It does not know which fields those are: each resource lists its own.
//
// Read merge.go.
package status
