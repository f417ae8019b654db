// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package status holds what every resource with a status here does alike: keeping the server's part of it from
// clients, and saying it in a table.
//
// It promises: (1) what a client writes into the server's fields is replaced by what stood there, silently (S7.4);
// (2) a Ready that speaks of an older serial than the object's is dropped (S6.7); (3) a write of status changes
// nothing but status; (4) a write of finalizers changes nothing but whether the finalizer kubi.zone/delivery is
// there, and no other write changes that.
//
// It does not know which fields those are: each resource says so.
//
// Read merge.go.
package status
