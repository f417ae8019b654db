// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objectname computes metadata.name for Zones and Records that a program creates. For example, the A record of
// www in the Zone example.org gets "www-a.example.org". A program finds its object again by this name.
//
// Guarantees:
//
//  1. A name is valid for Kubernetes. If the readable form would be ambiguous or too long, the name has a digest.
//  2. Different objects have different names, except for a collision of 40-bit digests, found at the creation.
package objectname
