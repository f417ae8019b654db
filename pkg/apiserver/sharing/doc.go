// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sharing decodes objects for the watch caches, so that equal parts of objects are in memory once.
//
// Guarantees: (1) decoding gives the same object as the wrapped codec; (2) successive versions of an object share equal
// large fields; (3) objects of a resource share equal strings of conditions, managed fields and labels.
//
// Out of scope: writes, which decode with the wrapped codec. Decoded objects are read-only.
//
// Read first: codec.go.
package sharing
