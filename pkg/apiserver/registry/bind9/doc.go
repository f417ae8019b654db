// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bind9 serves the API group bind9.kubi.zone: fleets of BIND servers, run by a controller. It is the REST
// storage of clusterbind9providers, bind9clusters and bind9instances, with the subresources status, finalizers, scale
// and external.
//
// Guarantees:
//
//  1. The author of a spec needs the right to create Deployments and Services, because the controller creates both for
//     the author (S11.6).
//  2. Images come from repositories that the server allows (S11.5).
//
// Read storage.go first, then review.go.
package bind9
