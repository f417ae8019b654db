// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bind9 is the REST storage of clusterbind9providers, bind9clusters and bind9instances of bind9.kubi.zone with
// their subresources status, finalizers, scale and external.
//
// It promises: (1) spec is the user's and status the controller's: a write of one does not change the other; (2) a
// spec is written only by a user who may create by hand what the fleet makes for it (S11.6); (3) an image comes from a
// repository that the server allows (S11.5).
//
// It does not know BIND, pods or zones, and no zone's content depends on what is stored here.
//
// Read storage.go first, then review.go.
package bind9
