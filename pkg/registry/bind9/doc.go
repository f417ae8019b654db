// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bind9 is the REST storage of clusterbind9providers, bind9clusters and bind9instances of bind9.kubi.zone, with
// the subresources status, finalizers, scale and external.
//
// Guarantees: (1) the author of a spec needs the right to create the controller's Deployments and Services (S11.6); (2)
// images come from repositories that the server allows (S11.5).
//
// Out of scope: BIND, pods and zones.
//
// Read storage.go first, then review.go.
package bind9
